"""Performs a call that an agent wrote as Playwright code, without evaluating it.

The text is parsed: it may only be `page` followed by calls of the locators that WebArena allows, with literal
arguments, and one final action. Anything else is refused with a sentence, and so is a call that playwright cannot
perform, since the model wrote it. Only a closed page is an infrastructure failure.
"""

import ast
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from playwright.async_api import Error, FrameLocator, Locator, Page

from harness.actions.truncate import cut
from harness.browser.driver.playwright_errors import gone, in_working_time, why_not
from harness.errors import ActionFailed

_EXACT = frozenset({"text", "exact"})
_LOCATORS: Mapping[str, frozenset[str]] = {
    "get_by_role": frozenset("role name exact checked disabled expanded include_hidden level pressed selected".split()),
    "get_by_text": _EXACT,
    "get_by_label": _EXACT,
    "get_by_placeholder": _EXACT,
    "get_by_alt_text": _EXACT,
    "get_by_title": _EXACT,
    "get_by_test_id": frozenset({"test_id"}),
    "filter": frozenset({"has_text", "has_not_text"}),
    "frame_locator": frozenset({"selector"}),
    "locator": frozenset({"selector_or_locator", "selector", "has_text", "has_not_text"}),
    "nth": frozenset({"index"}),
    "first": frozenset(),
    "last": frozenset(),
}
_CHOICES = ("value", "index", "label")
"""How `select_option` may name an option; a plain text is a value or a label."""
# Not all of it, so that the locator's own sentence comes before that of the action's time-out.
_SHARE = 0.8
"""The share of an action's time in which its element has to be found and ready."""
_MOST_OF_A_REASON = 500
_Plain = str | int | bool
_Literal = _Plain | list[_Plain]


class _Call(NamedTuple):
    """One call of the chain, as the agent wrote it."""

    name: str
    arguments: list[_Literal]
    named: dict[str, _Literal]

    def with_texts(self, change: Callable[[str], str]) -> "_Call":
        def changed(value: Any) -> Any:
            if isinstance(value, list):
                return [changed(one) for one in value]
            return change(value) if isinstance(value, str) else value

        return _Call(self.name, changed(self.arguments), {word: changed(value) for word, value in self.named.items()})


async def call(  # noqa: PLR0913 (what an agent wrote, and how it is performed)
    page: Page, verb: str, code: str, text: str, *, limit_s: float, as_on_page: Callable[[str], str] = str
) -> None:
    """Find the element and do what the code says.

    Args:
        verb: The final action: `click`, `hover`, `check`, `type` or `select_option`.
        text: What `type` writes.
        limit_s: How long an action may take.
        as_on_page: A text of the code as the page has it, where an agent is shown other addresses.
    Raises:
        ActionFailed: The code is not of the allowed form, or cannot be done on this page.
        playwright.async_api.Error: The page is gone.
    """
    steps = _parse(code)
    if not steps:
        raise ActionFailed(f"{code!r} performs no action on an element")
    place: Any = page
    for step in steps[:-1]:
        name, _, named = step
        allowed = _LOCATORS.get(name)
        if allowed is None or not set(named) <= allowed or not isinstance(place, Page | Locator | FrameLocator):
            raise ActionFailed(f"{name}({', '.join(named)}) is not one of the calls that find an element")
        place = _found(place, step, as_on_page)
    if not isinstance(place, Locator):
        raise ActionFailed(f"{code!r} does not select an element")

    async def perform(timeout_ms: float) -> None:
        await _perform(place, verb, text, steps[-1].with_texts(as_on_page), timeout_ms=timeout_ms)

    try:
        await in_working_time(perform, limit_s * _SHARE)
    except Error as exc:
        if gone(exc):
            raise
        raise ActionFailed(cut(f"{code} failed: {why_not(exc)}", _MOST_OF_A_REASON)) from exc
    except (TypeError, ValueError) as exc:
        raise ActionFailed(f"{code!r} has arguments of the wrong type") from exc


def _found(place: Any, step: _Call, as_on_page: Callable[[str], str]) -> Any:
    """What a call finds in a place."""
    name, arguments, named = step
    meant = step.with_texts(as_on_page)
    found = getattr(place, name, None)
    if found is None:
        raise ActionFailed(f"{name} cannot be used there")
    if not callable(found) or isinstance(found, Locator):
        return found
    try:
        return found(*meant.arguments, **meant.named)
    except (Error, AttributeError, TypeError, ValueError) as exc:
        said = [*map(repr, arguments), *(f"{word}={value!r}" for word, value in named.items())]
        raise ActionFailed(cut(f"{name} does not accept the arguments ({', '.join(said)})", _MOST_OF_A_REASON)) from exc


async def _perform(place: Locator, verb: str, text: str, written: _Call, *, timeout_ms: float) -> None:
    match verb:
        case "click":
            await place.click(timeout=timeout_ms)
        case "hover":
            await place.hover(timeout=timeout_ms)
        case "check":
            await place.check(timeout=timeout_ms)
        # Replaces the text, as the word says: WebArena performs `fill` by `Locator.type`, before the old text.
        case "type":
            await place.fill(text, timeout=timeout_ms)
        case "select_option":
            # Of the arguments of a final action WebArena takes none, and so clears the list.
            chosen: dict[str, Any] = {word: written.named[word] for word in _CHOICES if word in written.named}
            for given in written.arguments:
                chosen["value"] = [*chosen.get("value", ()), *map(str, given if isinstance(given, list) else [given])]
            await place.select_option(**chosen, timeout=timeout_ms)


def _parse(code: str) -> list[_Call]:
    """The chain of calls after `page`, in order."""
    try:
        node: ast.expr = ast.parse(code.strip(), mode="eval").body
    # The parser gives up deeply nested calls with one of the last two.
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise ActionFailed(f"{code!r} is not a Playwright call") from exc
    steps: list[_Call] = []
    while not isinstance(node, ast.Name):
        function = node.func if isinstance(node, ast.Call) else node
        if not isinstance(function, ast.Attribute):
            raise ActionFailed(f"{code!r} is not a chain of calls on `page`")
        arguments = [_literal(one) for one in node.args] if isinstance(node, ast.Call) else []
        keywords = node.keywords if isinstance(node, ast.Call) else []
        steps.append(_Call(function.attr, arguments, {str(word.arg): _literal(word.value) for word in keywords}))
        node = function.value
    if node.id != "page":
        raise ActionFailed(f"{code!r} does not begin with `page`")
    return steps[::-1]


def _literal(node: ast.expr) -> _Literal:
    return [_plain(one) for one in node.elts] if isinstance(node, ast.List) else _plain(node)


def _plain(node: ast.expr) -> _Plain:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | bool):
        return node.value
    raise ActionFailed("arguments must be plain strings or numbers, or lists of them")
