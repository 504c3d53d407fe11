"""Compares the agent's answer with the reference answers.

The kinds of reference are evaluated in the task's order and multiplied. Answers that need a model go to a judge, which
is asked even if the score is already 0, as in WebArena.
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from harness.api import Finding
from harness.errors import EvaluatorError
from harness.evaluators.catch_all import names_everything, says_both, without_labels
from harness.evaluators.result import WEBARENA, finding, shown
from harness.evaluators.text_match import clean, includes_token, says
from harness.records import Task

NOT_ACHIEVABLE = "N/A"


class Jury(Protocol):
    """Judges that are models; they raise EvaluatorError when they cannot."""

    async def fuzzy(self, *, pred: str, reference: str, question: str) -> bool:
        """Whether the answer means what the reference means."""
        ...

    async def ua(self, *, pred: str, reference: str, question: str) -> bool:
        """Whether the answer gives the same reason why the task cannot be done."""
        ...


async def string_match(task: Task, answer: str, jury: Jury, dialect: str, *, acted: bool = True) -> Finding:
    """`acted`: whether the agent did anything but stop."""
    answers = task.eval.reference_answers
    if answers is None:
        raise EvaluatorError("the task has no reference_answers to compare with")
    matching = _WebArena(task, answer, jury) if dialect == WEBARENA else _Corrected(task, answer, jury, acted=acted)
    for kind, reference in answers.items():
        await matching.judge(kind, reference)
    return finding(matching.misses, "the answer matches the task")


class _WebArena:
    """One answer under WebArena's rules: cleaned once on entry and again for every comparison."""

    def __init__(self, task: Task, answer: str, jury: Jury) -> None:
        self.misses: list[str] = []
        self._task = task
        self._jury = jury
        self._pred = clean(answer)
        self._clean = clean(self._pred)
        """What is compared."""

    async def judge(self, kind: str, reference: Any) -> None:
        # Unknown kinds count for nothing, as in WebArena; the reader of task files refuses them.
        if kind == "exact_match":
            self._expect_equal(reference)
        elif kind == "must_include":
            # The token rule imports NLTK, which takes a second of a processor. On a busy machine, a worker that does
            # nothing else meanwhile misses its heartbeats, and so does the next one at the same answer.
            await asyncio.to_thread(self._expect_phrases, reference)
        elif kind == "fuzzy_match" and reference == NOT_ACHIEVABLE:
            await self._expect_refusal()
        elif kind == "fuzzy_match":
            await self._expect_meaning(reference)

    def _expect_equal(self, reference: Any) -> None:
        if clean(_text("exact_match", reference)) != self._clean:
            self.misses.append(f"the answer {shown(self._pred)} is not {shown(reference)}")

    def _expect_phrases(self, reference: Any) -> None:
        phrases = _texts("must_include", reference)
        # Literal even in task 386, which asks for `65 |OR| 3`: WebArena splits by it in pages and addresses only.
        for phrase in phrases:
            wanted = clean(phrase)
            # Only in a list of one: of two phrases, WebArena finds `1` as a part of `10`.
            lone = len(phrases) == 1 and len(wanted) == 1
            if not (includes_token(wanted, self._clean) if lone else wanted in self._clean):
                self._miss_phrase(phrase)

    def _miss_phrase(self, phrase: str) -> None:
        self.misses.append(f"the answer {shown(self._pred)} does not include {shown(phrase)}")

    async def _expect_refusal(self) -> None:
        """The judge's word replaces the score, so an earlier miss of another kind is forgotten."""
        if self._clean != clean(NOT_ACHIEVABLE):
            self.misses.append("the answer is not N/A")
        if self.misses:
            self.misses = [] if await self._same_reason() else ["the answer does not say why the task cannot be done"]

    async def _same_reason(self) -> bool:
        task = self._task
        return await self._jury.ua(pred=self._pred, reference=task.eval.string_note, question=task.intent)

    async def _expect_meaning(self, reference: Any) -> None:
        for one in _texts("fuzzy_match", reference):
            if not await self._jury.fuzzy(pred=self._pred, reference=one, question=self._task.intent):
                self.misses.append(f"the judge did not find {shown(one)} in the answer {shown(self._pred)}")


class _Corrected(_WebArena):
    """The same answer as it was meant to be judged: cleaned once, and shown to judges as it was given."""

    def __init__(self, task: Task, answer: str, jury: Jury, *, acted: bool) -> None:
        super().__init__(task, answer, jury)
        self._acted = acted
        self._clean = self._pred
        self._pred = answer.strip()

    def _expect_phrases(self, reference: Any) -> None:
        phrases = _texts("must_include", reference)
        answer = without_labels(self._clean)
        if why := names_everything(phrases, answer, self._task.intent) or says_both(phrases, answer):
            self.misses.append(why)
            return
        for phrase in phrases:
            if not says(phrase, answer):
                self._miss_phrase(phrase)

    async def _expect_refusal(self) -> None:
        # An agent that says N/A at once is right on each task that cannot be done, and does not know it.
        if not self._acted:
            self.misses.append("the agent did nothing to find out that the task cannot be done")
        # A bare N/A passes, as WebArena's prompt asks agents to answer so.
        elif self._clean != clean(NOT_ACHIEVABLE) and not await self._same_reason():
            self.misses.append("the answer is neither N/A nor says why the task cannot be done")


def _text(kind: str, value: Any) -> str:
    if not isinstance(value, str):
        raise EvaluatorError(f"reference_answers.{kind} must be a string, not {shown(value)}")
    return value


def _texts(kind: str, value: Any) -> tuple[str, ...]:
    # A bare text would be taken for the list of its letters; WebArena stops at it, too.
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise EvaluatorError(f"reference_answers.{kind} must be a list of strings, not {shown(value)}")
    return tuple(_text(kind, item) for item in value)
