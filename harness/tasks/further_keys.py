"""Keys of a task that plug-ins read: each is checked when tasks are read, and stays in the task's `metadata`."""

from harness.errors import ConfigError
from harness.records import Wanted
from harness.registry import Registry
from harness.tasks.validation import Fields

TASK_KEYS = Registry(group="cairn.task_keys", noun="key of a task")
"""Key of a task to what checks its value: a function of the task's `Fields`, asked for tasks that have the key. It
raises what `Fields.wrong` gives, and returns what has to be recorded of its episodes."""


def wanted_by(fields: Fields) -> Wanted:
    """Check the keys of plug-ins that a task has, and give what they want recorded, in the order of the registry.

    Raises:
        TaskError: A value is wrong.
    """
    found = [_wanted_by(key, fields) for key in TASK_KEYS.names() if fields.has(key)]
    return Wanted(
        probes=tuple(target for one in found for target in one.probes),
        selectors=tuple(dict.fromkeys(selector for one in found for selector in one.selectors)),
    )


def _wanted_by(key: str, fields: Fields) -> Wanted:
    with TASK_KEYS.running(key):
        wanted = TASK_KEYS.find(key)(fields)
    if not isinstance(wanted, Wanted):
        raise ConfigError(
            f"{TASK_KEYS.noun}={key}: its function of {TASK_KEYS.group} returned {type(wanted).__name__}; "
            "return harness.api.records.Wanted"
        )
    return wanted
