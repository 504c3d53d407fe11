"""Rollouts at the same time, and how many of them may fail. Names and meanings are those of ART 0.5.18.

Results are in the order in which the rollouts were given. When too many have failed, the last failure is raised and the
others are cancelled.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress

from harness.plugins.tracking.metrics import Mean
from harness.plugins.tracking.trajectory import Trajectory, TrajectoryGroup

T = TypeVar("T")


class _Gathering:
    """What all rollouts of one call share."""

    def __init__(
        self, max_exceptions: float, total: int = 0, max_metrics: int | None = None, bar: Progress | None = None
    ) -> None:
        self._max_exceptions = max_exceptions
        self._total = total
        self._max_metrics = max_metrics
        self._bar = bar
        self._means: dict[str, Mean] = {}
        self._exceptions = 0

    def ended(self, trajectory: Any) -> None:
        tokens = _answer_tokens(trajectory.messages_and_choices)
        if tokens:
            trajectory.metrics["completion_tokens"] = sum(tokens) / len(tokens)
        for name, value in {"reward": trajectory.reward, **trajectory.metrics}.items():
            self._means.setdefault(name, Mean()).add(value)

    async def counted(self, rollout: Awaitable[T]) -> T | Exception:
        """What a rollout gives, or the exception it raised, unless that is one too many."""
        done: T | Exception
        try:
            done = await rollout
        except Exception as error:
            self._exceptions += 1
            if self._too_many():
                raise
            done = error
        self._advance()
        return done

    def _too_many(self) -> bool:
        if 0 < self._max_exceptions < 1:  # divided as ART does: 0.29 * 100 is less than 29
            return self._exceptions / self._total > self._max_exceptions
        return self._exceptions > self._max_exceptions

    def _advance(self) -> None:
        if self._bar is not None:
            shown = [f"{name} {mean.total / mean.count:.3g}" for name, mean in self._means.items()][: self._max_metrics]
            shown += [f"exceptions {self._exceptions}"] if self._exceptions else []
            for task in self._bar.tasks:
                self._bar.update(task.id, advance=1, what=", ".join(shown))


_current: ContextVar[_Gathering | None] = ContextVar("gathering", default=None)


async def gather_trajectory_groups(  # noqa: PLR0913  # the arguments are ART's
    groups: Iterable[Awaitable[TrajectoryGroup]],
    *,
    pbar_desc: str | None = "gather",
    pbar_total_completion_tokens: bool = False,
    max_exceptions: float = 0,
    max_metrics: int | None = None,
    after_each: Callable[[TrajectoryGroup], Awaitable[TrajectoryGroup | list[TrajectoryGroup] | None]] | None = None,
) -> list[TrajectoryGroup]:
    """Run all rollouts of all groups.

    Args:
        groups: `TrajectoryGroup(...)` of awaitables, or anything that gives a group when awaited.
        pbar_desc: Text before the progress bar on stderr; None = no bar.
        pbar_total_completion_tokens: Accepted because ART's scripts have it; it has no effect there either.
        max_exceptions: How many rollouts may fail; between 0 and 1 it is their share. Failures are in
            `TrajectoryGroup.exceptions`.
        max_metrics: How many means the bar shows; None = all.
        after_each: Called with each finished group; what it returns takes the group's place, None removes it.
    """
    given = list(groups)

    async def made(group: Awaitable[TrajectoryGroup]) -> TrajectoryGroup:
        done = await group
        if isinstance(done, TrajectoryGroup):
            for trajectory in done:
                gathering.ended(trajectory)
        return done

    async def finished(group: Awaitable[TrajectoryGroup]) -> list[TrajectoryGroup]:
        # A `TrajectoryGroup` counts its own rollouts, and what `after_each` raises is no rollout's failure.
        done: TrajectoryGroup | list[TrajectoryGroup] | Exception | None
        if isinstance(group, TrajectoryGroup):
            done = await group
        else:
            done = await gathering.counted(made(group))
        if isinstance(done, Exception):
            return []
        if after_each is not None and isinstance(done, TrajectoryGroup):
            done = await after_each(done)
        return done if isinstance(done, list) else [done] if done is not None else []

    total = sum(len(one.pending) if isinstance(one, TrajectoryGroup) else 1 for one in given)
    with _gathering(total, pbar_desc, max_exceptions, max_metrics) as gathering:
        found = await _all(map(finished, given))
    return [group for groups in found for group in groups]


async def gather_trajectories(
    trajectories: Iterable[Awaitable[Any]],
    *,
    pbar_desc: str | None = "gather",
    pbar_total_completion_tokens: bool = False,
    max_exceptions: float = 0,
) -> list[Any]:
    """Run rollouts, each of one trajectory or an iterable of them; returns what each gave, or its exception.

    Args: See `gather_trajectory_groups`.
    """
    given = list(trajectories)

    async def finished(rollout: Awaitable[Any]) -> Any:
        done = await rollout
        if not hasattr(done, "messages_and_choices"):
            done = list(done)
        for trajectory in done if isinstance(done, list) else [done]:
            gathering.ended(trajectory)
        return done

    with _gathering(len(given), pbar_desc, max_exceptions, None) as gathering:
        return await _all(gathering.counted(finished(one)) for one in given)


async def run_pending(group: TrajectoryGroup) -> TrajectoryGroup:
    """Run the rollouts of a group; outside of a `gather_…` call none may fail."""
    gathering = _current.get() or _Gathering(max_exceptions=0)
    pending, group.pending = group.pending, []

    async def finished(rollout: Awaitable[Trajectory]) -> Trajectory:
        done = await rollout
        gathering.ended(done)
        return done

    found = await _all(gathering.counted(finished(one)) for one in pending)
    made = TrajectoryGroup(found)
    group.trajectories += made.trajectories
    group.exceptions += made.exceptions
    return group


@contextmanager
def _gathering(
    total: int, description: str | None, max_exceptions: float, max_metrics: int | None
) -> Iterator[_Gathering]:
    columns = ("{task.description}", "{task.completed}/{task.total}", "{task.fields[what]}")
    with Progress(*columns, console=Console(stderr=True), disable=description is None) as bar:
        bar.add_task(description or "", total=total, what="")
        made = _Gathering(max_exceptions, total, max_metrics, bar)
        token = _current.set(made)
        try:
            yield made
        finally:
            _current.reset(token)


async def _all(rollouts: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What each gave; when one raises, the others are cancelled."""
    tasks = [asyncio.ensure_future(rollout) for rollout in rollouts]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # also looks at what several raised at once


def _answer_tokens(messages: Iterable[Any]) -> list[int]:
    """Tokens of each answer that came with log probabilities."""
    found = (getattr(item, "logprobs", None) for item in messages)
    return [len(one.content or one.refusal or ()) for one in found if one]
