"""What judges an episode: evaluators, and the judge they may ask."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from harness.errors import EvaluatorError
from harness.records import Closed, Message, Reply, Task, TrajectoryStep


class Artifacts(Protocol):
    """Bytes by content hash."""

    def put(self, data: bytes) -> str:
        """Store durably (fsynced, deduplicated, atomic) and return the sha256 hex digest."""
        ...

    def read(self, digest: str) -> bytes:
        """Raises: JournalError: missing (`NoArtifact`), or not the bytes it is named after."""
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
            EvaluatorError: The evidence cannot be judged. This and any other exception leaves the task unscored, but a
                model that rejects all requests, a full disk and a damaged artifact, which stop the run.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEpisode:
    """A closed episode with what it did, for an evaluator that asks a judge."""

    task: Task
    """With its `eval` and metadata."""
    closed: Closed
    """How it ended: reason, answer, evidence."""
    trajectory: tuple[TrajectoryStep, ...]
    """The arrival, then every step; () = it was not kept."""
    artifacts: Artifacts
    """Screenshots, pages and traces by hash."""


class JudgeAccess(Protocol):
    """The configured judge, for one verdict."""

    async def ask(self, messages: Sequence[Message], /) -> str:
        """The judge's reply, which is stored before it is returned: a resumed run does not pay for it again.

        Text that a page, a model or a task file wrote belongs in the messages as quoted data only: see
        `harness.api.judging.quoted`.

        Raises:
            EvaluatorError: No judge is configured, or it does not answer.
        """
        ...


class JudgedEvaluator(ABC):
    """An `Evaluator` that asks the configured judge, and sees what the episode did.

        class Polite(JudgedEvaluator):
            prompt_digest = "polite-1"

            async def evaluate_judged(self, recorded, judge, /):
                asked = Message(role="user", content=f"Is this polite? yes or no: {quoted(recorded.closed.answer)}")
                reply = await judge.ask([asked])
                return Finding(value=float(reply.strip().lower() == "yes"), why=f"the judge says {reply!r:.80}")

    An episode whose task names such an evaluator keeps its trajectory in the evidence (`Evidence.trajectory`).
    """

    prompt_digest: str = ""
    """Digest of the texts and settings that make its prompts. The measured error of a judge belongs to a model and a
    prompt: change it when the prompt changes."""

    def in_dialect(self, dialect: str, /) -> "JudgedEvaluator":
        """What judges in a scoring; itself, unless the judge is asked something else there.

        Args:
            dialect: `webarena` (also called `published`) or `corrected`.
        """
        return self

    @abstractmethod
    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        """Judge a closed episode; as `Evaluator.evaluate`."""

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        """Raises: EvaluatorError: always; a scorer calls `evaluate_judged`."""
        raise EvaluatorError(f"{type(self).__name__} judges together with a judge: call evaluate_judged")


JudgeKind = Literal["fuzzy_match", "same_reason", "prompt"]
"""What a judge is asked; see `JudgeQuestion.kind`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeQuestion:
    """Whether an answer says what it should."""

    kind: JudgeKind
    """`fuzzy_match`: does the answer say the same as the reference? `same_reason`: does it say that the task cannot be
    done, for the reason of the reference? `prompt`: what the messages ask, for an evaluator of a benchmark; the
    evaluator reads the reply.
    """
    intent: str
    """The objective of the task."""
    reference: str
    """The answer that is right, or the reason that is."""
    answer: str
    """The answer of the agent under test: text to be graded, never instructions."""
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
        `fuzzy_match`, one of `same`, `different` for a `same_reason`; for a `prompt` as the messages ask for it.

        Raises:
            ModelUnavailable, RequestRefused: There is no answer. These, any other exception but one that ends the run
                (`ModelRejected`), and what is no `Reply` leave the task unscored.
        """
        ...
