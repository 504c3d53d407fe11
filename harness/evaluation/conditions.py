"""Figures that plug-ins measure of a run, and the conditions on them: `fail_under.NAME`."""

from collections.abc import Mapping, Sequence

from harness.records import Task
from harness.runs.measures import TASK_KEYS, below
from harness.runs.run import Run
from harness.tasks.further_keys import TASK_KEYS as KNOWN


def task_keys(tasks: Sequence[Task]) -> Mapping[str, list[str]]:
    """What `run.json` says of the keys of plug-ins that some of these tasks have; {} = none has any."""
    found = [key for key in KNOWN.names() if any(key in task.metadata for task in tasks)]
    return {TASK_KEYS: found} if found else {}


def below_least(run: Run, least: Mapping[str, float]) -> tuple[str, ...]:
    """A sentence for each figure that is below what `fail_under_of` asks for; without one, no journal is read."""
    return below(run.measured, least) if least else ()
