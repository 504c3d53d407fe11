"""What a fresh context costs in a browser that is warm: until its first page is seen, and until it is gone again.

Run: `python -m benchmarks.context_reset [--runs 30]`. Ours is what begins every episode: the site is reset, a context
opened, the start page gone to, waited for and read. Bare playwright opens a context and a page and goes to the same
address, which is over when the page has loaded; nobody has looked at it then. Both take turns, each in its own warm
browser.
"""

import asyncio
import sys
import time

from playwright.async_api import Browser

from benchmarks.results import Rows, parser, tell, timed
from benchmarks.step_overhead import VIEWPORT, stage, task
from harness.browser.session.chromium import ChromiumPool
from harness.records import Episode


async def ours(pool: ChromiumPool) -> tuple[float, float]:
    """Seconds until the first page is seen, and until all is closed."""
    begun = time.perf_counter()
    async with pool.open(task(), 0) as env:
        await env.restore(task(), Episode())
        seen = time.perf_counter()
    return seen - begun, time.perf_counter() - begun


async def bare(browser: Browser, home: str) -> tuple[float, float]:
    begun = time.perf_counter()
    context = await browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    page = await context.new_page()
    await page.goto(home)
    seen = time.perf_counter()
    await context.close()
    return seen - begun, time.perf_counter() - begun


async def measure(*, runs: int = 30) -> Rows:
    mine, floor = [], []
    async with stage() as here:
        for turn in range(runs + 1):
            times = await ours(here.pool), await bare(here.browser, here.home)
            if turn:  # the first warms up
                mine.append(times[0])
                floor.append(times[1])
    names = ("until the first page is seen", "and closed again")
    return {
        f"context reset, {name}": timed([one[which] for one in mine], [one[which] for one in floor])
        for which, name in enumerate(names)
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=30)
    tell(asyncio.run(measure(runs=options.parse_args().runs)))


if __name__ == "__main__":
    sys.exit(main())
