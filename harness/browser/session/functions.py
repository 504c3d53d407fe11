"""Calls the functions that a `func:` target may name: those that benchmarks bring, each with typed, literal arguments.

A call is parsed, never evaluated, and a task can name only what a benchmark has registered. The argument
`'__last_url__'` is replaced by the address of the tested page, and `__page__` is the page itself. Results come from the
sites over HTTP, or from the page for the one function that WebArena defines so.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from playwright.async_api import Error, Page

from harness.actions.literal_call import PAGE, parse
from harness.actions.truncate import MOST_OF_A_MESSAGE, cut
from harness.browser.network.http import HttpAnswer, fetch
from harness.browser.session.browser_session import SiteBinding
from harness.codec import loads
from harness.errors import EvaluatorError, HarnessError, plugin_boundary, said_by
from harness.records import Site
from harness.registry import Registry

TABLES = Registry(group="cairn.functions", noun="func")
"""Name of a benchmark to its functions by name: a mapping to `PageFunction`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionContext:
    """What a call may look at."""

    lane: SiteBinding
    page: Page
    """The page being looked at."""
    last_url: str
    """Canonical address of the page under test."""

    def site(self, name: str) -> Site:
        for site in self.lane.sites:
            if site.name == name:
                return site
        raise EvaluatorError(f"there is no site {name!r}")

    async def ask(self, site: str, path: str, *, token: str = "", body: bytes | None = None) -> Any:
        """The JSON a site answers with; None when it says that there is no such thing.

        Args:
            path: With the query.
            token: For `Authorization`.
            body: JSON that is posted; None = nothing is.
        """
        headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        if body is not None:
            headers["Content-Type"] = "application/json"
        method = "GET" if body is None else "POST"
        answer = await fetch(self.site(site).url + path, method=method, headers=headers, body=body)
        return None if answer.status == 404 else _json(answer, path)


@dataclass(frozen=True, slots=True)
class PageFunction:
    """One function."""

    parameters: tuple[str, ...]
    """Of each: `text`, `url` or `page`."""
    ask: Callable[..., Awaitable[str]]
    """Given a `FunctionContext` and the arguments that are not the page."""


@cache
def functions() -> Mapping[str, PageFunction]:
    """All by name; of two with one name the first that is registered."""
    found: dict[str, PageFunction] = {}
    for benchmark in TABLES.names():
        found |= {name: one for name, one in TABLES.find(benchmark).items() if name not in found}
    return found


async def call(text: str, context: FunctionContext) -> str:
    """Answer a call such as `shop_latest_order_url()`.

    Raises:
        EvaluatorError: It is not a call of the list, cannot be answered, or its function raises.
        SiteUnavailable: The site does not answer.
    """
    name, arguments = parse(text)
    function = functions().get(name)
    if function is None:
        raise EvaluatorError(f"there is no function {name!r}; choose one of {', '.join(functions())}")
    if len(arguments) != len(function.parameters):
        raise EvaluatorError(f"{name} takes {len(function.parameters)} arguments, not {len(arguments)}")
    values: list[Any] = []
    for kind, argument in zip(function.parameters, arguments, strict=True):
        if (kind == "page") is not (argument is PAGE):
            raise EvaluatorError(f"{name} takes {', '.join(function.parameters) or 'nothing'}")
        if kind != "page":
            values.append(str(argument).replace("__last_url__", context.last_url))

    def failed(error: BaseException) -> EvaluatorError:
        said = cut(said_by(error), MOST_OF_A_MESSAGE)
        return EvaluatorError(f"function {name} raised {type(error).__name__}: {said}")

    # The browser's errors pass: if it is gone, the episode is played again.
    with plugin_boundary(failed, passes=(HarnessError, Error)):
        return await function.ask(context, *values)


def _json(answer: HttpAnswer, path: str) -> Any:
    if answer.status != 200:
        raise EvaluatorError(f"{path} answered {answer.status}")
    try:
        return loads(answer.body)
    except ValueError as exc:
        raise EvaluatorError(f"{path} did not answer with JSON") from exc


def part_of(found: Any, key: str) -> Any:
    """Raises: EvaluatorError: The answer of a site has no such part."""
    if not isinstance(found, Mapping) or key not in found:
        raise EvaluatorError(f"the site's answer holds no {key}")
    return found[key]
