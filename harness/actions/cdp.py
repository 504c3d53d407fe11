"""A step of an agent's process that drives the browser itself."""

from dataclasses import dataclass
from typing import ClassVar

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.errors import ActionFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Cdp(Action):
    """Commands of an agent's process to the browser (`agent.browser=cdp`), from the first until the page is quiet.

    Which commands they are is recorded with them, as `commanded`.
    """

    kind: ClassVar[str] = "cdp"
    number: int
    """Of the step: what follows the first command is not known yet, so no two of these are the same."""
    first: str
    """The first command, for people; "" = a script of the process changed the page."""

    def render(self) -> str:
        return f"cdp [{self.first or 'a script of the agent changed the page'}]"

    async def perform(self, browser: BrowserControls) -> None:
        raise ActionFailed("only the agent's process can send these commands")

    def may_change_sites(self) -> bool:
        return True
