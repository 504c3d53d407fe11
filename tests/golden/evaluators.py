"""Golden cases of evaluators: WebArena's scores, and ours from the same evidence."""

import asyncio
from collections.abc import Callable
from typing import Any

from harness.codec import dumps
from harness.errors import EvaluatorError, TaskError
from harness.evaluators.program_html import program_html
from harness.evaluators.result import WEBARENA
from harness.evaluators.string_match import string_match
from harness.evaluators.url_match import url_match
from harness.records import Eval, Evidence, HtmlTarget, Selected, Task
from harness.tasks.parse_eval import build_eval
from harness.tasks.validation import Fields
from tests.golden.outcome import Case, Outcome, same

UNSCORED = "unscored"


def _task(case: Case, **judged: Any) -> Task:
    return Task(
        task_id=str(case["task_id"]),
        sites=(),
        intent=case.get("intent", "x"),
        start_urls=(),
        eval=Eval(eval_types=(), **judged),
    )


class _CannedJury:
    """Gives the corpus's verdicts, those of a list in the order they are asked for."""

    def __init__(self, canned: dict[str, Any]) -> None:
        self.calls: list[dict[str, str]] = []
        self._canned = {kind: list(value) if isinstance(value, list) else value for kind, value in canned.items()}

    def _next(self, kind: str, pred: str, reference: str, question: str) -> bool:
        self.calls.append({"kind": kind, "pred": pred, "reference": reference, "question": question})
        value = self._canned[kind]
        return bool(value.pop(0) if isinstance(value, list) else value)

    async def fuzzy(self, *, pred: str, reference: str, question: str) -> bool:
        return self._next("fuzzy", pred, reference, question)

    async def ua(self, *, pred: str, reference: str, question: str) -> bool:
        return self._next("ua", pred, reference, question)


def _against_theirs(case: Case, judged: Case, score: Callable[[], object]) -> Outcome:
    """Our score, or `unscored`, against the recorded one.

    Args:
        case: The recorded case.
        judged: What a task file would say of how it is judged: what is refused there never gets a score.
        score: Computes ours, and what else is recorded.
    """
    if "score" not in case and "error" not in case:
        raise ValueError("it has neither score nor error")
    try:
        ours = score()
    except EvaluatorError:
        ours = UNSCORED
    except (AttributeError, LookupError, TypeError):
        if not _is_refused(judged):
            raise
        ours = UNSCORED
    return same(ours, case.get("score", UNSCORED))


def _is_refused(judged: Case) -> bool:
    try:
        build_eval(Fields("the case", judged))
    except TaskError:
        return True
    return False


def compare_string_match(case: Case) -> Outcome:
    jury = _CannedJury(case.get("canned", {}))

    def score() -> float:
        task = _task(case, reference_answers=case["reference_answers"], string_note=case["string_note"])
        return asyncio.run(string_match(task, case["answer"], jury, WEBARENA)).value

    judged = {"eval_types": ["string_match"], "reference_answers": case["reference_answers"]}
    return _against_theirs(case, judged, score) or same(jury.calls, case.get("judge_calls", []))


def compare_url_match(case: Case) -> Outcome:
    def score() -> float:
        task = _task(case, reference_url=case["reference_url"], url_note=case["url_note"])
        return url_match(task, case["url"], WEBARENA).value

    judged = {"eval_types": ["url_match"], "reference_url": case["reference_url"], "url_note": case["url_note"]}
    return _against_theirs(case, judged, score)


class _Memory:
    """Artifacts that were never written."""

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        name = str(len(self._held))
        self._held[name] = data
        return name

    def read(self, digest: str) -> bytes:
        return self._held[digest]


def compare_program_html(case: Case) -> Outcome:
    targets, values = _targets_and_values(case)

    def score() -> float:
        artifacts = _Memory()
        selected = tuple(
            Selected(index=index, url=case["page_url"], content=artifacts.put(dumps(_gathered(case, value))))
            for index, value in enumerate(values)
        )
        task = _task(case, program_html=tuple(map(_target, targets)))
        evidence = Evidence(url=case["page_url"], title="", html=None, selected=selected)
        return program_html(task, evidence, artifacts, WEBARENA).value

    return _against_theirs(case, {"eval_types": ["program_html"], "program_html": targets}, score)


def _targets_and_values(case: Case) -> tuple[list[Any], list[Any]]:
    """The targets, and what the page gave for each; several may share one value, which may itself be a list."""
    target, value = case["target"], case["content_or_selected_text"]
    if not isinstance(target, list):
        return [target], [value]
    if not target:
        return [], []
    values = value if isinstance(value, list) else [value]
    if len(values) == 1:
        values = values * len(target)
    if len(values) != len(target):
        raise ValueError(f"it has {len(values)} contents for {len(target)} targets")
    return target, values


def _gathered(case: Case, value: Any) -> Any:
    """A script that raises selects the empty text; that is decided where the evidence is gathered."""
    return "" if case["mode"] == "evaluate_raises" else value


def _target(target: Case) -> HtmlTarget:
    contents = target["required_contents"]
    phrases = contents.get("must_include")
    return HtmlTarget(
        url=target["url"],
        locator=target["locator"],
        exact_match=contents.get("exact_match"),
        must_include=tuple(phrases) if phrases is not None else None,
        prep_actions=tuple(target.get("prep_actions", ())),
    )
