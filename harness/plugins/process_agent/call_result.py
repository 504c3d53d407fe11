"""What the agent's process is given for a call: the outcome, and the page that it led to."""

from base64 import b64encode
from dataclasses import dataclass

from harness.api import InvalidAction, JsonObject, Observation, Refused, Step, Unknown
from harness.api.agent_kinds import page
from harness.api.records import Done

OVER = "RESULT: done\nThe episode is over."


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    text: str
    """For a model."""
    outcome: str = "done"
    """`done`, `refused`, `unknown` (the run was interrupted meanwhile) or `error` (it was not an action)."""
    why: str = ""
    seen: Observation | None = None
    """None = the episode is over."""
    image: bytes | None = None
    """PNG of the viewport, where the agent is given pictures."""

    def as_json(self) -> JsonObject:
        """The result in the form of the HTTP interface."""
        seen = self.seen
        shown = {} if seen is None else {"url": seen.url, "title": seen.title, "page": seen.shown_text}
        picture = {} if self.image is None else {"screenshot": b64encode(self.image).decode()}
        over = {"over": seen is None}
        return {"outcome": self.outcome, "why": self.why, "text": self.text, **over, **shown, **picture}

    def as_mcp(self) -> JsonObject:
        """The result in the form of an MCP tool."""
        content: list[JsonObject] = [{"type": "text", "text": self.text}]
        if self.image is not None:
            content.append({"type": "image", "data": b64encode(self.image).decode(), "mimeType": "image/png"})
        return {"content": content, "isError": self.outcome == "error"}


def result_of(step: Step, seen: Observation, image: bytes | None, *, max_tokens: int) -> CallResult:
    """The result of a performed call.

    Args:
        seen: The page it led to, as it is shown.
    """
    why = step.acted.outcome.why if isinstance(step.acted.outcome, Refused | Unknown) else ""
    outcome = {Done: "done", Refused: "refused", Unknown: "unknown"}[type(step.acted.outcome)]
    if isinstance(step.decided.action, InvalidAction):
        outcome, why = "error", step.decided.action.why
    text = f"{page.result_line(step)}\n{page.sections(seen, max_tokens)}"
    return CallResult(text=text, outcome=outcome, why=why, seen=seen, image=image)


def look(seen: Observation, image: bytes | None, *, max_tokens: int) -> CallResult:
    """The page as it is, which is not a step."""
    return CallResult(text=page.sections(seen, max_tokens), seen=seen, image=image)
