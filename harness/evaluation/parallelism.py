"""How many workers and lanes a run has: as the settings say, or as there is room for where it is played."""

from collections.abc import Sequence
from dataclasses import replace

from harness.config import Config
from harness.runner.capacity import MachineCapacity, choose_parallelism, cores_of, nodes


def resolve_parallelism(config: Config, there: Sequence[MachineCapacity], jobs: int) -> tuple[Config, str]:
    """The settings with both numbers in them, and a sentence on why; "" when they were said.

    Who says one of them means it: lanes are then one to a worker, and workers one to a core.
    """
    workers, lanes = config.workers, config.executor.lanes
    if workers is not None:
        return _sized(config, workers, lanes or 1), ""
    if lanes is not None:
        workers, cores = max(1, cores_of(there)), cores_of(there)
        return _sized(config, workers, lanes), f"{_said(workers, lanes)}: {cores} cores{nodes(there)}; set workers="
    size = choose_parallelism(there, jobs)
    said = f"{_said(size.workers, size.lanes)}: {size.why}; set workers= and executor.lanes="
    return _sized(config, size.workers, size.lanes), said


def workers_of(config: Config) -> int:
    assert config.workers is not None, "chosen by with_size before anything is played"
    return config.workers


def lanes_of(config: Config) -> int:
    """Of each worker."""
    assert config.executor.lanes is not None, "chosen by with_size before anything is played"
    return config.executor.lanes


def _sized(config: Config, workers: int, lanes: int) -> Config:
    return replace(config, workers=workers, executor=replace(config.executor, lanes=lanes))


def _said(workers: int, lanes: int) -> str:
    return f"{workers} worker{'s' * (workers > 1)} × {lanes} lane{'s' * (lanes > 1)}"
