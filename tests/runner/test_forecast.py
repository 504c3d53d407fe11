"""What a sweep is foretold to take, where it can be worked out by hand."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from harness.actions import Stop
from harness.episode.job import Job
from harness.records import Eval, Task, Usage
from harness.runner.forecast import (
    START_S,
    EpisodeProfile,
    Forecast,
    Resources,
    StepProfile,
    average_profile,
    episode_profile,
    forecast,
)
from harness.runner.scheduler import Scheduler
from harness.runner.site_locks import LockableSites, LockPlanner
from harness.settings.models import RateLimits
from tests.journal.episodes import acted, closed, decided, folded, forked, opened


def job(number: int, mutates: bool) -> Job:
    evaluation = Eval(eval_types=("url_match",))
    task = Task(task_id=str(number), sites=("shop",), intent="", start_urls=(), eval=evaluation, mutates=mutates)
    return Job(task=task)


def a_course(steps: int, thinking_s: float = 1.0, acting_s: float = 0.0) -> EpisodeProfile:
    return EpisodeProfile(
        arriving_s=0.0, steps=(StepProfile(thinking_s=thinking_s, acting_s=acting_s, tokens=100),) * steps
    )


def foretold(
    count: int,
    means: Resources,
    course: EpisodeProfile,
    *,
    instances: Mapping[str, int] | None = None,
    mutates: bool = True,
) -> Forecast:
    jobs = [job(number, mutates) for number in range(count)]

    def schedule() -> Scheduler:
        if instances is None:
            return Scheduler(jobs)
        there = {site: tuple(f"http://{site}/{n}" for n in range(many)) for site, many in instances.items()}
        return Scheduler(jobs, LockPlanner(LockableSites(instances=there), (), lambda *_: None))

    return forecast(schedule, lambda _: course, means)


def test_one_lane_takes_the_sum() -> None:
    found = foretold(10, Resources(lanes=1, cores=2, limits=RateLimits()), a_course(4, acting_s=0.5))
    assert found.wall_s == pytest.approx(START_S + 10 * 4 * 1.5, rel=0.05)
    assert found.bound == "lanes"


def test_the_models_rate_bounds_many_lanes() -> None:
    found = foretold(60, Resources(lanes=32, cores=64, limits=RateLimits(requests_per_minute=60)), a_course(5))
    assert found.wall_s == pytest.approx(300, rel=0.1)
    assert found.bound == "the model's rate"


def test_the_processor_bounds_steps_that_keep_it_busy() -> None:
    found = foretold(32, Resources(lanes=16, cores=1, limits=RateLimits(), step_cpu_s=1.0), a_course(5, acting_s=1.0))
    assert found.wall_s >= 32 * 5 * 1.0
    assert found.bound == "the processor"


def test_tasks_that_change_a_site_wait_for_its_instances() -> None:
    means = Resources(lanes=8, cores=8, limits=RateLimits())
    one = foretold(16, means, a_course(5), instances={"shop": 1})
    four = foretold(16, means, a_course(5), instances={"shop": 4})
    readers = foretold(16, means, a_course(5), instances={"shop": 1}, mutates=False)
    assert one.bound == four.bound == "instances of the sites"
    assert (one.wall_s - START_S) / (four.wall_s - START_S) == pytest.approx(4, rel=0.1)
    assert readers.wall_s < four.wall_s and readers.bound == "lanes"


def test_a_task_nobody_played_is_taken_for_a_typical_one() -> None:
    found = average_profile([a_course(2, thinking_s=1.0), a_course(4, thinking_s=2.0)])
    assert len(found.steps) == 3
    assert found.steps[0].thinking_s == pytest.approx(10 / 6)


def test_inherited_steps_of_a_fork_take_as_long_as_its_own() -> None:
    """Another model may have decided them, and its replies may be cached ones."""
    cached = replace(decided(1), usage=Usage(prompt_tokens=10, from_cache=1), elapsed_ms=2.0)
    own = (replace(decided(2), elapsed_ms=4000.0), acted(2), replace(decided(3, Stop(answer="")), elapsed_ms=2000.0))
    found = episode_profile(folded([forked(1), acted(0), cached, acted(1), *own, closed()]))
    assert found is not None
    assert [step.thinking_s for step in found.steps] == [3.0, 4.0, 2.0]


def test_only_steps_that_asked_the_model_send_requests() -> None:
    """A baseline asks none, and one answer of an agent that calls functions may hold several actions."""
    limits = RateLimits(requests_per_minute=6)
    free = replace(a_course(4).steps[0], requests=0)
    course = EpisodeProfile(arriving_s=0.0, steps=(free,) * 4)
    found = foretold(10, Resources(lanes=1, cores=2, limits=limits), course)
    assert (found.requests_per_minute, found.bound) == (0.0, "lanes")
    assert found.wall_s == pytest.approx(START_S + 10 * 4)

    by_hand = (replace(decided(1), usage=Usage()), acted(1), decided(2), acted(2), decided(3, Stop(answer="")))
    profile = episode_profile(folded([opened(), acted(0), *by_hand, closed()]))
    assert profile is not None
    assert [step.requests for step in profile.steps] == [0, 1, 1]
    assert [step.requests for step in average_profile([profile, course]).steps] == [0, 0, 0, 1]
