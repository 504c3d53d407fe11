"""Golden cases of the line that names the tabs: `Tab 0: Shop | Tab 1 (current): Cart`.

The corpus at hand holds none, so every way of writing one down that its other files suggest is read: the tabs as titles
and the number of the current one, or as objects with `title` and `current`; a title that could not be had as null or
`throws`; the header alone, or at the top of a whole observation. A case of another form is a difference.
"""

from collections.abc import Mapping
from typing import Any

from harness.browser.session.browser_session import tab_header
from harness.records import TabRecord
from tests.golden.outcome import Case, Decision, Outcome, same

TITLE_THAT_FAILS = Decision(
    "title-that-fails",
    "when one title cannot be had WebArena names no tab at all (`Tab {idx}`); here only that title is empty",
)
_TABS = ("tabs", "pages", "titles", "tab_titles", "open_tabs")
_CURRENT = ("current", "active", "current_index", "active_index", "current_tab", "current_tab_idx")
_HEADER = ("header", "tab_header", "tab_title_str", "text", "expected", "output")
_THROWS = "throws"
_LITERAL = "Tab {idx}"


def compare_tab_header(case: Case) -> Outcome:
    pages = _one_of(case, _TABS)
    if not isinstance(pages, list) or not pages:
        raise ValueError(f"its tabs are {pages!r}, but a list of at least one is needed")
    header = _one_of(case, _HEADER)
    if not isinstance(header, str):
        raise ValueError(f"its header is {header!r}, but a text is needed")
    header = header.partition("\n\n")[0]
    titles = [_title(page) for page in pages]
    current = _current(case, pages)
    tabs = [TabRecord(url="", title=title or "", current=n == current) for n, title in enumerate(titles)]
    failed = None in titles or current is None or bool(case.get(_THROWS) or case.get("raises"))
    if failed and header == " | ".join([_LITERAL] * len(tabs)):
        return TITLE_THAT_FAILS
    return same(tab_header(tabs), header)


def _one_of(case: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in case:
            return case[name]
    raise ValueError(f"it has {', '.join(case) or 'nothing'}, but none of {', '.join(names)}")


def _title(page: Any) -> str | None:
    """None = it could not be had."""
    title = page.get("title") if isinstance(page, dict) else page
    if title is not None and not isinstance(title, str):
        raise ValueError(f"the title of a tab is {title!r}, but a text is needed")
    failed = title == _THROWS or (isinstance(page, dict) and bool(page.get(_THROWS)))
    return None if failed else title


def _current(case: Case, pages: list[Any]) -> int | None:
    """The number of the current tab; None = it is none of them."""
    marked = [
        n for n, page in enumerate(pages) if isinstance(page, dict) and (page.get("current") or page.get("active"))
    ]
    if len(marked) > 1:
        raise ValueError(f"it has {len(marked)} current tabs")
    if marked:
        return marked[0]
    number = _one_of(case, _CURRENT)
    if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
        raise ValueError(f"its current tab is {number!r}, but a number is needed")
    return number if number is not None and 0 <= number < len(pages) else None
