"""What reading real documentation pages costs beside WebArena's way, page by page and at several scroll offsets.

Run: `python -m benchmarks.document_reading [--long] [--sample 3000] [--json FILE]`; pages of packages that are not
installed are left out, and it is said which. Text is compared wherever a page is read in full, and exit code 1 says that
it differed somewhere; `tests/browser/test_documents.py` compares more: both dialects, the whole page, every rectangle.
"""

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright

from benchmarks.documents import DOCUMENTS, LONG, Document, installed
from benchmarks.observation import ARGS, VIEWPORT, as_measurements, compare, line
from harness.browser import executable

OFFSETS = (0.0, 0.5, 1.0)
"""Shares of what can be scrolled."""
TO = "(share) => scrollTo(0, share * (document.documentElement.scrollHeight - innerHeight))"


async def read(browser: Browser, document: Document, *, sample: int) -> dict[str, Any]:
    """Label to measurement, one per offset."""
    context = await browser.new_context(viewport={"width": VIEWPORT[0], "height": VIEWPORT[1]})
    page = await context.new_page()
    await page.goto(document.path.as_uri())
    cdp = await context.new_cdp_session(page)
    found = {}
    for share in OFFSETS:
        await page.evaluate(TO, share)
        found[f"{document.package}/{document.name} at {share:.0%}"] = await compare(page, cdp, runs=3, sample=sample)
    await context.close()
    return found


async def run(documents: tuple[Document, ...], *, sample: int) -> dict[str, Any]:
    results: dict[str, Any] = {}
    async with async_playwright() as playwright:
        args = [*ARGS, "--no-sandbox"] if os.geteuid() == 0 else ARGS
        browser = await playwright.chromium.launch(executable_path=executable.find(), args=args)
        for document in installed(documents):
            for name, found in (await read(browser, document, sample=sample)).items():
                sys.stdout.write(line(name[-32:], found) + "\n")
                sys.stdout.flush()
                results[name] = found
        await browser.close()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--long", action="store_true", help="long pages too")
    parser.add_argument("--sample", type=int, default=3000, help="most nodes to measure WebArena's way on")
    parser.add_argument("--json", type=Path, default=None, help="where to write the measurements")
    options = parser.parse_args()
    documents = DOCUMENTS + LONG if options.long else DOCUMENTS
    if missing := sorted({document.package for document in documents} - {one.package for one in installed(documents)}):
        sys.stdout.write(f"left out: {', '.join(missing)} not installed (apt-get install {' '.join(missing)})\n")
    results = asyncio.run(run(documents, sample=options.sample))
    if options.json:
        options.json.write_text(json.dumps(as_measurements(results), indent=2))
    return int(any(found["same"] is False for found in results.values()))


if __name__ == "__main__":
    sys.exit(main())
