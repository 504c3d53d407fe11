"""What a fresh context costs in a browser that is warm: until its first page is seen, and until it is gone again.

Run: `python -m benchmarks.context_reset [--runs 30]`. Ours is what begins every episode: the site is reset, a context opened,
the start page gone to, waited for and read. Bare playwright opens a context and a page and goes to the same address, which
is over when the page has loaded; nobody has looked at it then. Both take turns, each in its own warm browser.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from playwright.async_api import Browser, async_playwright

from benchmarks.results import Rows, parser, tell, timed
from benchmarks.step_overhead import HOME, VIEWPORT, task
from harness.browser import executable
from harness.browser.session import Chromium
from harness.browser.settings import BrowserSettings
from harness.browser.switches import SWITCHES
from harness.records import Episode, Site
from harness.sites.launching import launched


async def ours(pool: Chromium) -> tuple[float, float]:
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
    with tempfile.TemporaryDirectory() as folder:
        async with launched("harness.sites", log=Path(folder) / "log") as port, async_playwright() as playwright:
            home = f"http://t0.shop.localhost:{port}/"
            site = Site(name="shop", url=home.rstrip("/"), canonical=HOME.rstrip("/"), reset_url=f"{home}__reset__")
            browser = await playwright.chromium.launch(
                executable_path=executable.find(), args=list(SWITCHES), chromium_sandbox=False
            )
            async with Chromium(BrowserSettings(screenshots=False), sites=lambda _: (site,)) as pool:
                for turn in range(runs + 1):
                    times = await ours(pool), await bare(browser, home)
                    if turn:  # the first warms up
                        mine.append(times[0])
                        floor.append(times[1])
            await browser.close()
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
