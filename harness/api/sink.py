"""What gets the metrics of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose metrics these are."""

    project: str
    """`tracking.project`."""
    name: str
    """Name of the model."""
    config: Mapping[str, Any]
    """Free settings, for sinks that keep such."""
    entity: str | None = None
    """Account or team, for sinks that have such a thing; None = the user's own."""


@runtime_checkable
class Sink(Protocol):
    """Gets the metrics that are logged, one row after the other; called from worker threads, one call at a time.

        class Lines:
            def __init__(self, path: str) -> None:
                self._path = path

            def start(self, identity: Identity) -> None:
                self._file = open(self._path, "a", encoding="utf-8")

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

    def close(self) -> None:
        """Called once, after the last row."""
        ...
