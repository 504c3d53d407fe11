"""What is logged: trajectories, the exceptions that took their place, and the groups they belong to.

The names are those of ART (OpenPipe), so that a rollout written for it needs no change, and its own objects, or any
with these attributes, are taken as they are. Unlike the records of the harness these are filled in while a rollout goes
on, so they can be changed; nothing is checked before it is logged.
"""

import time
import traceback as traces
from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from harness.api import JsonObject, Tokens
from harness.errors import said_by

Scalar = float | int | str | bool | None


@dataclass(slots=True, kw_only=True)
class Trajectory:
    """One rollout: a conversation and what it was worth."""

    messages_and_choices: list[Any] = field(default_factory=list)
    """Chat messages; replies of the trained model are OpenAI's `Choice` objects or dicts with `finish_reason`.
    """
    tools: Sequence[Any] | None = None
    """Functions that the model was offered, as the endpoint takes them; None = none."""
    reward: float = 0.0
    """What the rollout was worth; NaN and infinity are kept, and warned of."""
    metrics: dict[str, float | int | bool] = field(default_factory=dict)
    """Further figures by name; their means are logged."""
    metadata: dict[str, Scalar] = field(default_factory=dict)
    """What identifies the rollout, as a task's id: text, number, truth value or None by name."""
    logs: list[str] = field(default_factory=list)
    """Lines of `log`."""
    seen: Sequence[Sequence[int]] | None = None
    """For each choice, in order, the positions of the messages it answered; None = all before it.

    An agent that is shown each page afresh never sees its older pages, and must not be trained as if it had.
    """
    tokens: Sequence[Tokens | None] | None = None
    """For each choice, in order, the token ids and log probabilities of its request and answer, None = not known;
    None = of none."""

    start_time: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False, repr=False)
    """When it was made, in UTC."""

    def log(self, message: str) -> None:
        """Keep a line of text with the rollout."""
        self.logs.append(message)

    def messages(self) -> list[JsonObject]:
        """The conversation as chat messages, ready to be sent; no content is null.

        A choice is an assistant message with its content and calls alone: endpoints refuse or misread what else servers
        answer with (`reasoning_content`, an empty list of calls).
        """
        return [_message(item) for item in self.messages_and_choices]

    def finish(self) -> "Trajectory":
        """Set the metric `duration`: seconds since the trajectory was made."""
        self.metrics["duration"] = (datetime.now(UTC) - self.start_time).total_seconds()
        return self

    @asynccontextmanager
    async def track_duration(self, metric_name: str) -> AsyncIterator[None]:
        """Add the seconds that the block takes to the metric `NAME_duration`."""
        begun = time.monotonic()
        try:
            yield
        finally:
            name = f"{metric_name}_duration"
            self.metrics[name] = self.metrics.get(name, 0.0) + time.monotonic() - begun


def _message(item: Any) -> JsonObject:
    is_choice = "finish_reason" in item if isinstance(item, Mapping) else hasattr(item, "message")
    if not is_choice:
        plain = _plain(item)
        return plain if plain.get("content") is not None else {**plain, "content": ""}
    said = _plain(item["message"] if isinstance(item, Mapping) else item.message)
    message = {"role": "assistant", "content": said.get("content") or ""}
    return {**message, "tool_calls": list(map(_plain, calls))} if (calls := said.get("tool_calls")) else message


def _plain(value: Any) -> JsonObject:
    return dict(value if isinstance(value, Mapping) else value.model_dump(mode="json", exclude_none=True))


@dataclass(slots=True, kw_only=True)
class RolloutError:
    """An exception that took the place of a trajectory."""

    type: str
    """Dotted name of the exception's class."""
    message: str
    """Its text."""
    traceback: str = ""
    """As Python prints it; "" = unknown."""

    @classmethod
    def of(cls, error: BaseException) -> "RolloutError":
        """Of an exception that was caught."""
        kind = type(error)
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        lines = traces.format_exception(kind, error, error.__traceback__)
        return cls(type=name, message=said_by(error), traceback="".join(lines))


@dataclass(slots=True, init=False)
class TrajectoryGroup:
    """Rollouts of one scenario, to be compared with each other.

    Made of awaitables, it is awaited before it is used: `group = await TrajectoryGroup(rollout(one) for one in tasks)`.
    """

    trajectories: list[Trajectory]
    """Rollouts that ended well, in the order given."""
    exceptions: list[RolloutError]
    """What the others failed with."""
    metadata: dict[str, Scalar]
    """Of the scenario."""
    metrics: dict[str, float | int | bool]
    """Of the group as a whole; logged as `group_NAME`."""
    logs: list[str]
    """Lines of `log`."""
    pending: list[Awaitable[Trajectory]] = field(repr=False, compare=False)
    """Rollouts that have not been awaited yet."""

    def __init__(
        self,
        trajectories: Iterable[Trajectory | RolloutError | BaseException | Awaitable[Trajectory]],
        *,
        exceptions: Iterable[RolloutError | BaseException] = (),
        metadata: Mapping[str, Scalar] | None = None,
        metrics: Mapping[str, float | int | bool] | None = None,
        logs: Iterable[str] | None = None,
    ) -> None:
        given = list(trajectories)
        self.pending = [item for item in given if isinstance(item, Awaitable)]
        items = [item for item in given if not isinstance(item, Awaitable)]
        raised = [item for item in items if isinstance(item, RolloutError | BaseException)] + list(exceptions)
        self.trajectories = [item for item in items if not isinstance(item, RolloutError | BaseException)]
        self.exceptions = [item if isinstance(item, RolloutError) else RolloutError.of(item) for item in raised]
        self.metadata = dict(metadata or {})
        self.metrics = dict(metrics or {})
        self.logs = list(logs or ())

    def __await__(self) -> Generator[Any, None, "TrajectoryGroup"]:
        """Run the pending rollouts at the same time; see `gather.gather_trajectory_groups` for what may fail."""
        from harness.plugins.tracking.gather import run_pending  # it is built on this module

        return run_pending(self).__await__()

    def log(self, message: str) -> None:
        """Keep a line of text with the group."""
        self.logs.append(message)

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self.trajectories)

    def __len__(self) -> int:
        return len(self.trajectories)
