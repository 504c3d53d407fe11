"""A question to the user, in tasks that have one: who consents, refuses, or tells what the task leaves out."""

from dataclasses import dataclass, field
from typing import ClassVar

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.tool_schema import about


@dataclass(frozen=True, slots=True, kw_only=True)
class AskUser(Action):
    """Asks the user; the answer is among the notices of the observation that it leads to."""

    kind: ClassVar[str] = "ask_user"
    prompt: ClassVar[str] = (
        "You may ask the user, who can consent to something, refuse it, or tell you what the task leaves out. The"
        " action is `ask_user [question]`; it takes a turn, and the answer is shown to you under NOTICES."
    )
    tool: ClassVar[str] = (
        "Ask the user, who can consent to something, refuse it, or tell you what the task leaves out. It takes a turn;"
        " the answer is shown to you under NOTICES."
    )
    navigates: ClassVar[bool] = True
    question: str = field(metadata=about("The whole question; the user sees nothing else of what you do."))
    """What the user is asked."""

    async def perform(self, browser: BrowserControls) -> None:
        await browser.ask_user(self.question)

    def may_change_sites(self) -> bool:
        return False
