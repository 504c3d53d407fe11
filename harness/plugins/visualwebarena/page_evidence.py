"""Collects from the live pages what VisualWebArena's evaluators need, in tabs beside the agent's.

What a script of a task cannot find is an empty text (`document…`) or nothing (`lambda:`), as in the package. What
cannot be gathered at all is an error of that one entry.
"""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypedDict
from urllib.parse import urljoin

from harness.api import BenchmarkPage, EvaluatorError, PluginFailed
from harness.errors import TaskError
from harness.plugins.visualwebarena.package_functions import Scene, call, run
from harness.plugins.visualwebarena.places import place_of

FUNC, LAMBDA, SCRIPTS = "func:", "lambda:", ("document.", "[...document.")
LAST = "last"
_MOST_PICTURES = 60
_CONTENT = """() => (document.doctype ? new XMLSerializer().serializeToString(document.doctype) : "")
  + (document.documentElement ? document.documentElement.outerHTML : "")"""
_SOURCES = """(locator) => {
  const images = [];
  for (const element of document.querySelectorAll(locator))
    if (element.tagName === "IMG") images.push(element); else images.push(...element.querySelectorAll("img"));
  return images.map((image) => image.getAttribute("src"));
}"""


class Gathered(TypedDict, total=False):
    """What was found for one entry, or why nothing could be."""

    value: Any
    error: str
    of: Mapping[str, Any]
    """What was looked at, see `place_of`."""


class FoundPictures(TypedDict, total=False):
    images: list[str]
    """Hashes, in the order of the page."""
    outside: list[str]
    """Addresses of pictures that are on no site of the run."""
    references: list[str]
    """Hashes."""
    error: str
    """Why there is nothing else."""
    of: Mapping[str, Any]
    """What was looked at, see `place_of`."""


async def gather_html(page: BenchmarkPage, targets: Sequence[Mapping[str, Any]], shop: str) -> list[Gathered]:
    """Read the value of each target, or an error."""
    return [{**await _gathered(page, target["url"], shop, target), "of": place_of(target)} for target in targets]


async def gather_images(
    page: BenchmarkPage, queries: Sequence[Mapping[str, Any]], shop: str, references: Sequence[Sequence[str]]
) -> list[FoundPictures]:
    """Read the pictures of the page and the references for each query."""
    found: list[FoundPictures] = []
    for query, known in zip(queries, references, strict=True):
        one = await _gathered(page, query["eval_image_url"], shop, query)
        if "error" in one:
            found.append({"error": one["error"], "of": place_of(query)})
        else:
            pictures: FoundPictures = one["value"]
            found.append({**pictures, "references": list(known), "of": place_of(query)})
    return found


async def _gathered(page: BenchmarkPage, url: str, shop: str, entry: Mapping[str, Any]) -> Gathered:
    context = Scene(page=page, last_url=page.url, shop=shop)
    try:
        async with AsyncExitStack() as closing:
            if url.startswith(FUNC):
                url = str(await call(url.removeprefix(FUNC), context))
            if url != LAST:
                await closing.enter_async_context(page.tab(url))
            value = await (_value(context, entry["locator"]) if "locator" in entry else _pictures(page, entry))
        return {"value": value}
    except (EvaluatorError, PluginFailed, TaskError) as error:
        return {"error": str(error)}


async def _value(context: Scene, locator: str) -> Any:
    """What a locator selects; None = the page is the wrong one."""
    page = context.page
    if not locator.strip():
        return page.canonical(await page.evaluate(_CONTENT))
    if locator.startswith(SCRIPTS):
        return page.canonical(str(await run(page, f"() => {locator}", "")))
    if locator.startswith(LAMBDA):
        value = await run(page, locator.lstrip(LAMBDA), None) or None  # strips letters, as the package does
    else:
        value = await call(locator.removeprefix(FUNC), context)
    return page.canonical(value) if isinstance(value, str) else value


async def _pictures(page: BenchmarkPage, query: Mapping[str, Any]) -> FoundPictures:
    sources = await page.evaluate(_SOURCES, query["eval_image_class"])
    if len(sources) > _MOST_PICTURES:
        raise EvaluatorError(f"the page has {len(sources)} pictures there; the limit is {_MOST_PICTURES}")
    images, outside = [], []
    for source in sources:
        if source is None or source.startswith("www."):
            continue  # as in the package, which cannot fetch it
        url = page.canonical(urljoin(page.url, source))
        if not url.startswith(("http://", "https://")):
            continue
        try:
            answer = await page.fetch(url)
        except PluginFailed:
            outside.append(url[:500])
        else:
            images.append(page.keep(answer.body))
    return {"images": images, "outside": outside}
