"""Resets that are refused before anything is done, so that their session keeps the episode that it has."""

from collections.abc import Container, Mapping

from harness.plugins.environments.ledger import Entry
from harness.plugins.environments.problem import VALIDATION_ERROR, Problem
from harness.plugins.environments.requests import Reset


def refused(message: str) -> Problem:
    """What is wanted cannot be, and nothing was done."""
    return Problem(VALIDATION_ERROR, message)


def check_reset(wanted: Reset, known: Entry | None, tasks: Container[str], begun: Mapping[str, Container[int]]) -> None:
    """See whether an episode can be begun, or gone on with, as far as the server knows without its journal.

    Args:
        wanted: What the client asks for.
        known: The episode of its `episode_id`; None = there is none.
        tasks: Ids of those that are served.
        begun: Trials that have begun, by task.
    Raises:
        Problem: It cannot.
    """
    if known is not None:
        _check_same(known, wanted)
    elif wanted.task is None and wanted.resume:
        raise refused(f"there is no episode {wanted.episode_id!r} to resume; give task to begin one")
    elif wanted.task is not None and wanted.task not in tasks:
        raise refused(f"there is no task {wanted.task[:80]!r}; GET /tasks lists them")
    elif wanted.trial is not None and wanted.trial in begun.get(wanted.task or "", ()):
        raise trial_begun(wanted.task or "", wanted.trial)


def trial_begun(task: str, trial: int) -> Problem:
    """A trial can be begun once."""
    return refused(f"trial {trial} of task {task} has begun; leave trial out to have the next one")


def _check_same(known: Entry, wanted: Reset) -> None:
    if not wanted.resume:
        raise refused(f"episode {known.episode_id} has begun; resume it with resume=true, or leave episode_id out")
    has = {"task": known.task_id, "trial": known.trial, "seed": known.seed}
    for name, value in has.items():
        if (given := getattr(wanted, name)) is not None and given != value:
            has_it = f"{name}={value}" if value is not None else f"the {name} of its trial"
            raise refused(f"episode {known.episode_id} has {has_it}, not {given}; leave {name} out to resume it")
