"""Verdicts of a plug-in on the episodes of a run, in the order of its results."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from harness.errors import JournalError
from harness.runs.episode import Episode
from harness.runs.run import Run


class EpisodeVerdict(Protocol):
    """A verdict on one episode."""

    @property
    def task_id(self) -> str: ...

    @property
    def trial(self) -> int: ...


T = TypeVar("T", bound=EpisodeVerdict)


def judged_episodes(run: Run, judge: Callable[[Episode], T | None]) -> tuple[list[T], int]:
    """The verdicts, and how many episodes have none; damaged journals are left out, see `Run.damaged`.

    Args:
        run: One journal of it is held at a time.
        judge: Gives the verdict; None = there is nothing to judge.
    """
    found, without = list[T](), 0
    for episode in run.readable():
        try:
            one = judge(episode)
        except JournalError as error:  # damaged since it was looked at
            run.leave_out(error)
            continue
        if one is None:
            without += 1
        else:
            found.append(one)
    order = {(one.task_id, one.trial): at for at, one in enumerate(run.results)}
    return sorted(found, key=lambda one: order.get((one.task_id, one.trial), len(order))), without
