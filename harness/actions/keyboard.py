"""Actions of the keyboard. Keys are held, or pressed again and again, as computer tools ask for."""

import re
from dataclasses import dataclass, field
from typing import ClassVar, Self

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.key_names import cairn_keys
from harness.actions.syntax import read, without_tail, written
from harness.actions.target import Target
from harness.actions.tool_schema import about

MOST_HELD_S = 5.0
MOST_PRESSES = 100
_ID_TEXT_FLAG = re.compile(
    r"\[\s*(\d+)\s*\]\s*\[(.*?)\](?:\s*\[\s*(?:press_enter_after\s*=\s*)?([01])\s*\])?", re.ASCII | re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Type(Action):
    """Type text into a field."""

    kind: ClassVar[str] = "type"
    tool: ClassVar[str] = (
        "Type text into a field, behind what it holds. Only a field of several lines takes line breaks."
    )
    forms: ClassVar = {
        "type": "type [id] [text] [press Enter: 0 or 1]",
        "clear": "clear [id] [new text] [press Enter: 0 or 1]",
    }
    target: Target
    """The field."""
    text: str
    """Without the newline that means Enter."""
    enter: bool = field(default=True, metadata=about("Whether Enter is pressed afterwards, as to submit a search."))
    """Press Enter afterwards."""
    clear: bool = field(default=False, metadata=about("Whether the text replaces what the field holds."))
    """Replace what the field holds (cairn action set only; WebArena's `type` always appends)."""

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        """See `Action.parse`."""
        found = _ID_TEXT_FLAG.fullmatch(without_tail(arguments))
        if found is None:
            return None
        return cls(target=Target(id=found[1]), text=found[2], enter=found[3] != "0", clear=verb == "clear")

    def render(self) -> str:
        return written("clear" if self.clear else "type", self.target, self.text, f"{self.enter:d}")

    async def perform(self, browser: BrowserControls) -> None:
        await browser.type(self.target, self.text, enter=self.enter, clear=self.clear)

    def may_change_sites(self) -> bool:
        return True

    def only_fills_in(self) -> bool:
        return not self.enter


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyboard(Action):
    """Keys typed into whatever has the focus, for agents that look at the screenshot."""

    kind: ClassVar[str] = "keyboard"
    tool: ClassVar[str] = "Type text into whatever has the focus, as after a click into a field."
    forms: ClassVar = {"write": "write [text]"}
    text: str

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        """See `Action.parse`."""
        found = read(arguments, str)
        return cls(text=found[0]) if found and found[0] else None

    def render(self) -> str:
        return written("write", self.text)

    async def perform(self, browser: BrowserControls) -> None:
        await browser.write(self.text)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Press(Action):
    """Press a key or a combination."""

    kind: ClassVar[str] = "press"
    tool: ClassVar[str] = "Press a key or a combination of keys."
    forms: ClassVar = {"press": "press [keys], as in press [Control+a]"}
    key_comb: str = field(metadata=about("Playwright key names joined by +, as in Enter or Control+a."))
    """A key name, such as `Enter` or `Control+a`."""

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        """See `Action.parse`."""
        found = read(arguments, str)
        return cls(key_comb=cairn_keys(found[0])) if found and found[0].strip() else None

    async def perform(self, browser: BrowserControls) -> None:
        await browser.press(self.key_comb)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldKey(Action):
    """Hold a key or a combination down; the last key repeats, as on a keyboard."""

    kind: ClassVar[str] = "hold_key"
    key_comb: str
    """Playwright names, joined by `+`."""
    seconds: float
    """At most `MOST_HELD_S`."""

    def render(self) -> str:
        return written(self.kind, self.key_comb, f"{self.seconds:g}")

    async def perform(self, browser: BrowserControls) -> None:
        await browser.hold(self.key_comb, seconds=self.seconds)

    def may_change_sites(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatKey(Action):
    """Press a key or a combination several times."""

    kind: ClassVar[str] = "repeat_key"
    key_comb: str
    times: int
    """At most `MOST_PRESSES`."""

    async def perform(self, browser: BrowserControls) -> None:
        for _ in range(self.times):
            await browser.press(self.key_comb)

    def may_change_sites(self) -> bool:
        return True
