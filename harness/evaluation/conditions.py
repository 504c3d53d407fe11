"""Figures that plug-ins measure of a run, and the conditions on them: `fail_under.NAME`."""

from collections.abc import Mapping, Sequence

from harness.records import Task
from harness.runs.measures import TASK_KEYS, below
from harness.runs.run import Run
from harness.tasks.further_keys import TASK_KEYS as KNOWN


def task_keys(tasks: Sequence[Task], rest: Mapping[str, object]) -> Mapping[str, list[str]]:
    """What `run.json` says of the keys of plug-ins that some tasks of a run have; {} = none has any.

    Args:
        tasks: Of this start.
        rest: What `run.json` says of the other tasks of the run; {} = there are none.
    """
    had = rest.get(TASK_KEYS)
    kept = had if isinstance(had, list) else []
    found = [key for key in KNOWN.names() if key in kept or any(key in task.metadata for task in tasks)]
    return {TASK_KEYS: found} if found else {}


def below_least(run: Run, least: Mapping[str, float]) -> tuple[str, ...]:
    """A sentence for each figure that is below what `fail_under_of` asks for; without one, no journal is read."""
    return below(run.measured, least) if least else ()
