"""The number of workers and lanes of a run: from the settings, or from the capacity of the machines."""

from collections.abc import Sequence
from dataclasses import replace

from harness.runner.capacity import MachineCapacity, Parallelism, choose_parallelism, cores_of, nodes


def resolve_parallelism(
    workers: int | None, lanes: int | None, there: Sequence[MachineCapacity], jobs: int, *, grows: bool = False
) -> Parallelism:
    """Both numbers and the reason; "" if the settings give them. With `grows` a number that is chosen may grow later.

    Who says one of them means it: lanes are then one to a worker, and workers one to a core.
    """
    if workers is not None:
        # `workers` has always meant episodes at once, so each worker has one lane where lanes are not given.
        return Parallelism(workers, lanes or 1, "")
    if lanes is not None:
        workers, cores = max(1, cores_of(there)), cores_of(there)
        return Parallelism(workers, lanes, f"{_said(workers, lanes)}: {cores} cores{nodes(there)}; set workers=")
    size = choose_parallelism(there, jobs, grows=grows)
    why = f"{_said(size.workers, size.lanes, size.at_first)}: {size.why}; set workers= and executor.lanes="
    return replace(size, why=why)


def parallelism_for(
    episodes: int, workers: int | None, lanes: int | None, there: Sequence[MachineCapacity]
) -> Parallelism:
    """Lanes for so many episodes at the same time: on one worker for each core, unless the settings say otherwise."""
    if workers is None:
        # One at least: a cluster may be without nodes when the run begins, and others may still join.
        workers = max(1, min(episodes, cores_of(there)) if lanes is None else -(-episodes // lanes))
    return Parallelism(workers, -(-episodes // workers) if lanes is None else lanes, "")


def _said(workers: int, lanes: int, at_first: int = 0) -> str:
    number = f"{at_first} to {lanes}" if at_first else lanes
    return f"{workers} worker{'s' * (workers > 1)} × {number} lane{'s' * (lanes > 1)}"
