"""What a person did, as a file: their actions, the element each was aimed at, and the page that each led to.

The file is a JSON array of plans, one for each task, so that those of several tasks can be put together.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api import Action, CodecError, ConfigError, Observation, dumps, loads
from harness.api.files import safe_files, write_atomic
from harness.api.records import build, optional, plain
from harness.errors import UnsafeFile
from harness.runs import Episode


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """A page, as far as a replay is compared with it."""

    url: str
    """Canonical."""
    title: str
    fingerprint: str
    """Of its text, see `harness.api.Observation`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aimed:
    """The element under a point, and where in it the point was."""

    role: str
    name: str
    nth: int
    """0-based position among the elements of the same role and name."""
    x: float
    """Fraction of its width, from 0 (left) to 1."""
    y: float
    """Fraction of its height."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One action."""

    action: Action
    page: PageState | None
    """The one that it led to; None = the task ended with it."""
    element: Aimed | None = optional(None)  # noqa: RUF009 (a field)
    """None = it was aimed at none, or that is not known."""
    note: str = optional("")
    """The person's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a task was done."""

    task_id: str
    start: PageState
    steps: tuple[PlanStep, ...]


def plan_of(episode: Episode) -> Plan:
    """What a person did in an episode.

    Raises:
        ConfigError: It has no page.
    """
    if (arrival := episode.record.arrival) is None:
        raise ConfigError(f"task {episode.task_id} was not played, so there is nothing to record")
    steps = tuple(
        PlanStep(
            action=step.action,
            page=None if step.page is None else state_of(step.page),
            element=_aimed(step.decided.memory),
            note=step.reply,
        )
        for step in episode.steps
    )
    return Plan(task_id=episode.task_id, start=state_of(arrival.observation), steps=steps)


def state_of(seen: Observation) -> PageState:
    """A page as it was seen."""
    return PageState(url=seen.url, title=seen.title, fingerprint=seen.fingerprint)


def _aimed(memory: Any) -> Aimed | None:
    """What `agent=human` keeps with a decision."""
    found = memory.get("element") if isinstance(memory, Mapping) else None
    try:
        return build(Aimed, found)
    except CodecError:
        return None


def write_plan(path: Path, plan: Plan) -> None:
    """Raises: StorageError: The disk refuses."""
    write_atomic(path, dumps([plain(plan)], pretty=True) + b"\n")


def read_plans(path: Path) -> dict[str, Plan]:
    """Task id to plan.

    Raises:
        ConfigError: The file is none of plans.
    """
    try:
        found = loads(safe_files.read_named(path))
        plans = [build(Plan, one) for one in found] if isinstance(found, list) else None
    except (OSError, UnsafeFile, CodecError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "why", None) or str(error)
        raise ConfigError(
            f"agent.arguments.plan={path}: cannot be read ({why}); `harness record` writes one"
        ) from error
    if plans is None:
        raise ConfigError(f"agent.arguments.plan={path}: is not a list of plans; `harness record` writes one")
    return {one.task_id: one for one in plans}
