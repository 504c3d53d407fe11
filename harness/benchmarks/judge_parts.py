"""What the judges of trajectories have in common: screenshots as parts of a message, and the actions as quoted data."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from harness.api import Artifacts, TrajectoryStep
from harness.errors import EvaluatorError, JournalError
from harness.evaluators.quotation import quoted
from harness.pictures.task_picture import image_part

_LONGEST_ACTION = 1000
MAX_ACTIONS = 400
"""The last actions that a judge is shown; what came before is counted."""


def text_part(text: str) -> Mapping[str, Any]:
    return {"type": "text", "text": text}


def picture_part(artifacts: Artifacts, digest: str) -> Mapping[str, Any]:
    """A screenshot of the picture store as a part of a message.

    Raises:
        EvaluatorError: It is missing, or no PNG or JPEG.
    """
    try:
        data = artifacts.read(digest)
    except JournalError as error:
        raise EvaluatorError(f"a screenshot of the trajectory cannot be read: {error}") from error
    if not data.startswith((b"\x89PNG", b"\xff\xd8\xff")):
        raise EvaluatorError(f"the screenshot {digest} of the trajectory is neither PNG nor JPEG")
    return image_part(data)


def screenshots_of(trajectory: Sequence[TrajectoryStep]) -> tuple[str, ...]:
    """Artifact hashes in order; a page that did not change is one picture.

    Raises:
        EvaluatorError: There are none.
    """
    taken = [step.screenshot for step in trajectory if step.screenshot is not None]
    if not taken:
        raise EvaluatorError("the trajectory has no screenshots; play with browser.screenshots=true")
    return tuple(digest for digest, _ in groupby(taken))


def actions_of(trajectory: Sequence[TrajectoryStep]) -> str:
    """The actions of an episode as quoted data, numbered, with the pages they led to; never what the agent said."""
    steps = [step for step in trajectory if step.action]
    shown = steps[-MAX_ACTIONS:]
    lines = [_line(number, step) for number, step in enumerate(shown, start=len(steps) - len(shown) + 1)]
    if len(shown) < len(steps):
        lines.insert(0, f"({len(steps) - len(shown)} earlier actions are left out)")
    return quoted(tuple(lines) or ("(no action)",), "actions")


def _line(number: int, step: TrajectoryStep) -> str:
    outcome = f"refused: {step.why_not}" if step.why_not else f"led to {step.url}"
    return f"{number}. {step.action}; {outcome}"[:_LONGEST_ACTION]
