"""Where a run is logged besides its folder."""

from dataclasses import dataclass
from typing import Any

from harness.settings.fields import setting


@dataclass(frozen=True)
class TrackingSettings:
    """Where trajectories and metrics of the run are logged besides the run folder."""

    kind: str = setting("none", choices=("none", "art"), plugins="cairn.trackers")
    """`none`, or `art`: `{base_path}/{project}/models/{name}/`, as OpenPipe ART lays it out."""
    base_path: str = setting(".art", named=False)
    """Folder of all projects."""
    project: str = setting("cairn", named=False)
    """Name of the project, a folder in `tracking.base_path`."""
    name: str | None = setting(None, named=False)
    """Name of the model; null = the path-safe form of `llm.model`."""
    split: str = setting("val", named=False)
    """What the run is logged as: `train`, `val` or `test`."""
    every: int = setting(0, named=False)
    """Log what there is each time this many more tasks have ended, as split `{split}_partial`; 0 = only at the end."""
    report_metrics: list[Any] | None = setting(None, named=False)
    """Further sinks: `wandb`, `trackio`, `{_target_: package.Class}`; null = W&B when its key is set, [] = none."""
