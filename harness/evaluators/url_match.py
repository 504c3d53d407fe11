"""Compares the page on which the agent ended with the reference URL.

`GOLD in PRED` is the only rule: the page's address must contain the reference. WebArena compares the text; the
corrected rule requires the same host, the reference's path or one below it, and its query parameters. A parameter that
is given twice must have the reference's values only: most sites heed the last one, some the first.
"""

from collections import defaultdict
from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qs, unquote, urlparse, urlsplit

from harness.api import Finding
from harness.errors import EvaluatorError
from harness.evaluators.result import WEBARENA, finding, shown
from harness.evaluators.text_match import OR
from harness.records import Task

_RULE = "GOLD in PRED"


def url_match(task: Task, url: str, dialect: str) -> Finding:
    reference, note = task.eval.reference_url, task.eval.url_note
    # Nine tasks of WebArena have no note and mean this rule; its code stops at any other text, an empty one included.
    if note not in (None, _RULE):
        raise EvaluatorError(f"url_note is {note!r}; the only rule is {_RULE!r}")
    if reference is None:
        raise EvaluatorError("the task has no reference_url to compare with")
    try:
        match = _webarena if dialect == WEBARENA else _corrected
        fits = match(reference.split(OR), url)
    except ValueError as exc:
        # Of brackets without an IPv6 address and, in the corrected rules, of a port that is not a number.
        raise EvaluatorError(f"{shown(url)} and {shown(reference)} cannot be compared ({exc})") from exc
    return finding([] if fits else [f"the page {shown(url)} is not at {shown(reference)}"], "the page matches the task")


def _webarena(references: list[str], url: str) -> bool:
    """Any reference's host and path as a substring, and the parameters of all references together."""
    base, query = _as_text(url)
    bases = []
    wanted: defaultdict[str, set[str]] = defaultdict(set)
    for reference in references:
        reference_base, parameters = _as_text(reference)
        bases.append(reference_base)
        for key, values in parameters.items():
            wanted[key].update(values)
    return any(reference in base for reference in bases) and all(
        any(value in query.get(key, []) for value in values) for key, values in wanted.items()
    )


def _as_text(url: str) -> tuple[str, Mapping[str, list[str]]]:
    # As WebArena: a slash before `?` stays, and `;parameters` of the last segment do not belong to the path.
    parts = urlparse(url.rstrip("/"))
    return parts.netloc + parts.path, parse_qs(parts.query)


def _corrected(references: list[str], url: str) -> bool:
    return any(_is_at(urlsplit(reference), urlsplit(url)) for reference in references)


def _is_at(reference: SplitResult, page: SplitResult) -> bool:
    if _host(reference) != _host(page):
        return False
    wanted_path, path = _path(reference), _path(page)
    # With the slash, as `/abc` is not below `/a`.
    if path != wanted_path and not path.startswith(wanted_path + "/"):
        return False
    # Blank values are dropped on both sides, as WebArena drops them.
    values = parse_qs(page.query)
    return all(_has(values.get(key, []), wanted, key) for key, wanted in parse_qs(reference.query).items())


def _has(values: list[str], wanted: list[str], key: str) -> bool:
    if key.endswith("[]"):  # a list, in which the page may have further ones
        return set(wanted) <= set(values)
    return set(wanted) == set(values)


def _host(url: SplitResult) -> tuple[str, int | None]:
    """The host without user info, in lower case; the standard ports of http and https say nothing."""
    return url.hostname or "", None if url.port in (80, 443) else url.port


def _path(url: SplitResult) -> str:
    return unquote(url.path).rstrip("/")
