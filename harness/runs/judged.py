"""Verdicts of a plug-in on the episodes of a run, in the order of its results."""

from collections.abc import Callable, Collection
from typing import Protocol, TypeVar

from harness.errors import JournalError
from harness.runs.episode import Episode
from harness.runs.run import Run
from harness.runs.trials import amount


class EpisodeVerdict(Protocol):
    """A verdict on one episode."""

    @property
    def task_id(self) -> str: ...

    @property
    def trial(self) -> int: ...


T = TypeVar("T", bound=EpisodeVerdict)


def judged_episodes(
    run: Run, judge: Callable[[Episode], T | None], tasks: Collection[str] | None = None
) -> tuple[list[T], int, list[tuple[str, int]]]:
    """The verdicts; how many episodes have none; and task and trial of each episode of which nothing is known, as it
    has not begun or its journal is damaged, see `Run.damaged`.

    Args:
        run: One journal of it is held at a time.
        judge: Gives the verdict; None = there is nothing to judge.
        tasks: Ids of the tasks to judge; None = all.
    """
    found, without = list[T](), set[tuple[str, int]]()
    for episode in run.readable():
        if tasks is not None and episode.task_id not in tasks:
            continue
        try:
            one = judge(episode)
        except JournalError as error:  # damaged since it was looked at
            run.leave_out(error)
            continue
        if one is None:
            without.add((episode.task_id, episode.trial))
        else:
            found.append(one)
    order = {(one.task_id, one.trial): at for at, one in enumerate(run.results)}
    found.sort(key=lambda one: order.get((one.task_id, one.trial), len(order)))
    known = {(one.task_id, one.trial) for one in found}
    # All trials of a task are alike in whether there is something to judge.
    others = {task for task, _ in without}
    missing = [key for key in order if key not in known and key[0] not in others and (tasks is None or key[0] in tasks)]
    return found, len(without), missing


def at_most(share: float, episodes: int, missing: int) -> float:
    """A share of episodes, if those of which nothing is known were good, too."""
    return (share * episodes + missing) / (episodes + missing) if missing else share


def missing_said(missing: int) -> str:
    """`9 episodes are left out: not begun, or damaged`."""
    return f"{amount(missing, 'episode')} {'is' if missing == 1 else 'are'} left out: not begun, or damaged"
