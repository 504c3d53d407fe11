"""What one start plays with: settings, tasks and the open run folder, before anything heavy is loaded."""

from dataclasses import dataclass

from harness.config import Config
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runner.executors.desk import Store
from harness.runner.stopping import Stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Shared by everything a crew is made of, in whichever process it plays."""

    config: Config
    run: Store
    config_digest: str
    """Of the measuring settings, under which they lie among the artifacts."""
    stopping: Stopping


@dataclass(frozen=True, slots=True, kw_only=True)
class Game(Seat):
    """What the process knows besides that holds the run folder."""

    run: RunFolder
    tasks: tuple[Task, ...]
