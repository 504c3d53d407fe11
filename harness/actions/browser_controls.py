"""What a browser can do for an action: the primitives that a `perform` is made of."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from harness.actions.target import Target

Button = Literal["left", "right", "middle"]
"""Of a mouse."""


# A protocol, so that actions import no Playwright.
class BrowserControls(Protocol):
    """One browser context at its current tab; `harness.browser` implements it.

    Every method raises `ActionFailed`, with a sentence for the agent, when it cannot be done, and leaves the page as it
    was then. None of them waits for what the page does next.
    """

    async def click(self, target: Target) -> None:
        """Click an element."""
        ...

    async def double_click(self, target: Target) -> None:
        """Click an element twice, as one gesture."""
        ...

    async def hover(self, target: Target) -> None:
        """Move the mouse over an element."""
        ...

    async def drag(self, target: Target, onto: Target) -> None:
        """Press the button on one element and let it go on the other."""
        ...

    async def type(self, target: Target, text: str, *, enter: bool, clear: bool) -> None:
        """Write into a field, after what it holds or, with `clear`, instead of it; then press Enter."""
        ...

    async def select(self, target: Target, option: str) -> None:
        """Choose an option of a native list by its visible label."""
        ...

    async def check(self, target: Target, checked: bool) -> None:
        """Set a checkbox, radio button, switch, or option of a list of which several can be chosen, whatever it was."""
        ...

    async def upload(self, target: Target, file: str) -> None:
        """Give a file field a file of the configured folder."""
        ...

    async def click_at(
        self,
        x: float,
        y: float,
        *,
        button: Button = ...,
        times: int = ...,
        holding: str = ...,
    ) -> None:
        """Click at a point, in fractions of the viewport's width and height, `holding` keys joined by `+`."""
        ...

    async def drag_along(self, path: Sequence[tuple[float, float]], *, holding: str = ...) -> None:
        """Drag with the left button from the first point to the last."""
        ...

    async def scroll_at(self, x: float, y: float, *, right: float, down: float, holding: str = ...) -> None:
        """Turn the wheel over a point, by fractions of the viewport."""
        ...

    async def hover_at(self, x: float, y: float) -> None:
        """Move the mouse to a point, in fractions of the viewport."""
        ...

    async def write(self, text: str) -> None:
        """Type into whatever has the focus."""
        ...

    async def press(self, keys: str) -> None:
        """Press a key or a combination: Playwright's names, joined by `+`."""
        ...

    async def hold(self, keys: str, *, seconds: float) -> None:
        """Hold keys down; the last one repeats."""
        ...

    async def scroll(self, direction: Literal["up", "down"]) -> None:
        """Move the page by one screen."""
        ...

    async def wait(self) -> None:
        """Give the page time until it changes, for a few seconds at most."""
        ...

    async def goto(self, url: str) -> object:
        """Open an address in the current tab."""
        ...

    async def travel(self, by: Literal[-1, 1]) -> None:
        """Move through the tab's history."""
        ...

    async def open_tab(self) -> None:
        """Open an empty tab, which is then the current one."""
        ...

    async def focus_tab(self, index: int) -> None:
        """Make another tab the current one; index from 0, in the order in which they are shown."""
        ...

    async def close_tab(self) -> None:
        """Close the current tab."""
        ...

    async def call(self, verb: str, code: str, text: str) -> None:
        """Do what one line of Playwright code says, from a list of allowed calls; it is never evaluated."""
        ...

    async def ask_user(self, question: str) -> None:
        """Ask the user of the task; the answer is a notice of the next observation."""
        ...

    async def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression in the current page, out of sight of the page's own scripts.

        For scripts an action's author wrote; text of a model or a page must never become part of one.
        """
        ...
