"""Lanes that nobody has set: more of them while the machine and the endpoint allow, fewer when they do not."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.errors import StorageError
from harness.protocols import Phase, ProgressEvent
from harness.runner import capacity
from harness.runner.capacity import LANE_MB, LoadMeter, MachineLoad
from harness.runner.lane_growth import STRAINED_LOOKS, LaneGrowth, growing
from harness.runner.scheduler import Scheduler
from tests.runner.sites import Journals, a_job, writer
from tests.runner.test_scheduler import asking, over, turns

PLENTY = 100_000
IDLE, BUSY, FULL = (MachineLoad(part, PLENTY) for part in (0.2, 0.9, 1.0))


def a_growth(*, workers: int = 2, least: int = 4, most: int = 16, **further: Any) -> LaneGrowth:
    return LaneGrowth(workers=workers, least=least, most=most, free_mb=PLENTY, **further)


def fill(growth: LaneGrowth) -> list[int]:
    """Give each lane a job that may have one, and let it show its page; the lanes."""
    begun = [lane for lane in range(growth.workers * growth.most) if lane % growth.most < growth.lanes]
    for lane in begun:
        growth.begins(lane)
        growth.tell(event(lane, Phase.deciding))
    return begun


def event(lane: int, phase: Phase) -> ProgressEvent:
    return ProgressEvent(lane=lane, task_id="0", phase=phase)


def looked(growth: LaneGrowth, *loads: MachineLoad, pending: int = 100) -> list[int]:
    """The lanes after each look, with as many of them in use."""
    found = []
    for load in loads:
        begun = fill(growth)
        growth.look(load, pending=pending)
        for lane in begun:
            growth.ends(lane)
        found.append(growth.lanes)
    return found


@pytest.mark.parametrize(
    ("loads", "lanes"),
    [
        ([IDLE] * 6, [6, 9, 13, 16, 16, 16]),
        ([MachineLoad(0.8, PLENTY)] * 3, [5, 6, 7]),
        ([BUSY] * 20, [4] * 20),
        ([IDLE, *[FULL] * STRAINED_LOOKS, BUSY], [6] * STRAINED_LOOKS + [5, 5]),
        ([*[FULL] * 50], [4] * 50),
        ([IDLE, *[FULL, BUSY] * STRAINED_LOOKS], [6] * (2 * STRAINED_LOOKS + 1)),
    ],
    ids=["idle", "nearly used up", "busy", "full, then one less", "never fewer than at first", "bursts"],
)
def test_the_processor_decides(loads: list[MachineLoad], lanes: list[int]) -> None:
    growth = a_growth()
    assert looked(growth, *loads) == lanes
    assert growth.highest == max(4, *lanes)


def test_lanes_are_added_only_where_all_are_in_use_and_jobs_are_pending() -> None:
    growth = a_growth()
    growth.look(IDLE, pending=100)
    assert growth.lanes == 4, "the workers come up, or jobs wait for sites"
    assert looked(growth, IDLE, pending=0) == [4]


def test_none_is_added_while_many_others_open_their_pages_or_wait_for_a_site() -> None:
    growth = a_growth(workers=1)
    fill(growth)
    for lane in (0, 1):
        growth.ends(lane)
        growth.begins(lane)
        growth.tell(event(lane, Phase.restoring))
        growth.tell(event(lane, Phase.waiting))
    growth.look(IDLE, pending=100)
    assert growth.lanes == 4
    growth.tell(event(0, Phase.deciding))
    growth.look(IDLE, pending=100)
    assert growth.lanes == 6, "one of four follows another task"


def test_an_endpoint_that_refuses_or_lets_wait_is_given_no_more_lanes() -> None:
    state = {"refused": 0, "waiting": 0}
    growth = a_growth(workers=1, most=32, endpoint=lambda: (state["refused"], state["waiting"]))
    assert looked(growth, IDLE) == [6]
    state["waiting"] = 1
    assert looked(growth, IDLE, IDLE) == [6, 6]
    state.update(waiting=0, refused=3)
    assert looked(growth, IDLE) == [5]
    assert looked(growth, IDLE) == [7], "it has refused nothing since"


def test_sites_that_become_slow_are_given_no_more_lanes_and_then_fewer() -> None:
    now = [0.0]
    growth = a_growth(workers=1, most=32, clock=lambda: now[0])

    def steps(seconds: float) -> None:
        growth.begins(0)
        for _ in range(16):
            growth.tell(event(0, Phase.acting))
            now[0] += seconds
            growth.tell(event(0, Phase.deciding))
            now[0] += 10  # the model thinks
        growth.ends(0)

    steps(0.2)
    assert looked(growth, IDLE, IDLE) == [6, 9]
    steps(0.35)
    assert looked(growth, IDLE) == [13], "half as much again, and no tenth of a second more"
    steps(0.5)
    assert looked(growth, *[IDLE] * STRAINED_LOOKS) == [13] * (STRAINED_LOOKS - 1) + [12]
    steps(0.2)
    assert looked(growth, IDLE) == [18], "they have recovered"


@pytest.mark.parametrize(("free", "lanes"), [(3 * LANE_MB, 4), (1000 + 2 * LANE_MB, 5), (1000 + 4 * LANE_MB, 6)])
def test_memory_that_is_reserved_stays_free(free: int, lanes: int) -> None:
    growth = LaneGrowth(workers=2, least=4, most=32, free_mb=free, reserve_mb=1000)
    assert looked(growth, MachineLoad(0.1, free)) == [lanes]


def test_lanes_that_take_much_memory_leave_room_for_fewer_and_those_that_take_too_much_are_taken_away() -> None:
    growth = LaneGrowth(workers=1, least=4, most=32, free_mb=10_000, reserve_mb=2000)
    assert looked(growth, MachineLoad(0.1, 7600)) == [6]
    assert looked(growth, MachineLoad(0.1, 4000)) == [8], "a thousand each: two more"
    assert looked(growth, MachineLoad(0.1, 1500), MachineLoad(0.1, 900)) == [8, 7]


async def test_workers_have_as_many_jobs_each_and_lanes_that_wait_are_given_theirs_when_there_are_more() -> None:
    schedule = Scheduler([a_job(str(number)) for number in range(7)])
    schedule.growth = growth = a_growth(least=1, most=4)
    asked = [await asking(schedule, lane) for lane in range(8)]
    assert sorted(schedule.held) == [0, 4], "the first lane of each worker, though all of the first asked before"
    assert not schedule.waits, "no lane waits for a site"
    growth.lanes = 2
    schedule.look_again()
    await turns()
    assert sorted(schedule.held) == [0, 1, 4, 5]
    await over(schedule, 0)
    assert sorted(schedule.held) == [1, 2, 4, 5], "the lane that has waited longest takes its place"
    assert schedule.reclaim(4) is not None
    assert sorted(schedule.held) == [1, 2, 5, 6]
    growth.lanes = 4
    schedule.look_again()
    for lane in list(schedule.held):
        await over(schedule, lane)
    assert len(schedule) == 0 and all(one.done() for one in asked)
    assert not schedule.held


async def test_lanes_without_a_job_end_when_nothing_is_pending() -> None:
    schedule = Scheduler([a_job("1")])
    schedule.growth = a_growth(workers=1, least=1, most=3)
    asked = [await asking(schedule, lane) for lane in range(3)]
    await over(schedule, 0)
    schedule.look_again()
    await turns()
    assert [one.result() for one in asked[1:]] == [None, None]


async def test_a_lane_that_waits_for_a_site_is_told_apart_from_one_that_has_no_turn() -> None:
    schedule = Scheduler([writer("1"), writer("2"), writer("3")], Journals().sharing())
    schedule.growth = a_growth(workers=1, least=2, most=3)
    asked = [await asking(schedule, lane) for lane in range(3)]
    assert list(schedule.held) == [0] and schedule.waits, "the others change the same site"
    schedule.growth.lanes = 1
    schedule.look_again()
    assert not schedule.waits
    for one in asked[1:]:
        one.cancel()


class Loads(LoadMeter):
    """Tells given loads, then the last one again and again."""

    def __init__(self, *loads: MachineLoad) -> None:
        self.loads = list(loads)

    def read(self) -> MachineLoad:
        return self.loads.pop(0) if len(self.loads) > 1 else self.loads[0]


async def test_while_a_run_is_idle_its_waiting_lanes_are_given_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.runner.lane_growth.LOOKS_S", 0.001)
    schedule = Scheduler([a_job(str(number)) for number in range(9)])
    schedule.growth = growth = a_growth(workers=1, least=1, most=8)
    asked = [await asking(schedule, lane) for lane in range(8)]
    async with growing(growth, lambda: len(schedule), schedule.look_again, Loads(BUSY, BUSY, IDLE)):
        async with asyncio.timeout(60):
            for one in asked:
                await one
                for lane in schedule.held:
                    growth.tell(event(lane, Phase.deciding))
    assert sorted(schedule.held) == list(range(8))


async def test_an_error_of_a_job_that_is_given_to_a_further_lane_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.runner.lane_growth.LOOKS_S", 0.001)
    growth, played = a_growth(workers=1, least=1, most=8), asyncio.Event()
    fill(growth)

    def refuse() -> None:
        raise StorageError("sites.log: the disk is full")

    with pytest.raises(ExceptionGroup) as failed:
        async with growing(growth, lambda: 100, refuse, Loads(IDLE)):
            await asyncio.wait_for(played.wait(), 20)
    assert [str(one) for one in failed.value.exceptions] == ["sites.log: the disk is full"]


def test_the_load_of_a_container_is_that_of_its_quota(tmp_path: Path) -> None:
    def used(seconds: float) -> None:
        (tmp_path / "cpu.stat").write_text(f"usage_usec {int(seconds * 1e6)}\nuser_usec 1\n")

    (tmp_path / "cpu.max").write_text("200000 100000\n")
    (tmp_path / "memory.max").write_text(f"{512 << 20}\n")
    (tmp_path / "memory.current").write_text(f"{128 << 20}\n")
    used(100)
    meter = LoadMeter(tmp_path)
    used(100)
    assert meter.read() == MachineLoad(0, 384)
    used(1_000_000)
    assert meter.read().busy > 1, "whatever the host does"


@pytest.mark.parametrize("quota", [0.5, 1.9])
def test_a_container_that_uses_its_quota_up_is_full(
    quota: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(capacity, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    (tmp_path / "cpu.max").write_text(f"{int(quota * 100_000)} 100000\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 0\n")
    meter = LoadMeter(tmp_path)
    now = 10.0
    (tmp_path / "cpu.stat").write_text(f"usage_usec {int(quota * now * 1e6)}\n")
    assert meter.read().busy == pytest.approx(1.0)


def test_the_load_of_a_machine_is_a_part_of_its_processors(tmp_path: Path) -> None:
    meter = LoadMeter(tmp_path)
    sum(range(3_000_000))
    load = meter.read()
    assert 0 < load.busy <= 1.5, "the clock of the kernel ticks"
    assert load.free_mb > 0
