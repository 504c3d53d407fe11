"""For each task of some runs, or of the trials of one: the step at which they part.

One journal of each run is held at a time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.errors import JournalError
from harness.plugins.diff.alignment import Parting, moves_of, parting_of
from harness.runs import Episode, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """One task."""

    task: str
    outcomes: tuple[str, ...] = ()
    """`passed`, `failed` or `unscored`, by run or trial."""
    parting: Parting | None = None
    """None = they do the same to the end, or it is left out."""
    left_out: str = ""
    """Why it is not compared; "" = it is."""


def part_runs(runs: Sequence[Run], trial: int = 0) -> Iterator[Parted]:
    """Each task of the first run that all of them have, in task order; then what is left out."""
    known = [{one.task_id: one for one in run.readable() if one.trial == trial} for run in runs]
    order = list(dict.fromkeys(one.task_id for one in runs[0].results))
    for task in dict.fromkeys((*order, *(task for one in known for task in one))):
        found = [one.pop(task, None) for one in known]  # let go of, with their journals, after each task
        yield _parted(task, found, runs)


def part_trials(run: Run) -> Iterator[Parted]:
    """Each task of the run, by all its trials."""
    known: dict[str, list[Episode]] = {}
    for episode in run.readable():
        known.setdefault(episode.task_id, []).append(episode)
    for task in dict.fromkeys(one.task_id for one in run.results):
        trials = sorted(known.pop(task, []), key=lambda one: one.trial)
        few = "has one trial" if trials else "has no trial"
        yield _parted(task, trials, [run] * len(trials)) if len(trials) > 1 else Parted(task=task, left_out=few)


def _parted(task: str, found: Sequence[Episode | None], runs: Sequence[Run]) -> Parted:
    """Args: runs: That of each episode."""
    episodes = [one for one in found if one is not None]
    if len(episodes) < len(found):
        return Parted(task=task, left_out="not in all of them")
    if len({one.result.task_digest for one in episodes}) > 1:
        return Parted(task=task, left_out="not the same task in all of them")
    moves = []
    for one, run in zip(episodes, runs, strict=True):
        try:
            moves.append(moves_of(one))
        except JournalError as error:  # damaged since it was looked at
            run.leave_out(error)
            return Parted(task=task, left_out=str(error))
    return Parted(task=task, outcomes=tuple(one.status for one in episodes), parting=parting_of(moves))
