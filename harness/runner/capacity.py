"""The number of workers and lanes that the cores and the memory of one or several machines allow, and the reason.

A browser uses about one core, so there is one worker per core. Lanes mostly wait for the model, so a worker has
several. The measured memory of a browser and of a lane is the other limit.
Why: docs/decisions/running.md#one-worker-per-core-and-four-lanes-per-worker
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

LANES_PER_WORKER = 4
"""More of them on one core slow each other down as soon as their pages have something to do at the same time."""
# Measured on the demo tasks: 460 MB with one lane, 28 MB for each further one; pages of real sites need more.
WORKER_MB, LANE_MB = 450, 120
"""A worker with its browser, before the first page; and each of its lanes: rounded up from what was measured."""
SPARE = 0.75
"""The part of the memory that is taken; the rest is for the sites, the endpoint, and whatever else runs here."""
_CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class MachineCapacity:
    """The capacity of one machine that a run may use."""

    cores: int
    """Workers at once, as far as the processor goes."""
    memory_mb: int
    """Free memory, or what is left of the limit of this process, if that is less."""

    @property
    def workers(self) -> int:
        """The number of workers with at least one lane each."""
        return min(self.cores, self._memory // (WORKER_MB + LANE_MB))

    def lanes(self, workers: int) -> int:
        """The lanes of each of so many workers."""
        return max(1, min(LANES_PER_WORKER, (self._memory // workers - WORKER_MB) // LANE_MB))

    @property
    def _memory(self) -> int:
        return int(self.memory_mb * SPARE)


@dataclass(frozen=True, slots=True)
class Parallelism:
    """The numbers of workers and lanes of a run."""

    workers: int
    lanes: int
    """Lanes of each worker."""
    why: str


def machine_capacity(cgroup: Path = _CGROUP) -> MachineCapacity:
    """Measure this machine, or the part of it that a container may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # A container sees all cores of its host, and is slowed down to its quota.
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        cores = min(cores, max(1, int(quota) // int(period)))
    free = psutil.virtual_memory().available
    limit, used = _read(cgroup / "memory.max"), _read(cgroup / "memory.current")
    if limit.isdigit() and used.isdigit():
        free = min(free, max(0, int(limit) - int(used)))
    return MachineCapacity(cores, free >> 20)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def choose_parallelism(there: Sequence[MachineCapacity], jobs: int) -> Parallelism:
    """The most that fits, and no more than there are jobs for; all workers have as many lanes as the fullest machine
    bears.
    """
    workers = max(1, sum(one.workers for one in there))
    lanes = min((one.lanes(one.workers) for one in there if one.workers), default=1)
    by_memory = (workers, lanes) != (cores_of(there), LANES_PER_WORKER)
    memory = f"{sum(one.memory_mb for one in there) / 1024:.1f} GB"
    if jobs < workers * lanes:
        lanes = max(1, -(-jobs // workers))
        workers = max(1, -(-jobs // lanes))
        why = f"there are {jobs} tasks" if jobs != 1 else "there is 1 task"
    elif by_memory:
        why = f"{memory} free{nodes(there)}, at {WORKER_MB} MB per worker and {LANE_MB} MB per lane"
    else:
        why = f"{cores_of(there)} cores and {memory} free{nodes(there)}"
    return Parallelism(workers, lanes, why)


def cores_of(there: Sequence[MachineCapacity]) -> int:
    return sum(one.cores for one in there)


def nodes(there: Sequence[MachineCapacity]) -> str:
    """The number of machines, if it is not one."""
    return "" if len(there) == 1 else f" on {len(there)} nodes"
