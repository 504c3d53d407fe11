"""What an observation costs beside WebArena's way of making it, and beside one call for the whole accessibility tree.

Run: `python -m benchmarks.observation [--rows 100 1000 5000 20000] [--pages FILE_OR_FOLDER …] [--runs 7] [--sample
3000]`. All ways read the same page in the same browser in turn; ratios of medians are what counts. WebArena's way takes
minutes on long pages, so beyond `--sample` nodes it is measured on every k-th node and scaled (the row says "scaled").
Text is compared on every page that is read in full; where it differs, there is no row.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, CDPSession, Page, async_playwright

from benchmarks import pages
from benchmarks.reference import Labels, observe
from benchmarks.reference import measure as measure_node
from benchmarks.results import Rows, parser, tell, timed
from harness.browser.driver import executable
from harness.browser.rendering.observer import Observer

VIEWPORT = (1280, 720)
ARGS = ["--disable-background-networking", "--no-first-run", "--disable-component-update", "--disable-sync"]
SLOW_RUNS = 3
"""Most runs of the ways we are compared with; the last ones, as their answers of hundreds of megabytes burden who reads
next.
"""


@dataclass(slots=True, kw_only=True)
class Times:
    """Seconds of each way, on one page."""

    ours: list[float] = field(default_factory=list)
    cairn: list[float] = field(default_factory=list)
    tree: list[float] = field(default_factory=list)
    """One `Accessibility.getFullAXTree`, the floor of whoever needs all of it."""
    webarena: list[float] = field(default_factory=list)
    nodes: int = 0
    """Of the accessibility tree."""
    is_scaled: bool = False
    """Whether WebArena's way was measured on a sample of the nodes."""

    def rows(self, name: str) -> Rows:
        scaled = ", scaled from a sample" if self.is_scaled else ""
        page = f"{name} ({self.nodes} nodes)"
        return {
            f"{page}: beside WebArena's way{scaled}": timed(self.ours, self.webarena),
            f"{page}: beside one getFullAXTree": timed(self.ours, self.tree),
            f"{page}, cairn dialect: beside one getFullAXTree": timed(self.cairn, self.tree),
        }


async def seconds(call: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


async def read_slowly(cdp: CDPSession, sample: int, times: Times) -> None:
    """One call for the whole tree, then the rest of WebArena's way on at most about `sample` nodes."""
    started = time.perf_counter()
    nodes = (await cdp.send("Accessibility.getFullAXTree"))["nodes"]
    tree = time.perf_counter() - started
    times.tree.append(tree)
    backends = [node["backendDOMNodeId"] for node in nodes[1:] if "backendDOMNodeId" in node]
    step = max(1, len(backends) // sample)
    started = time.perf_counter()
    for backend in backends[::step]:
        await measure_node(cdp, backend)
    each = (time.perf_counter() - started) / max(1, len(backends[::step]))
    times.webarena.append(tree + each * len(backends))
    times.nodes, times.is_scaled = len(nodes), step > 1


async def compare(page: Page, cdp: CDPSession, *, runs: int, sample: int) -> Times:
    """Read the page as it stands, in every way.

    Raises:
        SystemExit: Our text is not that of WebArena's way.
    """
    await Observer(dialect="webarena", viewport=VIEWPORT).read(page, cdp)  # builds Chromium's tree, whoever asks first
    times = Times()
    observers = {dialect: Observer(dialect=dialect, viewport=VIEWPORT) for dialect in ("webarena", "cairn")}
    for run in range(runs):
        times.ours.append(await seconds(lambda: observers["webarena"].read(page, cdp)))
        times.cairn.append(await seconds(lambda: observers["cairn"].read(page, cdp)))
        if run >= runs - SLOW_RUNS:
            await read_slowly(cdp, sample, times)
    if not times.is_scaled:
        text = (await Observer(dialect="webarena", viewport=VIEWPORT).read(page, cdp)).text
        if text != (await observe(cdp, viewport=VIEWPORT, label=Labels())).text:
            raise SystemExit(f"the text of {await page.title()!r}, {page.url}, is not that of WebArena's way")
    return times


@asynccontextmanager
async def warm_browser() -> AsyncIterator[Browser]:
    args = [*ARGS, "--no-sandbox"] if os.geteuid() == 0 else ARGS
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable.find(), args=args)
        yield browser
        await browser.close()


@asynccontextmanager
async def new_page(browser: Browser) -> AsyncIterator[tuple[Page, CDPSession]]:
    context = await browser.new_context(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
    page = await context.new_page()
    yield page, await context.new_cdp_session(page)
    await context.close()


async def measure(
    *, rows: Sequence[int] = (100, 1000, 5000, 20000), files: Sequence[Path] = (), runs: int = 7, sample: int = 3000
) -> Rows:
    """Of tables of so many rows, and of HTML files."""
    found: Rows = {}
    async with warm_browser() as browser:
        for source in (*rows, *files):
            async with new_page(browser) as (page, cdp):
                if isinstance(source, int):
                    await page.set_content(pages.rows(source))
                else:
                    await page.goto(source.resolve().as_uri())
                times = await compare(page, cdp, runs=runs, sample=sample)
            found |= times.rows(f"observation, {f'{source} rows' if isinstance(source, int) else source.name}")
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rows", type=int, nargs="*", default=[100, 1000, 5000, 20000], help="rows of tables")
    options.add_argument("--pages", type=Path, nargs="*", default=[], help="HTML files, or folders of them")
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--sample", type=int, default=3000, help="most nodes to measure WebArena's way on")
    asked = options.parse_args()
    files = [file for path in asked.pages for file in (sorted(path.rglob("*.html")) if path.is_dir() else [path])]
    for source in (*((count,) for count in asked.rows), *files):
        sizes = {"rows": (), "files": [source]} if isinstance(source, Path) else {"rows": source}
        tell(asyncio.run(measure(**sizes, runs=asked.runs, sample=asked.sample)))


if __name__ == "__main__":
    sys.exit(main())
