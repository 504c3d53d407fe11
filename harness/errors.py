"""The error tree: each leaf says who must act.

    HarnessError
    ├─ UsageError            the person must act: stop the run, exit 2, one sentence, no traceback
    │  ├─ ConfigError        a setting is wrong or missing
    │  ├─ TaskError          a task or plan file is wrong
    │  ├─ ResumeMismatch     the run folder was made from other tasks or measuring settings
    │  ├─ ModelRejected      the endpoint rejects all requests (401, 403, 404 …): no retry can help
    │  ├─ JournalLocked      another process holds the run folder
    │  ├─ StorageError       the disk refuses (full, read-only, no permission): free it, run again
    │  └─ TrackingError      what was given to be logged, exported or trained on is wrong, or its library is missing
    ├─ AgentError            the model's doing, so part of the measurement
    │  ├─ ActionSyntaxError  the reply holds no action of the action set
    │  └─ ActionFailed       the action cannot be done on this page
    ├─ InfraError            an infrastructure failure: recorded, the episode stays pending
    │  ├─ ModelUnavailable   no answer after all retries
    │  ├─ RequestRefused     the endpoint refuses this prompt (400, 413, 422), or its answer is beyond all bounds
    │  ├─ BrowserCrashed     the browser or its page is gone or hangs
    │  │  └─ BrowserLost     with other episodes in that browser, so the cause is unknown
    │  ├─ SiteUnavailable    a site does not answer, or a login does not take
    │  ├─ EnvironmentDiverged  replaying the journal did not lead back to the recorded page
    │  ├─ AgentDiverged      after a resume the agent's process did something else, and the settings ask for no score
    │  ├─ EpisodeLeft        the agent gives the episode back unfinished; nothing failed, and nothing is recorded
    │  ├─ PluginFailed       a class or process of the person's own broke its protocol: that costs its task only
    │  ├─ ActionInDoubt      an interrupted action may have changed a site, and the settings ask for no score then
    │  └─ ShutdownRequested  the run is stopping: this says nothing about the task and is never recorded
    ├─ EvaluatorError        the evidence cannot be judged: unscored, never a 0
    └─ JournalError          our doing: stop, touch nothing, exit 3
       ├─ JournalCorrupt     a terminated line is not a legal next record
       ├─ NoArtifact         there is no artifact of this name
       └─ UnsafeFile         a run folder contains a link, a FIFO or a device, or a file that is too large

Only InfraError is ever retried. Foreign exceptions become one of these in one mapper per library.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """What a command came to, for the shell; a table in docs/pages/index.md says the same to people."""

    DONE = 0
    """It did its work, and what was asked holds."""
    BELOW = 1
    """It did its work, and what it was asked to hold up does not: `fail_under`, a regression, a check, a replay."""
    USAGE = 2
    """The person must act (`UsageError`); argparse ends with it too."""
    UNSCORED = 3
    """Some tasks have no score, or a journal is damaged (`JournalError`): what there is says less than was asked."""
    # With 1, as Python would end, it would look like a missed `fail_under`; 70 leaves room for further codes.
    UNFORESEEN = 70
    """A fault of this program's own (EX_SOFTWARE of sysexits): a file it names holds the traceback."""
    INTERRUPTED = 130
    """Asked to stop (SIGINT, as shells say it); the same command goes on."""


class HarnessError(Exception):
    """Root of everything this package raises on purpose."""


class UsageError(HarnessError):
    """The person must act; the message is one sentence naming the place and the fix."""


class ConfigError(UsageError):
    """A setting is wrong or missing."""


class TaskError(UsageError):
    """A task or plan file is wrong; the message names file, task and field."""


class ResumeMismatch(UsageError):
    """The run folder was made from other tasks or other measuring settings."""


class ModelRejected(UsageError):
    """The endpoint refuses whatever it is asked (401, 403, 404 …), so that the run must stop."""

    requests = 1
    """How many were sent until it was refused, retries included."""
    waited_s = 0.0
    """For the right to send them."""


class StorageError(UsageError):
    """The disk refuses; nothing is lost and the same command goes on once it is mended."""


class TrackingError(UsageError, ValueError):
    """What was given to be logged, exported or trained on cannot be; nothing of it was written."""


class AgentError(HarnessError):
    """The model's doing; shown to it as the outcome of its step."""


class ActionSyntaxError(AgentError):
    """The reply holds no action of the action set."""


class ActionFailed(AgentError):
    """The action cannot be done on this page."""


class InfraError(HarnessError):
    """An infrastructure failure; recorded as `Failed`, and the episode stays pending."""

    unsent = False
    """Whether the action that it ended was surely not sent to any site; see `Failed.unsent`."""


class ModelUnavailable(InfraError):
    """No answer from the endpoint after all retries."""

    def __init__(self, why: str, *, requests: int = 0) -> None:
        super().__init__(why)
        self.requests = requests
        """How many were sent."""


class RequestRefused(InfraError):
    """One question that no retry gets answered; another task's may be."""

    requests = 1
    """See `ModelRejected.requests`."""
    waited_s = 0.0
    """See `ModelRejected.waited_s`."""


class EpisodeLeft(InfraError):
    """Raised by an agent that will not decide any more, since whoever decides through it is gone.

    Nothing failed and nothing is recorded: the episode stays pending, and a later start goes on at its last step.
    """


class BrowserCrashed(InfraError):
    """The browser, or the page under test, is gone or does not answer."""

    def __init__(self, why: str, *, whole: bool = False) -> None:
        super().__init__(why)
        self.whole = whole
        """Whether every page of the browser is concerned, not only the episode's own."""


class BrowserLost(BrowserCrashed):
    """A browser broke that several episodes were in; each is tried again in one of its own."""


class SiteUnavailable(InfraError):
    """A site does not answer, or a login does not take."""


class EnvironmentDiverged(InfraError):
    """Replaying the journal did not lead back to the recorded page."""


class AgentDiverged(InfraError):
    """A resumed agent's process did something else than is recorded, and `resume.on_divergence=fail` is set."""


class PluginFailed(InfraError):
    """A plugged-in class gave back what its protocol does not allow, or the agent's process broke down."""

    requests = 0
    """Of a model whose answer its provider could not read: how many were sent, retries included."""


class ActionInDoubt(InfraError):
    """An interrupted action may have changed a site that cannot be reset, and `resume.in_doubt=unscored` is set."""


class ShutdownRequested(InfraError):
    """The run is stopping; this says nothing about the task and is never recorded."""


class EvaluatorError(HarnessError):
    """The evidence cannot be judged; the score is an error, never a 0."""


class JournalError(HarnessError):
    """Our own files are in the way; stop and touch nothing."""


class JournalCorrupt(JournalError):
    """A terminated line is damaged or is not a legal next record."""

    def __init__(self, path: Path, line: int, why: str) -> None:
        super().__init__(
            f"{path}:{line}: {why}; the file was not changed; restore it, or move it away to start this task over"
        )
        self.path = path
        self.line = line
        self.why = why


class NoArtifact(JournalError):
    """There is no artifact of this name: it was never kept, or its file is gone."""


class UnsafeFile(JournalError):
    """An entry of a run folder is not a plain file or folder: it is not opened, followed, written or deleted."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} {why}; it was not changed; move it away, then run again")
        self.path = path
        self.why = why


# No `JournalError`: nothing is damaged, and the person has to act.
class JournalLocked(UsageError):
    """Another process holds the run folder."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is in use by {holder}; wait for it to end or stop it, then run again")


def said_by(error: BaseException) -> str:
    """Its message; "" = its class, which may be a person's own, cannot say it."""
    try:
        return str(error)
    except Exception:  # raised by its `__str__`; what happened to the run is `error`
        return ""


def error_line(error: BaseException) -> str:
    """Type and message, in one line."""
    return f"{type(error).__name__}: {' '.join(said_by(error).split())[:300]}"


@contextmanager
def plugin_boundary(
    failed: Callable[[BaseException], HarnessError], *, passes: tuple[type[BaseException], ...]
) -> Iterator[None]:
    """Code of a person's own is run within: whatever it raises costs what it was asked for, and nothing else.

    `sys.exit` counts as an error, too: a run would end with its exit code, 0, and CI would take that for a pass. So do
    classes derived from `BaseException`, as extensions in Rust raise them, and a cancellation that nobody requested.

    Args:
        failed: The error of ours that stands for one of its own.
        passes: Errors that have a meaning already.
    """
    try:
        yield
    except passes:
        raise
    except SystemExit as error:
        code = "" if error.code is None else f"{error.code!r:.80}"
        raise failed(RuntimeError(f"it called sys.exit({code})")) from error
    except BaseException as error:
        if _is_wanted(error):
            raise
        raise failed(error) from error


def _is_wanted(error: BaseException) -> bool:
    """Whether it ends what is going on because somebody wants it to end."""
    if isinstance(error, KeyboardInterrupt | GeneratorExit):
        return True
    import asyncio  # here only: some commands never need it

    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:  # there is no event loop
        return False
    return task is not None and task.cancelling() > 0
