"""A provider's computer tool, and functions for what no mouse reaches: addresses, history, tabs, and the end.

Its results are screenshots. With a legend they also say where elements are: a help for tests and for models that read
coordinates badly, which shows a model more than the tool does, so it is off unless it is asked for.
"""

import asyncio
from dataclasses import dataclass, replace
from functools import cached_property

from harness.api import (
    Action,
    ComputerTool,
    Episode,
    Goto,
    InvalidAction,
    LiveObservation,
    Message,
    Node,
    Observation,
    Stop,
    Tool,
    ToolCall,
)
from harness.api.actions import CloseTab, GoBack, GoForward, KeepNote, NewTab, Screen, Screenshot, TabFocus
from harness.api.agent_kinds import COMPUTER, ToolBox, arguments_of, with_objective
from harness.api.pictures import blank_picture, crop_picture, image_part, scale_picture
from harness.api.text import cut

FUNCTIONS: tuple[type[Action], ...] = (Goto, GoBack, GoForward, NewTab, TabFocus, CloseTab, Stop)
MOST_OF_A_NAME = 100
MOST_IN_A_LEGEND = 300
_SILENT = frozenset("RootWebArea StaticText generic paragraph LineBreak InlineTextBox none".split())
"""Roles of elements that are not clicked."""


@dataclass(frozen=True)
class ComputerBox:
    """Fits `Toolset`."""

    screen: Screen
    """The size of the screenshots that are sent."""
    viewport: tuple[int, int]
    """The size of the screenshots that are taken."""
    max_pixels: int | None = None
    """The limit to which they were scaled down."""
    strict: bool = True
    legend: bool = False
    keeps_note: bool = False

    @cached_property
    def _functions(self) -> ToolBox:
        return ToolBox((*FUNCTIONS, KeepNote) if self.keeps_note else FUNCTIONS, self.strict)

    @cached_property
    def tools(self) -> tuple[Tool | ComputerTool, ...]:
        return (ComputerTool(width=self.screen.width, height=self.screen.height), *self._functions.tools)

    def read(self, call: ToolCall) -> Action:
        """See `Toolset.read`."""
        if call.name != COMPUTER:
            return self._functions.read(call)
        try:
            return self.screen.read(arguments_of(call))
        except ValueError as error:
            return InvalidAction(why=str(error))

    def _picture(self, image: bytes | None, episode: Episode) -> bytes:
        """The screenshot as it is sent, or the part of it that the last call asked to see closer. A page that gave none
        is shown blank (there is a notice), as providers take no result without a picture.
        """
        if image is None:
            return blank_picture((self.screen.width, self.screen.height))
        last = episode.steps[-1].decided.action if episode.steps else None
        if isinstance(last, Screenshot) and last.region is not None:
            return crop_picture(image, last.region, (self.screen.width, self.screen.height))
        return scale_picture(image, self.max_pixels)

    def still_fits(self, action: Action, before: Observation, view: LiveObservation) -> bool:
        """See `Toolset.still_fits`: what a point means is known only as long as the page is the same."""
        return before.url == view.observation.url

    async def show(self, messages: tuple[Message, ...], episode: Episode, view: LiveObservation) -> tuple[Message, ...]:
        """See `Toolset.show`: each result of a computer call is the screenshot, and so is the last message, whose text
        says what became of all calls: interfaces have room for text behind the last result only.
        """
        computer = {call.id for message in messages for call in message.tool_calls if call.name == COMPUTER}
        *earlier, last = messages
        picture = image_part(await asyncio.to_thread(self._picture, view.image, episode))
        shown = [replace(one, content=(picture,)) if one.tool_call_id in computer else one for one in earlier]
        results = [str(one.content) for one in earlier if one.tool_call_id in computer]
        text = "\n".join((*results, str(last.content)))
        if self.legend:
            text = f"{text}LEGEND:\n{legend(view, self.screen, self.viewport)}\n"
        newest = replace(last, content=({"type": "text", "text": text}, picture))
        return with_objective((*shown, newest), view.task_images)


def legend(view: LiveObservation, screen: Screen, viewport: tuple[int, int]) -> str:
    """The elements in sight: `(x, y) role 'name'`, a line each; points are their middles, in px of the screenshot."""
    lines = []
    for node in view.nodes.values():
        if node.role not in _SILENT and (middle := _middle(node, viewport)) is not None:
            x, y = (int(part * size) for part, size in zip(middle, (screen.width, screen.height), strict=True))
            lines.append(f"({x}, {y}) {node.role} {cut(node.name, MOST_OF_A_NAME)!r}")
    return "\n".join(lines[:MOST_IN_A_LEGEND]) or "(none)"


def _middle(node: Node, viewport: tuple[int, int]) -> tuple[float, float] | None:
    """The element's centre, in fractions of the viewport; None when it is not in sight."""
    if node.box is None:
        return None
    left, top, width, height = node.box
    x, y = (left + width / 2) / viewport[0], (top + height / 2) / viewport[1]
    return (x, y) if 0 <= x < 1 and 0 <= y < 1 and width > 0 and height > 0 else None
