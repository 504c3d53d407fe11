"""What of a VisualWebArena task can be neither played nor judged here: one sentence, before anything is played."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.api import Task
from harness.api.scoring import shown
from harness.errors import TaskError
from harness.plugins.visualwebarena.evaluators import HTML, IMAGE, STRING, URL, data_of
from harness.plugins.visualwebarena.package_functions import check
from harness.plugins.visualwebarena.page_evidence import FUNC, LAMBDA, LAST, SCRIPTS
from harness.plugins.visualwebarena.text_rules import OR

_ANSWERS = ("exact_match", "required_values", "must_include", "must_exclude", "one_of", "fuzzy_match")
_CONTENTS = ("exact_match", "must_include", "must_exclude", "required_values", "fuzzy_match")
_PLACES = ("http://", "https://")


def refuse_unplayable(task: Task, viewport: tuple[int, int], shipped: Path | None) -> None:
    """Refuse a task that asks for what is not done here.

    Args:
        task: As it was loaded.
        viewport: Width and height of the run's pages in CSS px.
        shipped: Folder that relative reference pictures lie in; None = there is none.

    Raises:
        TaskError: In one sentence.
    """
    wanted = task.metadata.get("viewport_size") or {}
    given = dict(zip(("width", "height"), viewport, strict=True))
    if differ := [f"browser.{key}={value}" for key, value in wanted.items() if given.get(key) != value]:
        raise TaskError(f"it needs another viewport; play it in a run with {' '.join(differ)}")
    parts = {name.removeprefix("vwa_"): data_of(task, name) for name in (STRING, URL, HTML, IMAGE)}
    if STRING in task.eval.eval_types:
        _check_answers(parts["string_match"])
    if URL in task.eval.eval_types and parts["url_match"].get("url_note", "EXACT") not in ("EXACT", "GOLD in PRED"):
        raise TaskError(
            f"eval.url_note is {shown(parts['url_match']['url_note'])}; the rules are EXACT and GOLD in PRED"
        )
    for index, target in enumerate(parts["program_html"] or ()):
        _check_target(f"eval.program_html[{index}]", target)
    for index, query in enumerate(parts["page_image_query"] or ()):
        _check_query(f"eval.page_image_query[{index}]", query)
        for reference in references_of(query):
            _check_reference(f"eval.page_image_query[{index}]", reference, shipped)


def references_of(query: Mapping[str, Any]) -> Sequence[str]:
    """The alternatives of a reference picture: addresses, and paths as the task has them."""
    named: str = query.get("eval_fuzzy_image_match", "")
    return named.split(OR) if named else ()


def _check_answers(data: Any) -> None:
    references = data.get("reference_answers")
    if not isinstance(references, dict) or not references:
        raise TaskError("eval.reference_answers is empty, but eval_types contains string_match")
    if unknown := [kind for kind in references if kind not in _ANSWERS]:
        raise TaskError(f"eval.reference_answers.{unknown[0]} is not a known kind; the kinds are {', '.join(_ANSWERS)}")


def _check_target(place: str, target: Any) -> None:
    if not isinstance(target, dict) or not all(isinstance(target.get(key), str) for key in ("url", "locator")):
        raise TaskError(f"{place} must have url and locator, each a string")
    _check_url(place, target["url"])
    locator: str = target["locator"]
    if locator.startswith(FUNC):
        check(locator.removeprefix(FUNC))
    elif locator.strip() and not locator.startswith((LAMBDA, *SCRIPTS)):
        raise TaskError(f"{place}.locator starts with {locator[:20]!r}; give nothing, a script or func:NAME(…)")
    contents = target.get("required_contents")
    if not isinstance(contents, dict) or not set(contents) & set(_CONTENTS):
        raise TaskError(f"{place}.required_contents must have one of {', '.join(_CONTENTS)}")
    if "prep_actions" in target:
        raise TaskError(f"{place}.prep_actions is not done for these tasks")


def _check_url(place: str, url: str) -> None:
    if url.startswith(FUNC):
        check(url.removeprefix(FUNC))
    elif url != LAST and not url.startswith(_PLACES):
        raise TaskError(f"{place} is about {shown(url)}; give `last`, an address or func:NAME(…)")


def _check_query(place: str, query: Any) -> None:
    if not isinstance(query, dict) or not isinstance(query.get("eval_image_url"), str):
        raise TaskError(f"{place} must have eval_image_url, a string")
    _check_url(place, query["eval_image_url"])
    if not str(query.get("eval_image_class")).startswith("."):
        raise TaskError(
            f"{place}.eval_image_class is {shown(query.get('eval_image_class'))}; give a CSS class, as .photo"
        )
    if not query.get("eval_vqa") and "eval_fuzzy_image_match" not in query:
        raise TaskError(f"{place} has neither eval_vqa nor eval_fuzzy_image_match")


def _check_reference(place: str, reference: str, shipped: Path | None) -> None:
    if reference.startswith(_PLACES):
        return
    if shipped is None or not (shipped / reference).is_file():
        raise TaskError(f"{place} names the picture {shown(reference)}, which the package does not have")
