"""Keys of a task that plug-ins read: each is checked when tasks are read, and stays in the task's `metadata`."""

from harness.records import HtmlTarget
from harness.registry import Registry
from harness.tasks.validation import Fields

TASK_KEYS = Registry(group="cairn.task_keys", noun="key of a task")
"""Key of a task to what checks its value: a function of the task's `Fields`, asked for tasks that have the key. It
raises what `Fields.wrong` gives, and returns what to select from pages when an episode ends (`Task.probes`)."""


def probes_of(fields: Fields) -> tuple[HtmlTarget, ...]:
    """Check the keys of plug-ins that a task has, and give what they want selected, in the order of the registry.

    Raises:
        TaskError: A value is wrong.
    """
    there = (key for key in TASK_KEYS.names() if fields.has(key))
    return tuple(target for key in there for target in TASK_KEYS.find(key)(fields))
