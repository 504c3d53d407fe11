"""Writes contents as artifacts before the record that names them is written."""

from harness.api import Artifacts
from harness.codec import dumps
from harness.protocols import RawEvidence, TargetValue
from harness.records import Acted, Decided, Done, Episode, Evidence, Selected, Task, TrajectoryStep


def store_response(raw: bytes, artifacts: Artifacts) -> str | None:
    """The artifact of an endpoint's answer, byte for byte; None when there was none."""
    return artifacts.put(raw) if raw else None


def store_evidence(
    gathered: RawEvidence, artifacts: Artifacts, *, episode: Episode, task: Task, keeps_trajectory: bool = False
) -> Evidence:
    """The record of `gathered`, everything large put among the artifacts, with what the attempt itself adds to it.

    `task`: what it was gathered for.
    """
    targets, opened = task.eval.program_html, episode.opened
    return Evidence(
        url=gathered.url,
        title=gathered.title,
        html=artifacts.put(dumps(gathered.html)),
        selected=tuple(_selected(selection, artifacts) for selection in gathered.selections),
        trace=None if gathered.trace is None else artifacts.put(gathered.trace),
        reward=episode.reward,
        benchmark=None if gathered.benchmark is None else artifacts.put(gathered.benchmark),
        trajectory=artifacts.put(dumps(trajectory_of(episode))) if keeps_trajectory else None,
        blocked=gathered.blocked,
        kept=tuple(map(artifacts.put, gathered.kept)),
        actions=sum(isinstance(step.acted.outcome, Done) for step in episode.steps),
        targets=None if opened is None or opened.task.eval.program_html == targets else targets,
    )


def trajectory_of(episode: Episode) -> tuple[TrajectoryStep, ...]:
    """The arrival and the steps of an attempt, each with the page it led to; the agent's own stop is not a step."""
    arrived = () if episode.arrival is None else (_step("", episode.arrival),)
    return (*arrived, *(_step(_said(episode, step.decided), step.acted) for step in episode.steps))


def _said(episode: Episode, decided: Decided) -> str:
    """The action with what it was done to, as ids say nothing without their page."""
    action = decided.action
    targets = ", ".join(f"{target.role} {target.name!r}" for target in action.targets if target.role)
    said = episode.said(decided)
    return f"{said} on {targets}" if targets else said


def _step(action: str, acted: Acted) -> TrajectoryStep:
    seen = acted.observation
    return TrajectoryStep(
        action=action,
        why_not="" if isinstance(acted.outcome, Done) else acted.outcome.why,
        url=seen.url,
        title=seen.title,
        screenshot=seen.screenshot,
    )


def _selected(selection: TargetValue, artifacts: Artifacts) -> Selected:
    return Selected(
        index=selection.index,
        url=selection.url,
        content=None if selection.error and selection.value is None else artifacts.put(dumps(selection.value)),
        error=selection.error,
        last_content=None if selection.last_value is None else artifacts.put(dumps(selection.last_value)),
    )
