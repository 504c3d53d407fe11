"""`harness plan` and resets: what they cost a sweep, by what a run folder records of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.commands.estimator import Estimator, WhatIf, best
from harness.config.site_settings import read_sites
from harness.journal.site_log import SiteInstance, SiteLog, SiteUse
from harness.journal.store import RunFolder
from harness.records import Eval, Task
from harness.runner.capacity import MachineCapacity
from harness.runner.forecast import START_S
from harness.settings.models import RateLimits
from tests.reports.runs import Shape, episode, fill, write
from tests.reports.runs import task as a_task

SHOP = SiteInstance("shop", "http://shop.test")
ENDLESS = MachineCapacity(cores=64, memory_mb=1_000_000)
TASKS = [
    Task(task_id=f"t{number}", sites=("shop",), intent="x", start_urls=(), eval=Eval(eval_types=()), mutates=True)
    for number in range(8)
]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    folder = fill(tmp_path / "run", [Shape(steps=2)], screenshots=False)
    log = SiteLog(folder)
    for took_s in (40.0, 60.0):
        log.write({SHOP: None})
        log.write({SHOP: SiteUse()}, took_s=took_s)
    return folder


def estimator(
    folder: Path,
    tasks: Sequence[Task] = TASKS,
    *,
    lanes: int = 1,
    instances: int = 1,
    reset_s: float | None = None,
    trials: int = 1,
    **shop: Any,
) -> Estimator:
    sites = read_sites({"embedded": False, "shop": {"url": SHOP.url, "canonical": "http://shop.example", **shop}})
    asked = WhatIf(limits=RateLimits(), instances={"shop": instances}, lanes=(lanes,), step_cpu_s=0.0, reset_s=reset_s)
    return Estimator(tasks, sites, folder, trials=trials, what_if=asked)


def wall_s(sweep: Estimator) -> float:
    (only,) = sweep.options(ENDLESS)
    return only.forecast.wall_s


HOOK = {"reset_command": "reset-it {url}"}


def test_a_reset_takes_the_time_that_is_recorded(recorded: Path) -> None:
    sweep = estimator(recorded, **HOOK)
    assert sweep.reset_times == {"shop": pytest.approx(50.0)}
    assert wall_s(sweep) - wall_s(estimator(recorded)) == pytest.approx(8 * 50.0), "one before each task"
    assert estimator(recorded).reset_times == {}, "nothing is reset without a hook"


def test_a_time_that_is_given_counts_instead(recorded: Path) -> None:
    slow, quick = (wall_s(estimator(recorded, reset_s=given, **HOOK)) for given in (10.0, 1.0))
    assert slow - quick == pytest.approx(8 * 9.0)


def test_with_a_spare_instance_only_the_first_reset_is_waited_for(recorded: Path) -> None:
    free = wall_s(estimator(recorded))
    task_s = free / 8
    spared = wall_s(estimator(recorded, instances=2, reset_s=task_s / 4, **HOOK))
    assert spared - free == pytest.approx(task_s / 4, rel=0.01)


def test_with_as_many_spares_as_lanes_no_lane_waits_for_one_reset_in_a_hundred(recorded: Path) -> None:
    """By the scheduler of runs itself, in its own time: two lanes, and a reset that takes half as long as a task."""
    tasks = [replace(TASKS[0], task_id=f"t{number}") for number in range(200)]
    half_a_task_s = wall_s(estimator(recorded)) / 8 / 2
    waited = []
    for instances in (2, 4):
        sweep = estimator(recorded, tasks, lanes=2, instances=instances, reset_s=half_a_task_s, **HOOK)
        (only,) = sweep.options(ENDLESS)
        waited.append(only.forecast.spent["sites"])
    assert waited[0] > 0.3 and waited[1] < 0.01


def test_more_lanes_than_episodes_are_forecast_when_nothing_else_is_asked_for(recorded: Path) -> None:
    options = list(estimator(recorded, lanes=9).options(ENDLESS))
    assert [(one.workers, one.lanes) for one in options] == [(9, 1)]
    assert best(options).forecast.wall_s == pytest.approx(wall_s(estimator(recorded, lanes=8)))


def test_a_time_that_nobody_recorded_is_not_known(tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", [Shape(steps=2)], screenshots=False)
    assert estimator(folder, **HOOK).reset_times == {"shop": None}


def test_each_trial_takes_its_own_times_and_trials_that_are_not_recorded_those_of_the_others_in_turn(
    tmp_path: Path,
) -> None:
    of = a_task(0)
    with RunFolder.open(tmp_path / "run") as run:
        for trial, steps in ((0, 2), (2, 9)):
            write(run, of, episode(run, of, Shape(steps=steps), trial=trial, screenshots=False), trial)
    few, many = (wall_s(estimator(a_run(tmp_path / str(steps), steps), [of])) - START_S for steps in (2, 9))
    seconds = [wall_s(estimator(tmp_path / "run", [of], trials=trials)) - START_S for trials in (1, 2, 3, 4)]
    assert seconds == pytest.approx([few, 2 * few, 2 * few + many, 2 * (few + many)])
    sweep = estimator(tmp_path / "run", [of, *TASKS], trials=4)
    assert sweep.known == 1
    average = wall_s(estimator(tmp_path / "run", TASKS[:1])) - START_S
    assert few < average < many, "a task that is not recorded is like all of them"


def a_run(folder: Path, steps: int) -> Path:
    return fill(folder, [Shape(steps=steps)], screenshots=False)
