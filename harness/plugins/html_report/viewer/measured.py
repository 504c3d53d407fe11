"""What plug-ins measure of runs, for the viewer: measuring reads journals, so it is not done at each request."""

import time
from contextlib import suppress
from dataclasses import dataclass, field

from harness.errors import HarnessError
from harness.plugins.html_report.viewer.run_watcher import RunWatcher
from harness.runs.measures import Measured
from harness.runs.run import Run

_RESTS = 20
"""While a run goes on, its figures are made again when this many times as long has passed as it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    version: int
    """Of the run."""
    at: float
    took_s: float
    measured: tuple[Measured, ...]


@dataclass
class MeasuredRuns:
    """The figures of runs, by folder."""

    _found: dict[str, _Found] = field(default_factory=dict)

    def of(self, catalogue: RunWatcher) -> tuple[Measured, ...]:
        """Those of a run, or what they were a while ago; () as long as not all of its journals have been looked at."""
        key, began = str(catalogue.folder), time.monotonic()
        known = self._found.get(key)
        if known is not None and (known.version == catalogue.version or began - known.at < _RESTS * known.took_s):
            return known.measured
        if catalogue.unread:
            return () if known is None else known.measured
        version, measured = catalogue.version, tuple[Measured, ...]()
        with suppress(HarnessError):  # what is in the way of a file of the run is said elsewhere on its page
            measured = Run(catalogue.folder).measured
        ended = time.monotonic()
        self._found[key] = _Found(version=version, at=ended, took_s=ended - began, measured=measured)
        return measured
