"""What one start plays with: settings, tasks and the open run folder, before anything heavy is loaded."""

from collections.abc import Callable
from dataclasses import dataclass, field

from harness.config import Config
from harness.evaluation.reset_hooks import EmbeddedResetHooks
from harness.journal.store import RunFolder
from harness.llm.limiter import Limiter
from harness.llm.permits import RateLimiter, Unlimited
from harness.records import Task
from harness.runner.executors.remote_store import Store
from harness.runner.shutdown import ShutdownSignal


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerContext:
    """Shared by everything a crew is made of, in whichever process it plays."""

    config: Config
    run: Store
    config_digest: str
    """Of the measuring settings, under which they lie among the artifacts."""
    stopping: ShutdownSignal
    turns: RateLimiter = field(default_factory=Unlimited)
    """Who may ask the model next, over all lanes of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext(WorkerContext):
    """What the process knows besides that holds the run folder."""

    run: RunFolder
    tasks: tuple[Task, ...]
    arguments: tuple[str, ...] = ()
    """What was given on the command line, for whoever has to give it again."""
    say: Callable[[str], None] = lambda text: None
    """A sentence for the person."""
    turns: Limiter = field(default_factory=Limiter)
    embedded: EmbeddedResetHooks = field(default_factory=EmbeddedResetHooks)
