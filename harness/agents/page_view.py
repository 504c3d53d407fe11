"""How a page is shown to a model: as text, as pictures, or both.

What a page says is untrusted: names in the legend are written as quoted literals, in which no control character and no
change of the writing direction is left, and have a bound.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.actions import Box
from harness.actions.truncate import cut
from harness.agents.task_images import task_image_parts
from harness.api import Message
from harness.pictures.png import draw_marks, scale_picture
from harness.pictures.task_picture import image_part
from harness.records import LiveObservation, Node

MOST_OF_A_NAME = 100
"""Characters of an element's name in the legend."""
NO_MARKS = "(no element of the picture has a number)"
_NOT_IN_A_ROLE = re.compile(r"[^\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """What of an observation goes into the prompt; the tabs always do."""

    text: bool = True
    """The page's text."""
    image: bool = False
    """The screenshot."""
    marks: bool = False
    """The screenshot with numbered elements; without the text also what the numbers stand for."""
    max_pixels: int | None = None
    """Limit for a picture; a larger one is scaled down."""
    detail: str | None = None
    """Sent with each picture, for models that know it; None = not sent."""

    def text_of(self, view: LiveObservation) -> str:
        """The tabs, a blank line, and what is said of the page."""
        text = view.observation.shown_text
        # With a legend as well the prompt would say the same twice: its lines are those of the tree, without details.
        if self.text:
            return text
        tabs = text.partition("\n\n")[0]
        return f"{tabs}\n\n{legend(view.nodes, view.marks)}" if self.marks else tabs

    async def with_pictures(self, messages: Sequence[Message], view: LiveObservation) -> tuple[Message, ...]:
        """The messages, the last one with pictures after its text: those of the task, then those of the page, which
        may have given none (there is a notice).
        """
        pictures, given = await self._pictures(view), task_image_parts(view.task_images, self.detail)
        if not pictures and not given:
            return tuple(messages)
        *before, last = messages
        said = ({"type": "text", "text": "SCREENSHOT:"},) if pictures and given else ()
        return (*before, replace(last, content=({"type": "text", "text": last.content}, *given, *said, *pictures)))

    async def as_message(self, view: LiveObservation) -> Message | None:
        """The pictures as a separate message, with the legend where the text is not shown."""
        if not (pictures := await self._pictures(view)):
            return None
        said = f"\n{legend(view.nodes, view.marks)}" if self.marks and not self.text else ""
        return Message(role="user", content=({"type": "text", "text": f"SCREENSHOT:{said}"}, *pictures))

    async def _pictures(self, view: LiveObservation) -> list[Mapping[str, object]]:
        if view.image is None or not (self.image or self.marks):
            return []
        pictures = [scale_picture(view.image, self.max_pixels)] if self.image else []
        if self.marks:  # in a thread, as other episodes go on meanwhile
            pictures.append(await asyncio.to_thread(draw_marks, view.image, view.marks, max_pixels=self.max_pixels))
        return [image_part(picture, self.detail) for picture in pictures]


def legend(nodes: Mapping[str, Node], marks: Mapping[str, Box]) -> str:
    """The element of each number in the picture: `[id] role 'name'`, a line each."""
    lines = [f"[{id}] {_role(nodes[id].role)} {cut(nodes[id].name, MOST_OF_A_NAME)!r}" for id in marks if id in nodes]
    return "\n".join(lines) or NO_MARKS


def _role(role: str) -> str:
    return _NOT_IN_A_ROLE.sub("", role)[:MOST_OF_A_NAME] or "element"
