"""Where logged metrics go besides the disk: W&B, Trackio, or any class of the user's.

A sink is asked for by `report_metrics`: `None` = W&B exactly when its key is in the environment, `[]` = none, else a
list of `wandb`, `trackio`, a mapping with `_target_` (dotted path of a class, the rest are its arguments), or an object
that implements `Sink`. The disk is the truth: a sink that cannot be reached costs one warning, never a log call.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from threading import Lock
from typing import Any

from harness.api import Identity, Sink
from harness.errors import HarnessError, TrackingError, error_line, plugin_boundary
from harness.plugins.tracking.wandb_sink import KEY, WandbSink

logger = logging.getLogger(__name__)


class TrackioSink:
    """A Trackio run, one per model."""

    def start(self, identity: Identity) -> None:
        try:
            trackio = import_module("trackio")
        except ImportError as exc:
            raise TrackingError("it needs the package trackio, which is not installed: pip install trackio") from exc
        self._run = trackio.init(
            project=identity.project, name=identity.name, config=dict(identity.config), resume="allow"
        )

    def log(self, row: Mapping[str, float], split: str) -> None:
        self._run.log(metrics=dict(row))

    def close(self) -> None:
        self._run.finish()


NAMED: Mapping[str, type[Any]] = {"wandb": WandbSink, "trackio": TrackioSink}


class Reporting:
    """The sinks of one model: started when first needed, sent row by row, dropped after a failure."""

    def __init__(self, identity: Identity, report_metrics: Sequence[Any] | None) -> None:
        self._identity = identity
        self._asked = None if report_metrics is None else [_sink(one) for one in _checked(report_metrics)]
        self._lock = Lock()
        self._started: list[Any] = []
        self._given_up: list[Any] = []
        self._from_environment = WandbSink()

    def sinks(self) -> list[Any]:
        """Those asked for; without a word about it, what the environment says now."""
        if self._asked is not None:
            return self._asked
        return [self._from_environment] if KEY in os.environ else []

    def log(self, row: Mapping[str, float], split: str) -> None:
        with self._lock:
            for sink in self.sinks():
                if self._ready(sink):
                    self._attempt(sink, lambda sink=sink: sink.log(row, split))

    def wandb_run(self) -> Any:
        """The W&B run, begun now if it has to be; None when W&B is off or cannot be."""
        with self._lock:
            for sink in self.sinks():
                if isinstance(sink, WandbSink) and self._ready(sink):
                    return sink.run()
        return None

    def close(self) -> None:
        with self._lock:
            for sink in self._started:
                if sink not in self._given_up:
                    self._attempt(sink, sink.close)
            self._started, self._given_up = [], []

    def _ready(self, sink: Any) -> bool:
        if sink in self._given_up:
            return False
        if sink not in self._started:
            self._started.append(sink)
            self._attempt(sink, lambda: sink.start(self._identity))
        return sink not in self._given_up

    def _attempt(self, sink: Any, action: Any) -> None:
        try:
            with plugin_boundary(lambda error: TrackingError(error_line(error)), passes=(HarnessError,)):
                action()
        except HarnessError as exc:
            self._given_up.append(sink)
            logger.warning(
                "%s gets no metrics of %s/%s: %s; they are still written to history.jsonl",
                getattr(sink, "label", type(sink).__name__),
                self._identity.project,
                self._identity.name,
                exc,
            )


def _checked(report_metrics: Sequence[Any]) -> Sequence[Any]:
    if isinstance(report_metrics, str | Mapping) or not isinstance(report_metrics, Sequence):
        raise TrackingError(
            f"report_metrics={report_metrics!r} is not a list; give one, as in ['wandb'], or [] for none"
        )
    return report_metrics


def _sink(asked: Any) -> Any:
    if isinstance(asked, Mapping) and "_target_" in asked:
        return _made(str(asked["_target_"]), {key: value for key, value in asked.items() if key != "_target_"})
    if isinstance(asked, str) and asked in NAMED:
        return NAMED[asked]()
    if not isinstance(asked, str) and isinstance(asked, Sink):
        return asked
    known = ", ".join(repr(name) for name in NAMED)
    raise TrackingError(f"report_metrics: {asked!r} is not a sink; choose {known}, or {{'_target_': 'package.Class'}}")


def _made(target: str, arguments: Mapping[str, Any]) -> Any:
    module, _, name = target.rpartition(".")

    def failed(error: BaseException) -> TrackingError:
        return TrackingError(f"report_metrics: {target} cannot be created: {error_line(error)}")

    with plugin_boundary(failed, passes=(HarnessError,)):
        made = getattr(import_module(module), name)(**arguments)
    if not isinstance(made, Sink):
        raise TrackingError(f"report_metrics: {target} is not a sink: it needs start, log and close")
    return made
