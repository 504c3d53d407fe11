"""What a class of your own has to look like to be plugged in: agent, evaluator, judge, executor, sink.

A class is named in the settings and nothing in this package changes: `agent._target_: my_package.MyAgent`, with its
arguments under `agent.arguments`; likewise `evaluators.NAME`, `judge`, `executor`, and `tracking.report_metrics` for
sinks. It inherits from nothing; it only has the methods of a protocol below. docs/pages/extending.md walks through
each, `harness new agent NAME` writes a package to begin with, and `harness.testing` has test doubles.

Records and actions are re-exported here, so that a plug-in imports `harness.api`, and `harness.testing` in its tests.
"""

from asyncio import StreamReader
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from harness.actions import (
    Action,
    ActionSet,
    BrowserControls,
    CairnActionSet,
    Click,
    Goto,
    InvalidAction,
    Press,
    Scroll,
    Stop,
    Target,
    Type,
    extract,
    resolve,
)
from harness.errors import ActionSyntaxError, EvaluatorError, ModelUnavailable, RequestRefused
from harness.records import (
    Closed,
    CloseReason,
    ComputerTool,
    Episode,
    Evidence,
    LiveObservation,
    Message,
    Node,
    Observation,
    Refused,
    Reply,
    Step,
    Task,
    Tool,
    ToolCall,
    Unknown,
    Usage,
)

__all__ = [
    "MAX_MEMORY_BYTES",
    "Action",
    "ActionSet",
    "ActionSyntaxError",
    "Agent",
    "Artifacts",
    "BrowserControls",
    "CairnActionSet",
    "ChatModel",
    "Click",
    "CloseReason",
    "Closed",
    "ComputerTool",
    "Decision",
    "Episode",
    "Evaluator",
    "EvaluatorError",
    "Evidence",
    "Executor",
    "Finding",
    "Goto",
    "Identity",
    "InvalidAction",
    "Judge",
    "JudgeKind",
    "JudgeQuestion",
    "LiveObservation",
    "Message",
    "ModelUnavailable",
    "Node",
    "Observation",
    "Press",
    "Refused",
    "Reply",
    "RequestRefused",
    "Scroll",
    "Sink",
    "Step",
    "Stop",
    "Target",
    "Task",
    "Tool",
    "ToolCall",
    "Type",
    "Unknown",
    "Usage",
    "WorkerHandle",
    "extract",
    "resolve",
]


class ChatModel(Protocol):
    """A chat model; the one an agent is given is rate limited, retried, counted and priced."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """Answer one chat request; `tools` may be called by the answer.

        Raises:
            ModelRejected: The endpoint rejects all requests; the run must stop.
            RequestRefused: It refuses this request as such.
            ModelUnavailable: No answer after all retries.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What an agent wants to do next, and how it came to it."""

    action: Action
    """`InvalidAction` for a reply that holds none."""
    messages: tuple[Message, ...] = ()
    """What the model was sent; () when no model was asked."""
    reply: Reply = field(default_factory=Reply)
    memory: Any = None
    """JSON value that the next decision finds in `Episode.memory`: in the same process, or in another after a resume.
    At most `MAX_MEMORY_BYTES`; None = nothing.
    """


MAX_MEMORY_BYTES = 1 << 20
"""Of an agent's memory as JSON: the journal stores it with every decision."""


@runtime_checkable
class Agent(Protocol):
    """Chooses the actions. One instance per lane runs many episodes, one after the other.

        class Patient:
            def __init__(self, model: ChatModel, most_waits: int = 3) -> None:
                self._model, self._most_waits = model, most_waits

            async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
                waits = episode.memory or 0
                if waits < self._most_waits:
                    return Decision(action=Wait(), memory=waits + 1)
                return Decision(action=Stop(answer=""))

    The constructor is given the model as `model`, and `agent.arguments` by name.
    """

    async def decide(self, task: Task, episode: Episode, observation: LiveObservation, /) -> Decision:
        """Choose the next action from the arguments alone.

        What has to survive until the next decision belongs into `Decision.memory`: an attribute of the agent is lost
        when its process ends, and is shared by all episodes of its lane. An exception fails this attempt of the task
        only.
        """
        ...


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


class WorkerHandle(Protocol):
    """One life of one worker process."""

    @property
    def begun(self) -> bool:
        """Whether it has been given a place to run; on a busy cluster it has to wait for one."""
        ...

    def send(self, data: bytes) -> None:
        """Write to its standard input, in order; lost when the process is gone."""
        ...

    @property
    def output(self) -> StreamReader:
        """Its standard output, which ends when it has ended."""
        ...

    async def kill(self) -> None:
        """End it with everything it started."""
        ...


@runtime_checkable
class Executor(Protocol):
    """Starts worker processes; what they are given to do, and when one is replaced, is the supervisor's.

        class OverSsh:
            def __init__(self, hosts: list[str]) -> None:
                self._hosts = hosts

            def start(self, command, number, log):
                host = self._hosts[number % len(self._hosts)]
                return local_worker(["ssh", host, shlex.join(["python", *command[1:]])], log)

    (`local_worker` is in `harness.runner.executors.processes`.) The constructor is given `executor.arguments` by name.
    """

    def start(self, command: Sequence[str], number: int, log: Path, /) -> AbstractAsyncContextManager[WorkerHandle]:
        """Start `command` as the worker of this number; leaving the context has ended the process.

        Its standard input and output are the worker's only connection; standard error belongs into `log`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose metrics these are."""

    project: str
    name: str
    config: Mapping[str, Any]


@runtime_checkable
class Sink(Protocol):
    """Gets the metrics that are logged, one row after the other; called from worker threads, one call at a time.

        class Lines:
            def __init__(self, path: str) -> None:
                self._path = path

            def start(self, identity: Identity) -> None:
                self._file = open(self._path, "a")

            def log(self, row: Mapping[str, float], split: str) -> None:
                self._file.write(f"{split} {dict(row)}\n")

            def close(self) -> None:
                self._file.close()

    Named as an entry of `tracking.report_metrics`: `{_target_: my_package.Lines, path: rows.txt}`. One that fails is
    given up with a warning; the rows are on disk all the same.
    """

    def start(self, identity: Identity) -> None:
        """Called once, before the first row."""
        ...

    def log(self, row: Mapping[str, float], split: str) -> None:
        """Take a row of metrics; `training_step` is its axis, and steps may come out of order."""
        ...

    def close(self) -> None: ...
