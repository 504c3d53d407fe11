"""What an observation costs beside WebArena's way of making it, beside one call for the whole accessibility tree, and
beside the two calls that hold enough for the same text: the tree and a snapshot of the document. Ours is told which
document the page holds and how many elements it has, as it is in a run, where both are known from settling, and
prepares for a fresh page while that loads.

Run: `python -m benchmarks.observation [--rows 2 15 40 50 100 1000 5000 20000] [--menus 750] [--pages FILE_OR_FOLDER …]
[--runs 7] [--sample 3000]`. The ways read the same page in turn, WebArena's after the others, as what it leaves behind
burdens who reads next; ratios of medians are what counts. WebArena's way takes minutes on long pages, so beyond
`--sample` nodes it is measured on every k-th node and scaled (the row says "scaled"). Text is compared on every page
that is read in full; where it differs, there is no row. On short pages the first observation of a fresh page is
measured too, when Chromium builds its tree.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from playwright.async_api import Browser, CDPSession, Page, async_playwright

from benchmarks import pages
from benchmarks.reference import Labels, observe
from benchmarks.reference import measure as measure_node
from benchmarks.results import Rows, parser, tell, timed
from harness.browser.driver import executable
from harness.browser.driver.driver_start import start_driver
from harness.browser.reading.frames import FrameDocument, ReadHints
from harness.browser.rendering.observer import Observer

VIEWPORT = (1280, 720)
ARGS = ["--disable-background-networking", "--no-first-run", "--disable-component-update", "--disable-sync"]
ROWS = (2, 15, 40, 50, 100, 1000, 5000, 20000)
MENUS = (750,)
SHORT = 20_000
"""Most elements of a page on which every way is measured in each run, and the first observation as well."""
SLOW_RUNS = 3
"""Most runs of the ways we are compared with on longer pages."""


@dataclass(slots=True, kw_only=True)
class Times:
    """Seconds of each way, on one page."""

    ours: list[float] = field(default_factory=list)
    cairn: list[float] = field(default_factory=list)
    tree: list[float] = field(default_factory=list)
    """One `Accessibility.getFullAXTree`, the floor of whoever needs all of it."""
    pair: list[float] = field(default_factory=list)
    """The tree and a snapshot, asked for at the same time."""
    webarena: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    """Our first look at a fresh page; empty if the page is long."""
    first_pair: list[float] = field(default_factory=list)
    nodes: int = 0
    """Of the accessibility tree."""
    is_short: bool = False
    is_scaled: bool = False
    """Whether WebArena's way was measured on a sample of the nodes."""

    def add(self, other: "Times") -> None:
        """Count in what was measured of another part of the page."""
        for way in ("ours", "cairn", "tree", "pair", "webarena"):
            getattr(self, way).extend(getattr(other, way))
        self.nodes, self.is_scaled = other.nodes, other.is_scaled

    def rows(self, name: str) -> Rows:
        scaled = ", scaled from a sample" if self.is_scaled else ""
        page = f"{name} ({self.nodes} nodes)"
        found = {
            f"{page}: beside WebArena's way{scaled}": timed(self.ours, self.webarena),
            f"{page}: beside one getFullAXTree": timed(self.ours, self.tree),
            f"{page}: beside getFullAXTree and captureSnapshot": timed(self.ours, self.pair),
            f"{page}, cairn dialect: beside one getFullAXTree": timed(self.cairn, self.tree),
        }
        if self.first:
            found[f"{page}, fresh: beside a first getFullAXTree and captureSnapshot"] = timed(
                self.first, self.first_pair
            )
        return found


class Browsers(NamedTuple):
    ours: Browser
    """As a run has it."""
    bare: Browser


class OpenPage(NamedTuple):
    page: Page
    cdp: CDPSession


async def seconds(call: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


async def held(cdp: CDPSession) -> FrameDocument:
    """The document that the page holds."""
    frame = (await cdp.send("Page.getFrameTree"))["frameTree"]["frame"]
    return FrameDocument(frame["id"], frame["loaderId"])


async def hints(page: Page, cdp: CDPSession) -> ReadHints:
    """What a run knows of a page that has settled."""
    return ReadHints(await held(cdp), await page.evaluate("document.getElementsByTagName('*').length"))


async def ask_for_both(cdp: CDPSession) -> None:
    """The least that holds what the text is made of: accessibility nodes, and where each element is."""
    await asyncio.gather(
        cdp.send("Accessibility.getFullAXTree"), cdp.send("DOMSnapshot.captureSnapshot", {"computedStyles": []})
    )


async def read_slowly(cdp: CDPSession, sample: int, times: Times) -> None:
    """WebArena's way: one call for the whole tree, then the rest on at most about `sample` nodes."""
    started = time.perf_counter()
    nodes = (await cdp.send("Accessibility.getFullAXTree"))["nodes"]
    tree = time.perf_counter() - started
    backends = [node["backendDOMNodeId"] for node in nodes[1:] if "backendDOMNodeId" in node]
    step = max(1, len(backends) // sample)
    started = time.perf_counter()
    for backend in backends[::step]:
        await measure_node(cdp, backend)
    each = (time.perf_counter() - started) / max(1, len(backends[::step]))
    times.webarena.append(tree + each * len(backends))
    times.nodes, times.is_scaled = len(nodes), step > 1


async def compare(ours: OpenPage, bare: OpenPage, *, runs: int, sample: int) -> Times:
    """Read the page as it stands in both browsers, in every way.

    Raises:
        SystemExit: Our text is not that of WebArena's way.
    """
    page, cdp = ours
    # Builds Chromium's tree, whoever asks first.
    await Observer(dialect="webarena", viewport=VIEWPORT).read(page, cdp)
    await ask_for_both(bare.cdp)
    times = Times()
    observers = {dialect: Observer(dialect=dialect, viewport=VIEWPORT) for dialect in ("webarena", "cairn")}
    known = await hints(page, cdp)
    times.is_short = known.elements <= SHORT
    for run in range(runs):
        times.ours.append(await seconds(lambda: observers["webarena"].read(page, cdp, known)))
        times.cairn.append(await seconds(lambda: observers["cairn"].read(page, cdp, known)))
        if times.is_short or run >= runs - SLOW_RUNS:
            times.pair.append(await seconds(lambda: ask_for_both(bare.cdp)))
            times.tree.append(await seconds(lambda: bare.cdp.send("Accessibility.getFullAXTree")))
    for _ in range(runs if times.is_short else min(runs, SLOW_RUNS)):
        await read_slowly(bare.cdp, sample, times)
    if not times.is_scaled:
        text = (await Observer(dialect="webarena", viewport=VIEWPORT).read(page, cdp)).text
        if text != (await observe(cdp, viewport=VIEWPORT, label=Labels())).text:
            raise SystemExit(f"the text of {await page.title()!r}, {page.url}, is not that of WebArena's way")
    return times


async def look_first(browsers: Browsers, address: str, *, runs: int, times: Times) -> None:
    """Open the page anew for every look, so that Chromium has no tree of it yet; ours is prepared while it loads."""
    observer = Observer(dialect="webarena", viewport=VIEWPORT)
    for _ in range(runs):
        async with new_page(browsers.ours) as (page, cdp):
            await page.goto(address, wait_until="commit")
            await observer.prepare(cdp, await held(cdp))
            await page.wait_for_load_state()
            times.first.append(await seconds(partial(observer.read, page, cdp, await hints(page, cdp))))
        async with new_page(browsers.bare) as (page, cdp):
            await page.goto(address)
            times.first_pair.append(await seconds(lambda: ask_for_both(cdp)))


@asynccontextmanager
async def warm_browsers() -> AsyncIterator[Browsers]:
    args = [*ARGS, "--no-sandbox"] if os.geteuid() == 0 else ARGS
    async with async_playwright() as playwright:
        driver = await start_driver()
        try:
            ours, bare = [
                await one.chromium.launch(executable_path=executable.find(), args=args) for one in (driver, playwright)
            ]
            yield Browsers(ours, bare)
            await ours.close()
            await bare.close()
        finally:
            await driver.stop()


@asynccontextmanager
async def new_page(browser: Browser) -> AsyncIterator[OpenPage]:
    context = await browser.new_context(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
    page = await context.new_page()
    yield OpenPage(page, await context.new_cdp_session(page))
    await context.close()


async def measure(
    *,
    rows: Sequence[int] = ROWS,
    menus: Sequence[int] = MENUS,
    files: Sequence[Path] = (),
    runs: int = 7,
    sample: int = 3000,
) -> Rows:
    """Of tables of so many rows, of pages with so many hidden menus, and of HTML files."""
    found: Rows = {}
    with tempfile.TemporaryDirectory() as folder:
        made = {f"{count} rows": pages.rows(count) for count in rows}
        made |= {f"{count} menus": pages.menus(count) for count in menus}
        read = {name: Path(folder, f"{name}.html") for name in made}
        for name, path in read.items():
            path.write_text(made[name], encoding="utf-8")
        async with warm_browsers() as browsers:
            for name, path in (read | {file.name: file.resolve() for file in files}).items():
                async with new_page(browsers.ours) as ours, new_page(browsers.bare) as bare:
                    for one in (ours, bare):
                        await one.page.goto(path.as_uri())
                    times = await compare(ours, bare, runs=runs, sample=sample)
                if times.is_short:
                    await look_first(browsers, path.as_uri(), runs=runs, times=times)
                found |= times.rows(f"observation, {name}")
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rows", type=int, nargs="*", default=ROWS, help="rows of tables")
    options.add_argument("--menus", type=int, nargs="*", default=MENUS, help="menus that are not shown")
    options.add_argument("--pages", type=Path, nargs="*", default=[], help="HTML files, or folders of them")
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--sample", type=int, default=3000, help="most nodes to measure WebArena's way on")
    asked = options.parse_args()
    files = [file for path in asked.pages for file in (sorted(path.rglob("*.html")) if path.is_dir() else [path])]
    sources = {"rows": asked.rows, "menus": asked.menus, "files": files}
    for kind, values in sources.items():
        for one in values:
            which = dict.fromkeys(sources, ()) | {kind: (one,)}
            tell(asyncio.run(measure(**which, runs=asked.runs, sample=asked.sample)))


if __name__ == "__main__":
    sys.exit(main())
