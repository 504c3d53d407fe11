"""What is logged: trajectories, the exceptions that took their place, and the groups they belong to.

The names are those of ART (OpenPipe), so that a rollout written for it needs no change, and its own objects, or any
with these attributes, are taken as they are. Unlike the records of the harness these are filled in while a rollout goes
on, so they can be changed; nothing is checked before it is logged.
"""

import traceback as traces
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Scalar = float | int | str | bool | None


@dataclass(slots=True, kw_only=True)
class Trajectory:
    """One rollout: a conversation and what it was worth."""

    messages_and_choices: Sequence[Any] = ()
    """Chat messages; replies of the trained model are OpenAI's `Choice` objects or dicts with `finish_reason`.
    """
    tools: Sequence[Any] | None = None
    reward: float = 0.0
    metrics: dict[str, float | int | bool] = field(default_factory=dict)
    metadata: dict[str, Scalar] = field(default_factory=dict)
    logs: list[str] = field(default_factory=list)
    seen: Sequence[Sequence[int]] | None = None
    """For each choice, in order, the positions of the messages it answered; None = all before it.

    An agent that is shown each page afresh never sees its older pages, and must not be trained as if it had.
    """

    def log(self, message: str) -> None:
        self.logs.append(message)


@dataclass(slots=True, kw_only=True)
class RolloutError:
    """An exception that took the place of a trajectory."""

    type: str
    message: str
    traceback: str = ""

    @classmethod
    def of(cls, error: BaseException) -> "RolloutError":
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        lines = traces.format_exception(kind, error, error.__traceback__)
        return cls(type=name, message=str(error), traceback="".join(lines))


@dataclass(slots=True, init=False)
class TrajectoryGroup:
    """Rollouts of one scenario, to be compared with each other."""

    trajectories: list[Trajectory]
    exceptions: list[RolloutError]
    metadata: dict[str, Scalar]
    metrics: dict[str, float | int | bool]
    logs: list[str]

    def __init__(
        self,
        trajectories: Iterable[Trajectory | RolloutError | BaseException],
        *,
        exceptions: Iterable[RolloutError | BaseException] = (),
        metadata: Mapping[str, Scalar] | None = None,
        metrics: Mapping[str, float | int | bool] | None = None,
        logs: Iterable[str] | None = None,
    ) -> None:
        items = list(trajectories)
        raised = [item for item in items if isinstance(item, RolloutError | BaseException)] + list(exceptions)
        self.trajectories = [item for item in items if not isinstance(item, RolloutError | BaseException)]
        self.exceptions = [item if isinstance(item, RolloutError) else RolloutError.of(item) for item in raised]
        self.metadata = dict(metadata or {})
        self.metrics = dict(metrics or {})
        self.logs = list(logs or ())

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self.trajectories)

    def __len__(self) -> int:
        return len(self.trajectories)
