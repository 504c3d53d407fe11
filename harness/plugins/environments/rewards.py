"""Shaping: rewards before the end of an episode, by a class of the person's own (`rewards._target_`).

A reward follows from the task and the recorded steps alone, so it is the same when a worker is lost, when an answer is
asked for again, and after a restart. The score of the end is not part of it and is never changed by it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, runtime_checkable

from harness.api import PluginFailed, Step, Task
from harness.errors import ConfigError, error_line, plugin_boundary


@runtime_checkable
class Rewards(Protocol):
    """What the class must have; it is made without arguments."""

    def reward(self, task: Task, steps: Sequence[Step], /) -> float | None:
        """The reward of the newest step, the last one of `steps`; None = none. It must depend on nothing else."""
        ...


@dataclass(frozen=True, slots=True)
class Shaping:
    """Asks the class, and sees that what it gives is a reward."""

    rewards: Rewards
    name: str

    def of(self, task: Task, steps: Sequence[Step], given: float | None) -> float | None:
        """The reward of the newest step, with what the benchmark gave for it.

        Raises:
            PluginFailed: The class failed, or gives what is not a reward.
        """
        if not steps:
            return given
        with plugin_boundary(self._failed, passes=(PluginFailed,)):
            found = self.rewards.reward(task, steps)
            if found is None:
                return given
            if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
                raise PluginFailed(f"rewards._target_={self.name} gives {found!r:.80}, which is not a finite number")
            return float(found) + (given or 0.0)

    def _failed(self, error: BaseException) -> PluginFailed:
        return PluginFailed(f"rewards._target_={self.name}: {error_line(error)}")


def shaping_of(target: str | None) -> Shaping | None:
    """What `rewards._target_` names; None = there is no shaping.

    Args:
        target: The dotted path of a class; it is made without arguments.

    Raises:
        ConfigError: It cannot be made.
    """
    if target is None:
        return None
    module, _, name = target.rpartition(".")

    def failed(error: BaseException) -> ConfigError:
        return ConfigError(f"rewards._target_={target} cannot be made: {error_line(error)}")

    with plugin_boundary(failed, passes=()):
        kind = getattr(import_module(module), name) if module else None
        made = kind() if isinstance(kind, type) else None
    if not isinstance(made, Rewards):
        raise ConfigError(f"rewards._target_={target} is not a class with a method reward(task, steps)")
    return Shaping(made, target)
