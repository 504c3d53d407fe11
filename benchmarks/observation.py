"""What an observation costs beside WebArena's way of making it, and beside one call for the whole accessibility tree.

Run: `python -m benchmarks.observation [--rows 100 1000 5000 20000] [--pages FILE_OR_FOLDER …] [--runs 7] [--json FILE]`.
All ways read the same page in the same browser in turn; ratios of medians are what counts. WebArena's way takes minutes
on long pages, so beyond `--sample` nodes it is measured on every k-th node and scaled (marked ~). Text is compared on
every page that is read in full.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from playwright.async_api import CDPSession, Page, async_playwright

from benchmarks.pages import rows
from benchmarks.reference import Labels, measure, observe
from harness.browser import executable
from harness.browser.observing import Observer

VIEWPORT = (1280, 720)
ARGS = ["--disable-background-networking", "--no-first-run", "--disable-component-update", "--disable-sync"]


async def seconds(call: Callable[[], Awaitable[Any]]) -> float:
    started = time.perf_counter()
    await call()
    return time.perf_counter() - started


async def reference_seconds(cdp: CDPSession, sample: int) -> tuple[float, int, bool]:
    """Time of WebArena's way, number of accessibility nodes, and whether the time was scaled up from a sample."""
    started = time.perf_counter()
    nodes = (await cdp.send("Accessibility.getFullAXTree"))["nodes"]
    tree = time.perf_counter() - started
    backends = [node["backendDOMNodeId"] for node in nodes[1:] if "backendDOMNodeId" in node]
    step = max(1, len(backends) // sample)
    started = time.perf_counter()
    for backend in backends[::step]:
        await measure(cdp, backend)
    each = (time.perf_counter() - started) / max(1, len(backends[::step]))
    return tree + each * len(backends), len(nodes), step > 1


async def compare(page: Page, cdp: CDPSession, *, runs: int, sample: int) -> dict[str, Any]:
    """Read the page as it stands, in every way."""
    await Observer(dialect="webarena", viewport=VIEWPORT).read(page, cdp)  # builds Chromium's tree, whoever asks first
    ours, cairn, tree = [], [], []
    observers = {dialect: Observer(dialect=dialect, viewport=VIEWPORT) for dialect in ("webarena", "cairn")}
    for _ in range(runs):
        ours.append(await seconds(lambda: observers["webarena"].read(page, cdp)))
        cairn.append(await seconds(lambda: observers["cairn"].read(page, cdp)))
        if len(tree) < 3:
            tree.append(await seconds(lambda: cdp.send("Accessibility.getFullAXTree")))
    reference, nodes, is_scaled = await reference_seconds(cdp, sample)
    is_same = None
    if not is_scaled:
        text = (await Observer(dialect="webarena", viewport=VIEWPORT).read(page, cdp)).text
        is_same = text == (await observe(cdp, viewport=VIEWPORT, label=Labels())).text
    return {
        "nodes": nodes,
        "ours": statistics.median(ours),
        "cairn": statistics.median(cairn),
        "tree": statistics.median(tree),
        "reference": reference,
        "scaled": is_scaled,
        "same": is_same,
        "runs": runs,
    }


def line(name: str, found: dict[str, Any]) -> str:
    mark = "~" if found["scaled"] else " "
    same = {True: "same text", False: "TEXT DIFFERS", None: ""}[found["same"]]
    return (
        f"{name:32} {found['nodes']:7} nodes  ours {found['ours'] * 1e3:7.1f} ms  cairn {found['cairn'] * 1e3:7.1f} ms"
        f"  whole tree {found['tree'] * 1e3:8.1f} ms  WebArena {mark}{found['reference'] * 1e3:9.0f} ms"
        f"  ratio {found['reference'] / found['ours']:6.0f}  {same}"
    )


async def run(options: argparse.Namespace) -> dict[str, Any]:
    files = [file for path in options.pages for file in (sorted(path.rglob("*.html")) if path.is_dir() else [path])]
    results: dict[str, Any] = {}
    args = [*ARGS, "--no-sandbox"] if os.geteuid() == 0 else ARGS
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable.find(), args=args)
        for name, source in [*((f"{count} rows", count) for count in options.rows), *((str(f), f) for f in files)]:
            context = await browser.new_context(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
            page = await context.new_page()
            if isinstance(source, int):
                await page.set_content(rows(source))
            else:
                await page.goto(source.resolve().as_uri())
            found = await compare(page, await context.new_cdp_session(page), runs=options.runs, sample=options.sample)
            sys.stdout.write(line(name[-32:], found) + "\n")
            sys.stdout.flush()
            results[name] = found
            await context.close()
        await browser.close()
    return results


def as_measurements(results: dict[str, Any]) -> dict[str, Any]:
    """The shape all benchmarks share: name to ours, reference, ratio, unit and runs."""
    return {
        f"observation, {name}": {
            "ours": found["ours"] * 1e3,
            "reference": found["reference"] * 1e3,
            "ratio": found["reference"] / found["ours"],
            "unit": "ms",
            "runs": found["runs"],
        }
        for name, found in results.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, nargs="*", default=[20, 100, 1000, 5000, 20000], help="rows of tables")
    parser.add_argument("--pages", type=Path, nargs="*", default=[], help="HTML files, or folders of them")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--sample", type=int, default=3000, help="most nodes to measure WebArena's way on")
    parser.add_argument("--json", type=Path, default=None, help="where to write the measurements")
    options = parser.parse_args()
    results = asyncio.run(run(options))
    if options.json:
        options.json.write_text(json.dumps(as_measurements(results), indent=2))


if __name__ == "__main__":
    main()
