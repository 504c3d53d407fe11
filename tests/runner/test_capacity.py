"""How many workers and lanes a machine has room for."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.runner.capacity import (
    LANE_MB,
    LANES_PER_WORKER,
    SPARE,
    WORKER_MB,
    LoadMeter,
    MachineCapacity,
    choose_parallelism,
    machine_capacity,
)


def needed_mb(workers: int, lanes: int) -> float:
    return workers * (WORKER_MB + lanes * LANE_MB) / SPARE


@pytest.mark.parametrize(
    ("there", "jobs", "size", "why"),
    [
        (MachineCapacity(2, 24_000), 40, (2, 4), "2 cores and 23.4 GB free"),
        (MachineCapacity(16, 64_000), 800, (16, 4), "16 cores"),
        (MachineCapacity(8, 4_000), 800, (5, 1), "3.9 GB free, at 450 MB per worker"),
        (MachineCapacity(1, 800), 800, (1, 1), "0.8 GB free"),
        (MachineCapacity(4, 10), 800, (1, 1), "0.0 GB free"),
        (MachineCapacity(2, 24_000), 3, (2, 2), "there are 3 tasks"),
        (MachineCapacity(8, 64_000), 1, (1, 1), "there is 1 task"),
        (MachineCapacity(4, 64_000), 5, (3, 2), "there are 5 tasks"),
    ],
)
def test_as_many_as_cores_memory_and_tasks_allow(
    there: MachineCapacity, jobs: int, size: tuple[int, int], why: str
) -> None:
    found = choose_parallelism((there,), jobs)
    assert (found.workers, found.lanes) == size
    assert found.why.startswith(why)


@pytest.mark.parametrize(
    ("there", "jobs", "size"),
    [
        (MachineCapacity(2, 24_000), 812, (2, 4, 32)),
        (MachineCapacity(2, 24_000), 16, (2, 4, 8)),
        (MachineCapacity(2, 24_000), 9, (2, 4, 5)),
        (MachineCapacity(2, 24_000), 8, (2, 4, 4)),
        (MachineCapacity(2, 24_000), 3, (2, 2, 2)),
        (MachineCapacity(2, 4_000), 812, (2, 4, 8)),
        (MachineCapacity(8, 4_000), 812, (5, 1, 1)),
    ],
)
def test_lanes_that_grow_are_as_many_as_memory_and_tasks_allow(
    there: MachineCapacity, jobs: int, size: tuple[int, int, int]
) -> None:
    found = choose_parallelism((there,), jobs, grows=True)
    assert (found.workers, found.begin, found.lanes) == size
    assert needed_mb(found.workers, found.lanes) <= there.memory_mb


@pytest.mark.parametrize(
    ("there", "size", "why"),
    [
        ((MachineCapacity(8, 64_000), MachineCapacity(8, 64_000)), (16, 4), "16 cores and 125.0 GB free on 2 nodes"),
        (
            (MachineCapacity(8, 64_000), MachineCapacity(2, 1_600)),
            (10, 1),
            "64.1 GB free on 2 nodes, at 450 MB per worker",
        ),
        ((MachineCapacity(8, 64_000), MachineCapacity(4, 500)), (8, 4), "63.0 GB free on 2 nodes"),
        ((), (1, 1), "0.0 GB free on 0 nodes"),
    ],
    ids=["alike", "a small one", "one without room", "none yet"],
)
def test_several_machines_have_room_for_what_each_has_room_for(
    there: tuple[MachineCapacity, ...], size: tuple[int, int], why: str
) -> None:
    found = choose_parallelism(there, 800)
    assert (found.workers, found.lanes) == size
    assert found.why.startswith(why)


@pytest.mark.parametrize("cores", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("memory", [1_000, 2_500, 7_000, 30_000, 200_000])
def test_what_is_chosen_fits(cores: int, memory: int) -> None:
    found = choose_parallelism((MachineCapacity(cores, memory),), 10_000)
    assert 1 <= found.workers <= cores and 1 <= found.lanes <= LANES_PER_WORKER
    assert needed_mb(found.workers, found.lanes) <= memory


def test_a_container_is_as_small_as_its_limits(tmp_path: Path) -> None:
    whole = machine_capacity(tmp_path)
    assert whole.cores >= 1 and whole.memory_mb > 0
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    (tmp_path / "memory.max").write_text(f"{512 << 20}\n")
    (tmp_path / "memory.current").write_text(f"{128 << 20}\n")
    assert machine_capacity(tmp_path) == MachineCapacity(1, 384)
    (tmp_path / "memory.stat").write_text(f"anon 1\nfile {96 << 20}\ninactive_file {64 << 20}\n")
    assert machine_capacity(tmp_path).memory_mb == 448, "pages of files are given up when memory is wanted"
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert machine_capacity(tmp_path).cores == whole.cores and machine_capacity(tmp_path).memory_mb > 384


VERSION_1 = {
    "memory/memory.limit_in_bytes": 2 << 30,
    "memory/memory.usage_in_bytes": 512 << 20,
    "memory/memory.stat": f"inactive_file 0\ntotal_inactive_file {512 << 20}",
    "cpu/cpu.cfs_quota_us": 50_000,
    "cpu/cpu.cfs_period_us": 100_000,
    "cpuacct/cpuacct.usage": 1_000_000_000,
}
UNLIMITED = {
    "memory/memory.limit_in_bytes": (1 << 63) - 4096,
    "memory/memory.usage_in_bytes": 1,
    "cpu/cpu.cfs_quota_us": -1,
    "cpu/cpu.cfs_period_us": 100_000,
}
VERSION_2 = {"memory.max": 2 << 30, "memory.current": 0, "cpu.max": "50000 100000", "cpu.stat": "usage_usec 1000000"}
HALF, WHOLE = (0.5, 2048), None


def below(place: str, files: dict[str, object]) -> dict[str, object]:
    """The same files of a group of version 1 that is not the outermost one."""
    return {name.replace("/", f"/{place}/"): text for name, text in files.items()}


@pytest.mark.parametrize(
    ("memberships", "files", "limit"),
    [
        ("", {}, WHOLE),
        ("4:memory:/\n2:cpu,cpuacct:/\n0::/\n", VERSION_1, HALF),
        ("4:memory:/docker/ab\n2:cpuacct,cpu:/docker/ab\n", VERSION_1, HALF),
        ("4:memory:/job\n2:cpu,cpuacct:/job\n", UNLIMITED | below("job", VERSION_1), HALF),
        ("4:memory:/job\n2:cpu,cpuacct:/job\n", VERSION_1 | below("job", UNLIMITED), HALF),
        ("4:memory:/\n2:cpu,cpuacct:/\n", UNLIMITED, WHOLE),
        ("0::/slurm/job_7/step", {f"slurm/job_7/{name}": text for name, text in VERSION_2.items()}, HALF),
        ("0::/slurm/job_7", {"slurm/cpu.max": "max 100000"} | VERSION_2, HALF),
        ("0::/slurm/job_8", {f"slurm/job_7/{name}": text for name, text in VERSION_2.items()}, WHOLE),
        ("0::/../other", VERSION_2, HALF),
    ],
    ids=["none", "1", "1 in a container", "1 of a job", "1 around a job", "1 without limits",
         "2 around a job", "2 in a container", "2 of another job", "2 outside"],
)  # fmt: skip
def test_the_least_limit_of_the_groups_around_this_process_counts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memberships: str,
    files: dict[str, object],
    limit: tuple[float, int] | None,
) -> None:
    (tmp_path / "memberships").write_text(memberships)
    monkeypatch.setattr("harness.runner.capacity._MEMBERSHIPS", tmp_path / "memberships")
    monkeypatch.setattr("harness.runner.capacity.os.sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=8 << 30))
    for name, text in files.items():
        (path := tmp_path / "mount" / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    processors, memory_mb = limit or (4, 8192)
    assert machine_capacity(tmp_path / "mount") == MachineCapacity(max(1, int(processors)), memory_mb)
    meter = LoadMeter(tmp_path / "mount")
    assert meter._processors == processors
    if limit:
        assert meter._used_s() == 1, "the load is that of the group, too"
