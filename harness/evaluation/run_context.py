"""The settings, tasks and open run folder of one invocation, before heavy libraries are loaded."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from harness.api.hosting import AskHost
from harness.config import Config
from harness.errors import PluginFailed
from harness.evaluation.reset_hooks import EmbeddedResetHooks
from harness.evaluation.run_secrets import RunSecrets
from harness.journal.store import RunFolder
from harness.llm.limiter import Limiters
from harness.llm.permits import RateLimiter, Unlimited
from harness.llm.prices import Price
from harness.records import Task
from harness.runner.executors.remote_store import Store
from harness.runner.shutdown import ShutdownSignal

if TYPE_CHECKING:
    from harness.runner.executors.supervisor import Launch


async def not_hosted(question: bytes) -> bytes:
    """The `AskHost` of a run that no command hosts."""
    raise PluginFailed("the agent asks who hosts the run, and nobody does; start the run by the agent's own command")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerContext:
    """What the workers of one process share."""

    config: Config
    """For the builder of workers, and to be handed to those in other processes."""
    run: Store
    config_digest: str
    """Digest of the measured settings, which is their name among the artifacts."""
    prices: Mapping[str, Price]
    """Of the model under test; read once for all workers."""
    stopping: ShutdownSignal
    rate_limiter: RateLimiter = field(default_factory=Unlimited)
    """Who may ask the model next, over all lanes of the run."""
    ask_host: AskHost = not_hosted


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext(WorkerContext):
    """Context of the process that owns the run folder."""

    run: RunFolder
    secrets: RunSecrets
    tasks: tuple[Task, ...]
    arguments: tuple[str, ...] = ()
    """The overrides of the command line, to be repeated in other processes."""
    launch: "Launch | None" = None
    """Starts worker processes, the first of which has begun; None = none has."""
    say: Callable[[str], None] = lambda text: None
    """A sentence for the person."""
    rate_limiter: Limiters = field(default_factory=Limiters)
    embedded: EmbeddedResetHooks = field(default_factory=EmbeddedResetHooks)
    episodes: int | None = None
    """How many are to be played at the same time, where they are asked for while the run goes on."""
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when workers are being started: whatever blocks before, such as a cluster that comes up, is over."""

    @classmethod
    @contextmanager
    def for_checks(cls, config: Config) -> Iterator[Self]:
        """A context that plays no tasks; its run folder is deleted at the end."""
        with TemporaryDirectory(prefix="cairn-doctor-") as place, RunFolder.open(Path(place) / "run") as run:
            yield cls(
                config=config,
                secrets=RunSecrets(config=config),
                run=run,
                tasks=(),
                config_digest="",
                prices={},
                stopping=ShutdownSignal(),
            )
