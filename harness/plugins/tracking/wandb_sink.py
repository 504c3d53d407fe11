"""Metrics to Weights & Biases: one run per model, taken up again by the next process.

The axis is `training_step`, never W&B's own step, so that results of earlier steps that come late are kept. The run's
id is the model's name, as in ART. W&B's errors become RuntimeError here; the package is loaded when the run begins.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from netrc import NetrcParseError, netrc
from typing import Any, Protocol

from harness.errors import TrackingError
from harness.plugins.tracking.lazy import EXTRA

KEY = "WANDB_API_KEY"
SECTIONS = ("reward", "loss", "offpolicy", "throughput", "costs", "time", "data", "train", "val", "test")
_OFFLINE = {"offline", "dryrun", "disabled"}
_HOST = "api.wandb.ai"


class Named(Protocol):
    @property
    def project(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def entity(self) -> str | None: ...


class WandbSink:
    """A `Sink`."""

    label = "W&B"

    def __init__(self) -> None:
        self._run: Any = None
        self._identity: Named | None = None
        self._defined: set[str] = set()

    def start(self, identity: Named) -> None:
        """Begin the run.

        Raises:
            TrackingError: The package or the key is missing.
        """
        self._identity = identity
        self.run()

    def run(self) -> Any:
        """The run; begun again when it was finished meanwhile."""
        assert self._identity is not None, "call start first"
        if self._run is None or self._run._is_finished:
            self._run = _begin(self._identity)
            self._defined = set()
            self._run.define_metric("training_step")
            self._run.define_metric("time/wall_clock_sec")
            for section in SECTIONS:
                self._define(section)
        return self._run

    def log(self, row: Mapping[str, float], split: str) -> None:
        run = self.run()
        self._define(split)
        with _mapped():
            run.log(dict(row))

    def close(self) -> None:
        if self._run is not None and not self._run._is_finished:
            with _mapped():
                self._run.finish()

    def _define(self, section: str) -> None:
        if section not in self._defined:
            self._defined.add(section)
            self._run.define_metric(f"{section}/*", step_metric="training_step")


def _begin(identity: Named) -> Any:
    try:
        wandb = import_module("wandb")
    except ImportError as exc:
        raise TrackingError(f"it needs the package wandb, which is not installed: {EXTRA}") from exc
    if not _is_possible():  # asked for all the same, wandb would ask at the terminal and wait
        raise TrackingError(f"the API key is missing: set {KEY}, or WANDB_MODE=offline to collect for later")
    with _mapped():
        return wandb.init(
            project=identity.project,
            entity=identity.entity,
            name=identity.name,
            id=re.sub(r"[/\\#?%:]", "-", identity.name),
            config=dict(identity.config) or None,
            resume=None if _mode() in _OFFLINE else "allow",
            reinit="create_new",
            # Neither the command nor the terminal of a run is a metric, and either may contain secrets
            # there.
            settings=wandb.Settings(console="off", x_disable_meta=True, disable_git=True, save_code=False),
        )


def _is_possible() -> bool:
    return KEY in os.environ or _mode() in _OFFLINE or _is_logged_in()


def _mode() -> str:
    return os.environ.get("WANDB_MODE", "")


def _is_logged_in() -> bool:
    """Whether `wandb login` left a key in the home folder."""
    try:
        return netrc(os.environ.get("NETRC")).authenticators(_HOST) is not None
    except (OSError, NetrcParseError):
        return False


@contextmanager
def _mapped() -> Iterator[None]:
    """The mapper of this library."""
    wandb = import_module("wandb")
    try:
        yield
    except wandb.Error as exc:
        raise RuntimeError(" ".join(str(exc).split())) from exc
