"""Logs a run with `Model.log`: completely at its end, and its state from time to time.

Everything is read from the journals, so nothing is lost if logging was off or failed: `harness export art RUN` logs the
same later. A run that has not ended is logged under a separate split, so that no checkpoint is judged by it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from harness.api.configuration import slug
from harness.api.running import Phase, Progress, ProgressEvent, build_sinks
from harness.api.settings import Dialect, LlmSettings, TrackingSettings
from harness.errors import JournalError, UsageError
from harness.plugins.tracking.episodes import RunTrajectories
from harness.plugins.tracking.lazy import pyarrow
from harness.plugins.tracking.model import Model
from harness.plugins.tracking.name_rules import path_part

logger = logging.getLogger(__name__)


class RunTracker:
    """Logs one run; see `harness.evaluation.trackers.RunTracker`."""

    def __init__(self, tracking: TrackingSettings, llm: LlmSettings, dialect: Dialect, folder: Path) -> None:
        """Raises: UsageError: A setting is wrong, or the extra is missing: better now than after hours of a run."""
        pyarrow()
        self._settings, self._step, self._dialect = tracking, llm.step, dialect
        self._folder = folder
        path_part(tracking.split, "tracking.split")
        self._model = Model(
            name=path_part(tracking.name or slug(llm.model), "tracking.name"),
            project=path_part(tracking.project, "tracking.project"),
            base_path=tracking.base_path,
            report_metrics=build_sinks(tracking.report_metrics),
        )

    @asynccontextmanager
    async def following(self, progress: Progress) -> AsyncIterator[Progress]:
        every = self._settings.every
        if not every:
            yield progress
            return
        counting = _Counting(progress, every)
        following = asyncio.create_task(self._log_when(counting.due))
        try:
            yield counting
        finally:
            following.cancel()
            await asyncio.wait([following])
            if not following.cancelled() and (error := following.exception()):
                raise error

    async def log(self, *, whole: bool) -> None:
        split = self._settings.split
        await self._model.log(
            RunTrajectories(self._folder, self._dialect.value),
            split if whole else f"{split}_partial",
            step=self._step,
            on_repeat="once" if whole else "replace",
        )

    async def close(self) -> None:
        await self._model.close()

    async def _log_when(self, due: asyncio.Event) -> None:
        while True:
            await due.wait()
            due.clear()
            try:
                await self.log(whole=False)
            except (UsageError, JournalError) as exc:
                logger.warning("the run continues, but its progress could not be logged: %s", exc)


class _Counting:
    """A `Progress` that says when enough tasks have ended."""

    def __init__(self, progress: Progress, every: int) -> None:
        self.due = asyncio.Event()
        self._progress = progress
        self._every = every
        self._ended = 0

    def tell(self, event: ProgressEvent) -> None:
        self._progress.tell(event)
        if event.phase == Phase.ended:
            self._ended += 1
            if self._ended % self._every == 0:
                self.due.set()
