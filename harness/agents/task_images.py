"""The pictures that belong to a task's intent, as parts of a prompt.

Each follows a line that says which one it is. They are sent byte for byte as the journal names them
(`opened.images`), so a picture that is shown in many prompts is stored once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.api import Message
from harness.pictures.task_picture import image_part

Part = Mapping[str, Any]


def task_image_parts(images: Sequence[bytes], detail: str | None = None) -> tuple[Part, ...]:
    """Two parts for each picture: what it is, and itself.

    Args:
        images: PNG or JPEG.
        detail: Sent with each, for models that know it; None = not sent.
    """
    parts: list[Part] = []
    for number, image in enumerate(images, start=1):
        parts.append({"type": "text", "text": f"PICTURE {number} OF THE OBJECTIVE:"})
        parts.append(image_part(image, detail))
    return tuple(parts)


def with_objective(
    messages: Sequence[Message], images: Sequence[bytes], detail: str | None = None
) -> tuple[Message, ...]:
    """A conversation whose first message of the user, which holds the objective, has the pictures behind its text."""
    if not images:
        return tuple(messages)
    at = next(number for number, message in enumerate(messages) if message.role == "user")
    head = messages[at]
    content = ({"type": "text", "text": head.content},) if isinstance(head.content, str) else head.content
    text, *further = content
    screenshot = ({"type": "text", "text": "SCREENSHOT:"},) if further else ()
    shown = (text, *task_image_parts(images, detail), *screenshot, *further)
    return (*messages[:at], replace(head, content=shown), *messages[at + 1 :])
