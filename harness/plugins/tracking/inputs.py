"""What a log call was given, as one stream of entries: trajectories, exceptions and empty groups, in order.

An iterable is consumed once and never looked at twice, so a generator loses nothing, and nothing of it is kept. A list
holds either groups, or trajectories and exceptions (then all are one group without a name); a mixture is refused rather
than guessed at. ART's own objects are understood by their attributes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from harness.api import Episode
from harness.api.journals import RunFolder
from harness.errors import TrackingError
from harness.plugins.tracking.episodes import RunTrajectories, trajectory_of
from harness.plugins.tracking.trajectory import RolloutError


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHeader:
    """What the entries of one group share."""

    index: int
    """0-based position in the call."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    logs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class GroupItem:
    head: GroupHeader
    item: Any
    """A trajectory, a RolloutError, or None for a group that holds neither."""


def is_read_from_files(given: Any) -> bool:
    """Whether reading what was given means reading files."""
    return isinstance(given, str | PathLike | RunFolder | RunTrajectories)


def stream(given: Any) -> Iterator[GroupItem]:
    """`entries` of what was given, a run folder included."""
    if not is_read_from_files(given) or isinstance(given, RunTrajectories):
        return entries(given)
    return entries(RunTrajectories(given.path if isinstance(given, RunFolder) else Path(given)))


def entries(given: Any) -> Iterator[GroupItem]:
    """Raises: TrackingError: something in it is neither, or it is a mixture."""
    if _is_group(given) or _is_single(given):
        given = (given,)
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise _unknown(given, "trajectories")
    grouped: bool | None = None
    anonymous = GroupHeader(index=0)
    for position, item in enumerate(given):
        is_group = _is_group(item)
        if not is_group and not _is_single(item):
            raise _unknown(item, f"trajectories[{position}]")
        if grouped is None:
            grouped = is_group
        if is_group is not grouped:
            raise TrackingError(
                f"trajectories[{position}] is {'a' if is_group else 'no'} group and those before it are not alike: "
                "log groups, or trajectories and exceptions, in one call"
            )
        if is_group:
            yield from _group(item, position)
        else:
            yield GroupItem(anonymous, _single(item))


def _group(group: Any, index: int) -> Iterator[GroupItem]:
    if getattr(group, "pending", None):
        raise TrackingError(f"trajectories[{index}] has rollouts that were not awaited: await the group first")
    metadata, metrics, logs = (getattr(group, name, None) for name in ("metadata", "metrics", "logs"))
    head = GroupHeader(index=index, metadata=metadata or {}, metrics=metrics or {}, logs=logs or ())
    found = False
    for part in ("trajectories", "exceptions"):
        for position, item in enumerate(getattr(group, part, ())):
            if not _is_single(item):
                raise _unknown(item, f"trajectories[{index}].{part}[{position}]")
            found = True
            yield GroupItem(head, _single(item))
    if not found:
        yield GroupItem(head, None)


def _single(item: Any) -> Any:
    if isinstance(item, BaseException):
        return RolloutError.of(item)
    if isinstance(item, Episode):
        return trajectory_of(item)
    if _is_exception_record(item) and not isinstance(item, RolloutError):
        return RolloutError(type=str(item.type), message=str(item.message), traceback=str(item.traceback))
    return item


def _is_group(item: Any) -> bool:
    return hasattr(item, "trajectories") and hasattr(item, "exceptions")


def _is_single(item: Any) -> bool:
    known = isinstance(item, BaseException | Episode) or hasattr(item, "messages_and_choices")
    return known or _is_exception_record(item)


def _is_exception_record(item: Any) -> bool:
    return all(hasattr(item, name) for name in ("type", "message", "traceback"))


def _unknown(item: Any, place: str) -> TrackingError:
    hint = "await it first" if hasattr(item, "__await__") else "give Trajectory, TrajectoryGroup, Episode or exception"
    return TrackingError(f"{place} is a {type(item).__name__}, which cannot be logged: {hint}")
