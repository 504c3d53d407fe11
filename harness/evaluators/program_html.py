"""Compares the values that were selected from the pages with the required contents.

The browser gathered the values before the episode was closed; here they are converted to text and compared. A value
that could not be gathered is an error, never an empty text.
"""

import html
from typing import Any

from harness.api import Artifacts, Finding
from harness.codec import loads
from harness.errors import EvaluatorError, JournalError
from harness.evaluators.own_page import LAST, not_of_a_site, without_echo
from harness.evaluators.result import WEBARENA, finding, shown
from harness.evaluators.text_match import OR, clean, includes
from harness.records import Evidence, HtmlTarget, Selected, Task

# Of scripts, WebArena knows these two beginnings; it stops at any other, one with a leading blank included.
_SCRIPT_STARTS = ("document.", "[...document.")


def program_html(task: Task, evidence: Evidence, artifacts: Artifacts, dialect: str) -> Finding:
    gathered = {selected.index: selected for selected in evidence.selected}
    misses = []
    for index, target in enumerate(task.eval.program_html):
        selected = gathered.get(index)
        if selected is None:
            raise EvaluatorError(f"nothing was gathered for program_html[{index}]")
        text = _selected_text(target, selected, artifacts, dialect)
        if dialect != WEBARENA and (why := not_of_a_site(target, selected.url)):
            misses.append(f"program_html[{index}]: {why}")
            continue
        if dialect != WEBARENA and target.url == LAST and not target.locator.strip():
            text = without_echo(text, selected.url, target)
        misses += [f"program_html[{index}]: {miss}" for miss in _misses(target, text, dialect)]
    return finding(misses, "the pages contain what the task asks for")


def _selected_text(target: HtmlTarget, selected: Selected, artifacts: Artifacts, dialect: str) -> str:
    place = f"program_html[{selected.index}]"
    content, error = selected.content, selected.error
    if dialect == WEBARENA:  # what there is counts, whatever there is to say against it
        content = content if selected.last_content is None else selected.last_content
        error = "" if content is not None else error
    if error or content is None:
        raise EvaluatorError(f"{place}: {error or 'nothing was gathered'}")
    try:
        value = loads(artifacts.read(content))
    except (JournalError, ValueError) as exc:
        raise EvaluatorError(f"{place}: the gathered content cannot be read ({exc})") from exc
    try:
        # Once, and of scripts' values as well as of pages, as WebArena does.
        return html.unescape(_as_text(place, target.locator, value))
    except RecursionError as exc:
        raise EvaluatorError(f"{place}: the gathered content is nested too deeply") from exc


def _as_text(place: str, locator: str, value: Any) -> str:
    """A script's value as Python writes it (`None`, `True`, lists as lists); a page or a helper gives a text."""
    if locator.startswith(_SCRIPT_STARTS):
        return str(value)
    if locator.strip() and not locator.startswith("func:"):
        raise EvaluatorError(f"{place}: unknown kind of locator {shown(locator)}")
    if not isinstance(value, str):
        raise EvaluatorError(f"{place}: returned {shown(value)} instead of a string")
    return value


def _misses(target: HtmlTarget, text: str, dialect: str) -> list[str]:
    cleaned = clean(text)
    if target.exact_match is not None:
        return [] if clean(target.exact_match) == cleaned else [f"{shown(text)} is not {shown(target.exact_match)}"]
    if target.must_include is None:
        raise EvaluatorError("required_contents contains neither exact_match nor must_include")
    fits = _includes if dialect == WEBARENA else includes
    return [f"{shown(text)} lacks {shown(phrase)}" for phrase in target.must_include if not fits(phrase, cleaned)]


def _includes(phrase: str, text: str) -> bool:
    # Never as a number or a token: in pages, WebArena searches for substrings only.
    return any(clean(alternative) in text for alternative in phrase.split(OR))
