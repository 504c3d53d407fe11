"""What logs a run beside its journals (`tracking.kind`); found by name."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

from harness.choices import Dialect
from harness.protocols import Progress
from harness.registry import Registry
from harness.settings.models import LlmSettings
from harness.settings.tracking import TrackingSettings

TRACKERS = Registry(group="cairn.trackers", noun="tracking.kind")
"""Name to what is called with `TrackingSettings`, `LlmSettings`, scoring and run folder, and gives a `RunTracker`."""


class RunTracker(Protocol):
    """Logs one run."""

    def following(self, progress: Progress) -> AbstractAsyncContextManager[Progress]:
        """A `Progress` to use instead of `progress`, which also logs the run from time to time."""
        ...

    async def log(self, *, whole: bool) -> None:
        """Log the run as it is in its journals; the same whole run is logged once."""
        ...

    async def close(self) -> None: ...


class NoTracker:
    """Logs nothing."""

    @asynccontextmanager
    async def following(self, progress: Progress) -> AsyncIterator[Progress]:
        yield progress

    async def log(self, *, whole: bool) -> None:
        pass

    async def close(self) -> None:
        pass


def open_tracker(tracking: TrackingSettings, llm: LlmSettings, scoring: Dialect, folder: Path) -> RunTracker:
    """What the settings name.

    Raises: UsageError: A setting is wrong, or a package is missing: better now than after hours of a run.
    """
    if tracking.kind == "none":
        return NoTracker()
    tracker: RunTracker = TRACKERS.find(tracking.kind)(tracking, llm, scoring, folder)
    return tracker
