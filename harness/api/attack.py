"""What plants something into the tasks of any benchmark."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Attack(Protocol):
    """An attack on the agent, whatever the tasks are: `attack._target_`. An instance is made in each process that reads
    tasks, and says the same in each.
    """

    # Keys of a task, not a wrapper of the environment, which would have to be resumed, recorded and scored by itself.
    def keys(self, task: Mapping[str, Any], /) -> Mapping[str, Any]:
        """Keys of a task beside its own, or in the place of its own; {} = the task is left as it is.

        They are part of the task that journals record. What a plug-in reads of them is checked as in a task file
        (`cairn.task_keys`), and may run scripts in its pages (`cairn.page_scripts`).

        Args:
            task: As it stands in its file, unchecked: placeholders as `__SHOP__` are not replaced yet, in what is
                returned neither.
        Raises:
            TaskError: This task cannot be attacked.
        """
        ...
