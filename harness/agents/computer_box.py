"""A provider's computer tool, and functions for what no mouse reaches: addresses, history, tabs, and the end.

Its results are screenshots. With a legend they also say where elements are: a help for tests and for models that read
coordinates badly, which shows a model more than the tool does, so it is off unless it is asked for.
"""

from base64 import b64encode
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from harness.actions import Action, CloseTab, GoBack, GoForward, Goto, InvalidAction, NewTab, Stop, TabFocus
from harness.actions.truncate import cut
from harness.agents.calls import arguments_of
from harness.agents.computer_calls import Screen
from harness.agents.tools_agent import ToolBox
from harness.records import ComputerTool, LiveObservation, Message, Node, Observation, Tool, ToolCall
from harness.records.chat import COMPUTER

FUNCTIONS: tuple[type[Action], ...] = (Goto, GoBack, GoForward, NewTab, TabFocus, CloseTab, Stop)
MOST_OF_A_NAME = 100
MOST_IN_A_LEGEND = 300
_SILENT = frozenset("RootWebArea StaticText generic paragraph LineBreak InlineTextBox none".split())
"""Roles of what nobody clicks on."""


@dataclass(frozen=True)
class ComputerBox:
    """Fits `Box`."""

    screen: Screen
    strict: bool = True
    legend: bool = False

    @cached_property
    def _functions(self) -> ToolBox:
        return ToolBox(FUNCTIONS, self.strict)

    @cached_property
    def tools(self) -> tuple[Tool | ComputerTool, ...]:
        return (ComputerTool(width=self.screen.width, height=self.screen.height), *self._functions.tools)

    def read(self, call: ToolCall) -> Action:
        """See `Box.read`."""
        if call.name != COMPUTER:
            return self._functions.read(call)
        try:
            return self.screen.read(arguments_of(call))
        except ValueError as error:
            return InvalidAction(why=str(error))

    def still_fits(self, action: Action, before: Observation, view: LiveObservation) -> bool:
        """See `Box.still_fits`: what a point means is known only as long as the page is the same."""
        return before.url == view.observation.url

    async def show(self, messages: tuple[Message, ...], view: LiveObservation) -> tuple[Message, ...]:
        """See `Box.show`: each result of a computer call has the screenshot, and so has the last message."""
        computer = {call.id for message in messages for call in message.tool_calls if call.name == COMPUTER}
        last = len(messages) - 1
        return tuple(
            self._with_picture(message, view, is_last=number == last)
            if number == last or message.tool_call_id in computer
            else message
            for number, message in enumerate(messages)
        )

    def _with_picture(self, message: Message, view: LiveObservation, *, is_last: bool) -> Message:
        text = str(message.content)
        if is_last and self.legend:
            text = f"{text}LEGEND:\n{legend(view, self.screen)}\n"
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        if view.image is not None:
            url = f"data:image/png;base64,{b64encode(view.image).decode()}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        return replace(message, content=tuple(parts))


def legend(view: LiveObservation, screen: Screen) -> str:
    """The elements in sight: `(x, y) role 'name'`, a line each; points are their middles, in px of the screenshot."""
    lines = []
    for node in view.nodes.values():
        if node.role not in _SILENT and (place := _middle(node, screen)) is not None:
            lines.append(f"({place[0]}, {place[1]}) {node.role} {cut(node.name, MOST_OF_A_NAME)!r}")
    return "\n".join(lines[:MOST_IN_A_LEGEND]) or "(none)"


def _middle(node: Node, screen: Screen) -> tuple[int, int] | None:
    """None when it is not in sight."""
    if node.box is None:
        return None
    left, top, width, height = node.box
    x, y = left + width / 2, top + height / 2
    return (int(x), int(y)) if 0 <= x < screen.width and 0 <= y < screen.height and width > 0 and height > 0 else None
