"""What reading real documentation pages costs beside WebArena's way and beside one call for the whole tree.

Run: `python -m benchmarks.document_reading [--long] [--pages NAME …] [--sample 3000]`. Every page is read at its top,
in its middle and at its end; a row is the median over all of them. Pages of packages that are not installed are left
out, and it is said which. Text is compared wherever a page is read in full; `tests/browser/test_documents.py` compares
more: both dialects, the whole page, every rectangle.
"""

import asyncio
import sys
from collections.abc import Collection

from benchmarks.documents import DOCUMENTS, LONG, Document, installed
from benchmarks.observation import Browsers, Times, compare, new_page, warm_browsers
from benchmarks.results import NotInstalled, Rows, parser, say, tell

OFFSETS = (0.0, 0.5, 1.0)
"""Shares of what can be scrolled."""
TO = "(share) => scrollTo(0, share * (document.documentElement.scrollHeight - innerHeight))"


async def read(browsers: Browsers, document: Document, *, runs: int, sample: int) -> Times:
    """At all offsets."""
    every = Times()
    async with new_page(browsers.ours) as ours, new_page(browsers.bare) as bare:
        for one in (ours, bare):
            await one.page.goto(document.path.as_uri())
        for share in OFFSETS:
            for one in (ours, bare):
                await one.page.evaluate(TO, share)
            every.add(await compare(ours, bare, runs=runs, sample=sample))
    return every


async def measure(*, long: bool = False, pages: Collection[str] = (), runs: int = 3, sample: int = 3000) -> Rows:
    """Of all documents, long ones too when asked for, or of those named in `pages`."""
    documents = [
        one for one in DOCUMENTS + (LONG if long else ()) if not pages or one.name.removesuffix(".html") in pages
    ]
    present = installed(tuple(documents))
    if missing := sorted({one.package for one in documents} - {one.package for one in present}):
        left_out = f"{', '.join(missing)} not installed (apt-get install {' '.join(missing)})"
        if not present:
            raise NotInstalled(left_out)
        say(f"document reading: {left_out}")
    found: Rows = {}
    async with warm_browsers() as browsers:
        for document in present:
            times = await read(browsers, document, runs=runs, sample=sample)
            found |= times.rows(f"document reading, {document.package}/{document.name.removesuffix('.html')}")
    return found


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--long", action="store_true", help="long pages too")
    options.add_argument("--pages", nargs="*", default=[], help="only these, such as library/sched")
    options.add_argument("--sample", type=int, default=3000, help="most nodes to measure WebArena's way on")
    asked = options.parse_args()
    tell(asyncio.run(measure(long=asked.long, pages=asked.pages, sample=asked.sample)))


if __name__ == "__main__":
    sys.exit(main())
