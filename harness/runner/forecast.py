"""Estimates the duration of a sweep: simulates recorded episodes in virtual time with the real scheduler and limiter.

An episode is described by the model time before each step and the time of each step. Model time uses no processor; a
step uses the processor for `step_cpu_s` of its time, which lanes must share. Resets take the time that
they are said to take; infrastructure failures and retries are not simulated.
Why: docs/decisions/running.md#harness-plan-simulates-instead-of-computing
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from harness.episode.job import Job
from harness.llm.limiter import Clock, Limiter
from harness.llm.permits import PermitRequest, RequestResult
from harness.llm.permits import RequestOutcome as Came
from harness.records import Episode
from harness.runner.scheduler import Scheduler
from harness.runner.virtual_time import Processor, run_virtual
from harness.settings.models import RateLimits

# A constant, because the recorded time of a step contains waiting.
STEP_CPU_S = 0.13
"""Processor seconds of a step on a small page, browser and all: measured on the embedded sites."""
PARALLEL = 1.5
"""Cores a step keeps busy at once: the page, the browser, playwright's driver and we take turns, but overlap."""
START_S = 2.0
"""From the command to the first episode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProfile:
    thinking_s: float
    """Of the model, without waiting for a turn."""
    acting_s: float
    """Until the page had settled and was read; 0 for the last step, which only answers."""
    tokens: int
    """Of each of its requests, prompt and reply."""
    requests: int = 1
    """Those that were answered; 0 = no model was asked for it, as one answer may hold several actions, and an agent may
    have no model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeProfile:
    """The durations of the steps of an episode."""

    arriving_s: float
    steps: tuple[StepProfile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The resources of a simulated sweep."""

    lanes: int
    """Of all workers together."""
    cores: float
    limits: RateLimits
    step_cpu_s: float = STEP_CPU_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    wall_s: float
    processor: float
    """Part of the time that all cores are busy."""
    requests_per_minute: float
    spent: dict[str, float]
    """Seconds of all lanes by cause: `thinking`, `acting`, and waiting: `rate_limit` (model), `sites` (locks)."""

    @property
    def bound(self) -> str:
        """The resource that limits the speed of the sweep."""
        if self.spent["rate_limit"] > max(0.1, self.spent["sites"]):
            return "the model's rate"
        if self.spent["sites"] > 0.1:
            return "instances of the sites"
        return "the processor" if self.processor > 0.8 else "lanes"


def episode_profile(episode: Episode) -> EpisodeProfile | None:
    """The profile of the last attempt of an ended episode.

    None if it has not ended, or if replies came from the reply cache: their time is not the model's. Inherited steps of
    a fork may be another model's, and are taken for typical ones of its own.
    """
    if episode.closed is None or episode.arrival is None or episode.usage.from_cache:
        return None
    spent, asked = episode.spent(), episode.asked_by_step()
    acted = [(step.decided, step.acted.elapsed_ms) for step in episode.own_steps]
    if (last := episode.pending) is not None:
        acted.append((last, 0.0))
    if not acted:
        return None
    steps = []
    for decided, acting_ms in acted:
        answered = sum(one.number in episode.answered for one in asked.get(decided.step, ()))
        requests = answered + bool(decided.usage.requests) + len(decided.earlier_responses)
        steps.append(
            StepProfile(
                thinking_s=decided.elapsed_ms / 1000,
                acting_s=acting_ms / 1000,
                tokens=round(spent[decided.step].tokens / max(1, requests)),
                requests=requests,
            )
        )
    typical = _average_steps(steps, episode.inherited)
    return EpisodeProfile(arriving_s=episode.arrival.elapsed_ms / 1000, steps=(*typical, *steps))


def forecast(
    schedule: Callable[[], Scheduler], course_of: Callable[[Job], EpisodeProfile], means: Resources
) -> Forecast:
    """Simulate a schedule.

    Args:
        schedule: Makes it; it is played to its end.
        course_of: What a job will come to.
    """
    return run_virtual(_Sweep(course_of, means).run(schedule))


class _Sweep:
    def __init__(self, course_of: Callable[[Job], EpisodeProfile], means: Resources) -> None:
        self._course_of = course_of
        self._means = means
        self._processor = Processor(means.cores, parallel=PARALLEL)
        self._spent: dict[str, float] = dict.fromkeys(("thinking", "acting", "rate_limit", "sites"), 0.0)
        self._requests = 0

    async def run(self, make: Callable[[], Scheduler]) -> Forecast:
        loop = asyncio.get_running_loop()
        self._limiter = Limiter(self._means.limits, Clock(monotonic=loop.time, call_later=loop.call_later))
        async with make() as schedule, asyncio.TaskGroup() as lanes:
            for lane in range(self._means.lanes):
                lanes.create_task(self._play(lane, schedule))
        wall_s = START_S + loop.time()
        return Forecast(
            wall_s=wall_s,
            processor=self._processor.used_s / (wall_s * self._means.cores),
            requests_per_minute=self._requests * 60 / wall_s,
            spent=_shares(self._spent),
        )

    async def _play(self, lane: int, schedule: Scheduler) -> None:
        loop = asyncio.get_running_loop()
        while True:
            asked = loop.time()
            job = await schedule.take(lane)
            if job is None:
                return
            self._spent["sites"] += loop.time() - asked
            course = self._course_of(job)
            await self._act(course.arriving_s)
            for step in course.steps:
                await self._think(step, lane)
                await self._act(step.acting_s)
            await schedule.settle(lane, job, over=True)

    async def _think(self, step: StepProfile, lane: int) -> None:
        for _ in range(step.requests):
            permit = await self._limiter.acquire(PermitRequest(tokens=step.tokens, lane=lane))
            await asyncio.sleep(step.thinking_s / step.requests)
            permit.end(RequestResult(outcome=Came.answered, tokens=step.tokens))
            self._spent["rate_limit"] += permit.waited_s
        if not step.requests:
            await asyncio.sleep(step.thinking_s)
        self._requests += step.requests
        self._spent["thinking"] += step.thinking_s

    async def _act(self, lasts_s: float) -> None:
        """A part of it uses the processor; the rest is waiting for a server or a timer."""
        begun = asyncio.get_running_loop().time()
        # A step that was shorter cannot have used that much.
        work_s = min(self._means.step_cpu_s, lasts_s * PARALLEL)
        await asyncio.sleep(max(0.0, lasts_s - work_s / PARALLEL))
        await self._processor.work(work_s)
        self._spent["acting"] += asyncio.get_running_loop().time() - begun


def average_profile(courses: list[EpisodeProfile]) -> EpisodeProfile:
    """For a task without a recorded episode: the number and duration of steps of the others."""
    steps = [step for one in courses for step in one.steps]
    count = round(fmean(len(one.steps) for one in courses))
    return EpisodeProfile(arriving_s=fmean(one.arriving_s for one in courses), steps=_average_steps(steps, count))


def _average_steps(steps: Sequence[StepProfile], count: int) -> tuple[StepProfile, ...]:
    """So many steps of average length; their requests, which are whole, are spread evenly over them."""
    requests = sum(step.requests for step in steps)
    average = StepProfile(
        thinking_s=fmean(step.thinking_s for step in steps),
        acting_s=fmean(step.acting_s for step in steps),
        tokens=round(sum(step.tokens * step.requests for step in steps) / max(1, requests)),
    )
    until = [place * requests // len(steps) for place in range(count + 1)]
    return tuple(replace(average, requests=after - before) for before, after in pairwise(until))


def _shares(parts: Mapping[str, float]) -> dict[str, float]:
    """Each part of the sum of all; zeros when there is nothing."""
    whole = sum(parts.values())
    return {name: part / whole if whole else 0.0 for name, part in parts.items()}
