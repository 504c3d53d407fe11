"""What ends an episode, and `InvalidAction`, for what is not an action: neither does anything to the browser."""

from dataclasses import dataclass, field
from typing import ClassVar, Self

from harness.actions.action import Action
from harness.actions.browser_controls import BrowserControls
from harness.actions.syntax import read
from harness.actions.tool_schema import about


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(Action):
    """End the task."""

    kind: ClassVar[str] = "stop"
    tool: ClassVar[str] = "End the task. Call it when the objective is met, or cannot be met."
    navigates: ClassVar[bool] = True
    answer: str = field(
        default="",
        metadata=about("Only the answer the objective asks for; empty if it asks for none, N/A if it cannot be met."),
    )
    """What the objective asks for; "" = nothing."""

    @classmethod
    def parse(cls, verb: str, arguments: str) -> Self | None:
        """See `Action.parse`."""
        found = read(arguments or "[]", str)
        return cls(answer=found[0].strip()) if found else None

    async def perform(self, browser: BrowserControls) -> None:
        pass

    def may_change_sites(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidAction(Action):
    """A reply from which no action could be read; it counts as a step and changes nothing."""

    kind: ClassVar[str] = "none"
    navigates: ClassVar[bool] = True
    why: str = ""
    """Why it could not be read, in a sentence for the model."""

    def render(self) -> str:
        return self.kind

    async def perform(self, browser: BrowserControls) -> None:
        pass

    def may_change_sites(self) -> bool:
        return False
