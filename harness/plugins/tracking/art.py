"""ART's names for what is here: in a script, `import art` becomes `import harness.plugins.tracking.art as art`.

`Model.log` is then durable and any number of processes may share a model. Back ends are in
`harness.plugins.tracking.backends`, where `ArtBackend` takes one of ART's own.
"""

from harness.plugins.tracking.gather import gather_trajectories, gather_trajectory_groups
from harness.plugins.tracking.model import Model
from harness.plugins.tracking.trainable import Backend, TrainableModel, TrainConfig, TrainResult
from harness.plugins.tracking.trajectory import Trajectory, TrajectoryGroup

__all__ = [
    "Backend",
    "Model",
    "TrainConfig",
    "TrainResult",
    "TrainableModel",
    "Trajectory",
    "TrajectoryGroup",
    "gather_trajectories",
    "gather_trajectory_groups",
]
