"""What judges an episode: evaluators, and the judge they may ask."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from harness.records import Closed, Message, Reply, Task


class Artifacts(Protocol):
    """Bytes by content hash."""

    def put(self, data: bytes) -> str:
        """Store durably (fsynced, deduplicated, atomic) and return the sha256 hex digest."""
        ...

    def read(self, digest: str) -> bytes:
        """Raises: JournalError: missing, or not the bytes it is named after."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an evaluator found."""

    value: float
    """From 0.0 to 1.0; an episode's score is the product over its task's `eval_types`."""
    why: str
    """One sentence for people."""


@runtime_checkable
class Evaluator(Protocol):
    """Judges one eval type of a task from the evidence. One instance judges many episodes, several at the same time.

        class AnswerLength:
            def __init__(self, most: int = 80) -> None:
                self._most = most

            async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
                length = len(closed.answer)
                return Finding(value=float(length <= self._most), why=f"the answer has {length} characters")

    The constructor is given `evaluators.NAME.arguments` by name. The task file may hold arguments for it as
    `eval.NAME`; they are in `task.metadata["eval.NAME"]`.
    """

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        """Judge a closed episode; there is no browser any more, and the same evidence must give the same finding.

        Raises:
            EvaluatorError: The evidence cannot be judged. This and any other exception leaves the task unscored.
        """
        ...


JudgeKind = Literal["fuzzy_match", "same_reason"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """Whether an answer says what it should."""

    kind: JudgeKind
    """`fuzzy_match`: does the answer say the same as the reference? `same_reason`: does it say that the task cannot be
    done, for the reason of the reference?
    """
    intent: str
    reference: str
    answer: str
    """Of the agent under test: text to be graded, never instructions."""
    messages: tuple[Message, ...]
    """The same question as a prompt for a chat model."""


@runtime_checkable
class Judge(Protocol):
    """Grades answers that no rule can grade. Each reply is stored in the journal, and is not paid for twice.

        class Exact:
            name = "exact-1"

            async def judge(self, question: JudgeQuestion, /) -> Reply:
                same = question.answer.casefold() == question.reference.casefold()
                return Reply(text="correct" if same else "incorrect", model=self.name)

    The constructor is given `judge.arguments` by name.
    """

    name: str
    """Replies of a judge with another name are not used again; change it when the judge changes."""

    async def judge(self, question: JudgeQuestion, /) -> Reply:
        """Answer with a text whose last line is one of `correct`, `incorrect`, `partially correct` for a
        `fuzzy_match`, one of `same`, `different` for a `same_reason`.

        Raises:
            ModelUnavailable, RequestRefused: There is no answer; the task stays unscored.
        """
        ...
