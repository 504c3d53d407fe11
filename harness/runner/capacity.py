"""The number of workers and lanes: as the settings say, else what cores and memory allow, of one or several machines.

A browser uses about one core, so there is one worker per core. Lanes mostly wait for the model, so a worker has
several. The measured memory of a browser and of a lane is the other limit. How many lanes are best depends on pages and
model, so on this machine the number grows while the processor is idle (`lane_growth`).
Why: docs/decisions/running.md#one-worker-per-core-and-four-lanes-per-worker
"""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

# With a model of one second, 16 tasks took 26 s on four lanes for each worker, and 18 s on 16 lanes; where pages are
# heavy, 16 lanes only make steps slow.
LANES_PER_WORKER = 4
"""More of them on one core slow each other down as soon as their pages have something to do at the same time."""
MOST_LANES = 32
"""Of a worker whose lanes grow: all go through one event loop and one browser."""
# Measured on the demo tasks: 460 MB with one lane, 28 MB for each further one; pages of real sites need more.
WORKER_MB, LANE_MB = 450, 120
"""A worker with its browser, before the first page; and each of its lanes: rounded up from what was measured."""
SPARE = 0.75
"""The part of the memory that is taken; the rest is for the sites, the endpoint, and whatever else runs here."""
_CGROUP = Path("/sys/fs/cgroup")
_MEMBERSHIPS = Path("/proc/self/cgroup")


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

    def lanes(self, workers: int, most: int = LANES_PER_WORKER) -> int:
        """The lanes of each of so many workers, `most` at most."""
        return max(1, min(most, (self._memory // workers - WORKER_MB) // LANE_MB))

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
    at_first: int = 0
    """Lanes of each worker that have a job at the beginning, if the number grows from it to `lanes`; 0 = all."""

    @property
    def begin(self) -> int:
        return self.at_first or self.lanes


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """The load of a machine, or of the part of it that a container may use."""

    busy: float
    """The part of the processors that was in use, 0 to 1."""
    free_mb: int


class LoadMeter:
    """Measures the load since the last reading."""

    def __init__(self, cgroup: Path = _CGROUP) -> None:
        self._cgroup = cgroup
        self._processors = _processors(cgroup)
        self._at, self._used = time.monotonic(), self._used_s()

    def read(self) -> MachineLoad:
        now, used = time.monotonic(), self._used_s()
        busy = (used - self._used) / max(1e-6, (now - self._at) * self._processors)
        self._at, self._used = now, used
        return MachineLoad(busy, _free_mb(self._cgroup))

    def _used_s(self) -> float:
        """Processor seconds so far, of all that shares the processors that count."""
        # A container with a quota sees the load of its whole host in the times of the processors.
        if (quota := _quota(self._cgroup)) is not None and (used := _used_s(self._cgroup, quota[1])) is not None:
            return used
        every = psutil.cpu_times(percpu=True)
        ours = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(every))
        return sum(
            getattr(every[number], kind, 0.0)
            for number in ours
            if number < len(every)
            for kind in ("user", "nice", "system", "irq", "softirq", "steal")
        )


def machine_capacity(cgroup: Path = _CGROUP) -> MachineCapacity:
    """Measure this machine, or the part of it that a container may use."""
    return MachineCapacity(max(1, int(_processors(cgroup))), _free_mb(cgroup))


def _processors(cgroup: Path) -> float:
    """Those that may be used, also a part of one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # A container sees all cores of its host, and is slowed down to its quota.
    quota = _quota(cgroup)
    return min(cores, quota[0]) if quota and quota[0] else cores


def _groups(cgroup: Path, controller: str) -> Iterator[Path]:
    """The control groups of this process, the innermost first: those of version 2, then those of version 1."""
    # In a container, the files may be those of its own group, and the memberships those of the whole machine: then only
    # the outermost folder exists.
    lines = (line.split(":", 2) for line in _read(_MEMBERSHIPS).splitlines())
    own = {name: line[2].strip("/") for line in lines if len(line) == 3 for name in line[1].split(",")}
    for root, name in ((cgroup, ""), (cgroup / controller, controller)):
        group = root / own.get(name, "")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(root))


def _quota(cgroup: Path) -> tuple[float, Path] | None:
    """The processors that a container or job may use, and the folder that says so; None = all of its host."""
    found = []
    for folder in _groups(cgroup, "cpu"):
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if not quota:
            quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit():
            found.append((int(quota) / int(period), folder))
    return min(found, default=None, key=lambda one: one[0])


def _used_s(cgroup: Path, folder: Path) -> float | None:
    """Processor seconds of the group that `_quota` has found; None = nothing tells."""
    used = _fields(folder / "cpu.stat").get("usage_usec")
    if used is not None:
        return used / 1e6
    version_1 = cgroup / "cpu"
    if not folder.is_relative_to(version_1):
        return None
    nanoseconds = _read(cgroup / "cpuacct" / folder.relative_to(version_1) / "cpuacct.usage")
    return int(nanoseconds) / 1e9 if nanoseconds.isdigit() else None


def _free_mb(cgroup: Path) -> int:
    free = psutil.virtual_memory().available
    for folder in _groups(cgroup, "memory"):
        limit = _read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes")
        used = _read(folder / "memory.current") or _read(folder / "memory.usage_in_bytes")
        if limit.isdigit() and used.isdigit():
            # Pages of files that nobody has read lately are given up as soon as memory is wanted.
            fields = _fields(folder / "memory.stat")
            working = int(used) - fields.get("total_inactive_file", fields.get("inactive_file", 0))
            free = min(free, max(0, int(limit) - working))
    return free >> 20


def _fields(path: Path) -> dict[str, int]:
    """The lines `name number` of a file."""
    pairs = (line.split() for line in _read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return ""


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
        workers, cores = max(1, _cores(there)), _cores(there)
        return Parallelism(workers, lanes, f"{_said(workers, lanes)}: {cores} cores{_nodes(there)}; set workers=")
    size = choose_parallelism(there, jobs, grows=grows)
    why = f"{_said(size.workers, size.lanes, size.at_first)}: {size.why}; set workers= and executor.lanes="
    return replace(size, why=why)


def parallelism_for(
    episodes: int, workers: int | None, lanes: int | None, there: Sequence[MachineCapacity]
) -> Parallelism:
    """Lanes for so many episodes at the same time: on one worker for each core, unless the settings say otherwise."""
    if workers is None:
        # One at least: a cluster may be without nodes when the run begins, and others may still join.
        workers = max(1, min(episodes, _cores(there)) if lanes is None else -(-episodes // lanes))
    return Parallelism(workers, -(-episodes // workers) if lanes is None else lanes, "")


def _said(workers: int, lanes: int, at_first: int = 0) -> str:
    number = f"{at_first} to {lanes}" if at_first else lanes
    return f"{workers} worker{'s' * (workers > 1)} × {number} lane{'s' * (lanes > 1)}"


def choose_parallelism(there: Sequence[MachineCapacity], jobs: int, *, grows: bool = False) -> Parallelism:
    """The most that fits, and no more than there are jobs for; all workers have as many lanes as the fullest machine
    bears.

    Args:
        grows: Whether workers may have more lanes later (`Parallelism.at_first`).
    """
    workers = max(1, sum(one.workers for one in there))
    begin, lanes = (
        # A machine without room for a worker gets none, so it does not limit the lanes of the others.
        min((one.lanes(one.workers, most) for one in there if one.workers), default=1)
        for most in (LANES_PER_WORKER, MOST_LANES)
    )
    by_memory = (workers, begin) != (_cores(there), LANES_PER_WORKER)
    memory = f"{sum(one.memory_mb for one in there) / 1024:.1f} GB"
    if jobs < workers * begin:
        # Lanes are given up before workers: each worker has a core and a browser of its own.
        begin = max(1, -(-jobs // workers))
        workers = max(1, -(-jobs // begin))
        why = f"there are {jobs} tasks" if jobs != 1 else "there is 1 task"
    elif by_memory:
        why = f"{memory} free{_nodes(there)}, at {WORKER_MB} MB per worker and {LANE_MB} MB per lane"
    else:
        why = f"{_cores(there)} cores and {memory} free{_nodes(there)}"
    lanes = max(begin, min(lanes, -(-jobs // workers)))
    if grows and begin < lanes:
        return Parallelism(workers, lanes, why, at_first=begin)
    return Parallelism(workers, begin, why)


def _cores(there: Sequence[MachineCapacity]) -> int:
    return sum(one.cores for one in there)


def _nodes(there: Sequence[MachineCapacity]) -> str:
    """The number of machines, if it is not one."""
    return "" if len(there) == 1 else f" on {len(there)} nodes"
