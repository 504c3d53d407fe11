"""Golden cases of evaluators: WebArena's scores, and ours from the same evidence."""

import asyncio
from typing import Any

from harness.codec import dumps
from harness.errors import EvaluatorError
from harness.evaluators.finding import WEBARENA
from harness.evaluators.program_html import program_html
from harness.evaluators.string_match import string_match
from harness.evaluators.url_match import url_match
from harness.records import Eval, Evidence, HtmlTarget, Selected, Task
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


def compare_string_match(case: Case) -> Outcome:
    task = _task(case, reference_answers=case["reference_answers"], string_note=case["string_note"])
    jury = _CannedJury(case.get("canned", {}))
    try:
        ours: float | str = asyncio.run(string_match(task, case["answer"], jury, WEBARENA)).value
    except EvaluatorError:
        ours = UNSCORED
    return same((ours, jury.calls), (case.get("score", UNSCORED), case.get("judge_calls", [])))


def compare_url_match(case: Case) -> Outcome:
    task = _task(case, reference_url=case["reference_url"], url_note=case["url_note"])
    try:
        ours: float | str = url_match(task, case["url"], WEBARENA).value
    except EvaluatorError:
        ours = UNSCORED
    return same(ours, case.get("score", UNSCORED))


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
    several = isinstance(case["target"], list)
    targets = case["target"] if several else [case["target"]]
    values = case["content_or_selected_text"] if several else [case["content_or_selected_text"]]
    if len(values) == 1:
        values = values * len(targets)
    artifacts = _Memory()
    selected = tuple(
        Selected(index=index, url=case["page_url"], content=artifacts.put(dumps(_gathered(case, value))))
        for index, value in enumerate(values)
    )
    task = _task(case, program_html=tuple(map(_target, targets)))
    evidence = Evidence(url=case["page_url"], title="", html=None, selected=selected)
    try:
        ours: float | str = program_html(task, evidence, artifacts, WEBARENA).value
    except EvaluatorError:
        ours = UNSCORED
    return same(ours, case.get("score", UNSCORED))


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
