"""What evaluators that ask a judge have in common: screenshots as parts of a message, actions and answers as quoted
data, and how a reply is read.

For benchmarks with a judge of their own, and for plug-ins that measure judges.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from harness.api import Artifacts, Message, TrajectoryStep
from harness.errors import EvaluatorError, JournalError
from harness.evaluators.judge import MAX_JUDGED, JudgeForEpisode, JudgeSession, last_word, lenient
from harness.evaluators.quotation import RULE, quoted
from harness.pictures.task_picture import as_jpeg, image_part

__all__ = [
    "MAX_JUDGED",
    "RULE",
    "JudgeForEpisode",
    "JudgeSession",
    "actions_of",
    "asked",
    "jpeg_part",
    "last_word",
    "lenient",
    "own_prompts",
    "picture_part",
    "quoted",
    "screenshots_of",
    "taken_screenshots",
    "text_part",
]

_LONGEST_ACTION = 1000
MAX_ACTIONS = 400
"""The last actions that a judge is shown; what came before is counted."""


def text_part(text: str) -> Mapping[str, Any]:
    """A text as a part of a message."""
    return {"type": "text", "text": text}


def picture_part(artifacts: Artifacts, digest: str) -> Mapping[str, Any]:
    """A screenshot of the picture store as a part of a message.

    Raises:
        EvaluatorError: It is missing, or no PNG or JPEG.
    """
    return image_part(_picture(artifacts, digest))


def jpeg_part(artifacts: Artifacts, digest: str) -> Mapping[str, Any]:
    """The same as a JPEG with `detail: high`, as the published WebJudge is sent it.

    Raises:
        EvaluatorError: It is missing, or cannot be read as a PNG or JPEG.
    """
    try:
        return image_part(as_jpeg(_picture(artifacts, digest)), detail="high")
    except ValueError as error:
        raise EvaluatorError(f"the screenshot {digest} of the trajectory {error}") from error


def _picture(artifacts: Artifacts, digest: str) -> bytes:
    try:
        data = artifacts.read(digest)
    except JournalError as error:
        raise EvaluatorError(f"a screenshot of the trajectory cannot be read: {error}") from error
    if not data.startswith((b"\x89PNG", b"\xff\xd8\xff")):
        raise EvaluatorError(f"the screenshot {digest} of the trajectory is neither PNG nor JPEG")
    return data


def taken_screenshots(trajectory: Sequence[TrajectoryStep]) -> tuple[str, ...]:
    """Artifact hashes in order, of the arrival and of every step.

    Raises:
        EvaluatorError: There are none.
    """
    taken = tuple(step.screenshot for step in trajectory if step.screenshot is not None)
    if not taken:
        raise EvaluatorError("the trajectory has no screenshots; play with browser.screenshots=true")
    return taken


def screenshots_of(trajectory: Sequence[TrajectoryStep]) -> tuple[str, ...]:
    """The same, a page that did not change as one picture.

    Raises:
        EvaluatorError: There are none.
    """
    return tuple(digest for digest, _ in groupby(taken_screenshots(trajectory)))


def own_prompts(ours: Mapping[str, str], given: Mapping[str, str] | None) -> Mapping[str, str]:
    """Our texts, those that a person gives in their place.

    Raises:
        ValueError: They have no names, or a text has an unknown one, or is none.
    """
    if not isinstance(given or {}, Mapping):
        raise ValueError(f"prompts is {given!r:.80}; give texts by name, as in {{{next(iter(ours))}: TEXT}}")
    for name, text in (given or {}).items():
        if name not in ours:
            raise ValueError(f"prompts has {name!r:.80}; choose among {', '.join(ours)}")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"prompts.{name} is {text!r:.80}; give a text")
    return {**ours, **(given or {})}


def asked(system: str, parts: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """A question: the instructions, then text and pictures."""
    return Message(role="system", content=system), Message(role="user", content=tuple(parts))


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
