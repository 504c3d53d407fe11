"""The settings, tasks and open run folder of one invocation, before heavy libraries are loaded."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from harness.choices import Strategy
from harness.config import Config, ExecutorConfig
from harness.config.site_settings import SitesSettings
from harness.evaluation.builder import pending_policy
from harness.evaluation.reset_hooks import EmbeddedResetHooks
from harness.evaluation.run_secrets import RunSecrets
from harness.journal.store import RunFolder
from harness.llm.limiters import Limiters
from harness.llm.permits import RateLimiter, Unlimited
from harness.records import Task
from harness.runner.executors.remote_store import Store
from harness.runner.pending import PendingPolicy
from harness.runner.shutdown import ShutdownSignal
from harness.settings.browser import BrowserSettings
from harness.settings.models import LlmSettings
from harness.settings.resume import ResumeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerContext:
    """What the workers of one process share."""

    config: Config
    """For the builder of workers, and to be handed to those in other processes."""
    run: Store
    config_digest: str
    """Digest of the measured settings, which is their name among the artifacts."""
    stopping: ShutdownSignal
    rate_limiter: RateLimiter = field(default_factory=Unlimited)
    """Who may ask the model next, over all lanes of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a run that are not about one worker."""

    sites: SitesSettings
    llm: LlmSettings
    executor: ExecutorConfig
    workers: int | None
    """None = as many as there is room for."""
    trials: int
    shard: str | None
    """`task.shard`."""
    policy: PendingPolicy
    browser: BrowserSettings
    resume: ResumeSettings

    @classmethod
    def of(cls, config: Config) -> Self:
        return cls(
            sites=config.sites,
            llm=config.llm,
            executor=config.executor,
            workers=config.workers,
            trials=config.trials,
            shard=config.task.shard,
            policy=pending_policy(config),
            browser=config.browser,
            resume=config.resume,
        )

    @property
    def keeps_sites(self) -> bool:
        """Episodes go on from checkpoints, with what they left on their sites."""
        return self.resume.strategy is Strategy.checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext(WorkerContext):
    """Context of the process that owns the run folder."""

    run: RunFolder
    secrets: RunSecrets
    settings: RunSettings
    tasks: tuple[Task, ...]
    arguments: tuple[str, ...] = ()
    """The overrides of the command line, to be repeated in other processes."""
    say: Callable[[str], None] = lambda text: None
    """A sentence for the person."""
    rate_limiter: Limiters = field(default_factory=Limiters)
    embedded: EmbeddedResetHooks = field(default_factory=EmbeddedResetHooks)

    @classmethod
    @contextmanager
    def for_checks(cls, config: Config) -> Iterator[Self]:
        """A context that plays no tasks; its run folder is deleted at the end."""
        with TemporaryDirectory(prefix="cairn-doctor-") as place, RunFolder.open(Path(place) / "run") as run:
            yield cls(
                config=config,
                secrets=RunSecrets(config=config),
                settings=RunSettings.of(config),
                run=run,
                tasks=(),
                config_digest="",
                stopping=ShutdownSignal(),
            )
