"""Keys that are held down for a while, or pressed again and again, as computer tools ask for."""

from dataclasses import dataclass
from typing import ClassVar

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.syntax import written

MOST_HELD_S = 5.0
MOST_PRESSES = 100


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
