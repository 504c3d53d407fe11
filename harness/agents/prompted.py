"""An agent that asks a chat model what to do next, one prompt per step.

It is a function of (task, episode, view): everything it knows of earlier steps it reads from the episode. A reply
without a readable action becomes `Nothing`, which counts as a step; only errors of the model itself are raised.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.actions import describe, extract, parse, resolve
from harness.actions.space import Action, Nothing
from harness.agents.prompt import Prompt
from harness.agents.trimming import trim
from harness.errors import ActionSyntaxError, ConfigError
from harness.protocols import ChatModel, Decision, Message, Reply
from harness.records import Episode, Refused, Step, Task, Unknown, Usage, View


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptedAgent:
    """An `Agent`; whether it thinks aloud first or answers directly is up to the prompt."""

    model: ChatModel
    prompt: Prompt
    action_set: str
    max_observation_tokens: int = 4000
    """By the rule of `trimming`; 0 = no limit."""
    parsing_retries: int = 0
    """How often the same prompt is sent again within one step after an unreadable reply."""
    sees: bool = False
    """The page is shown as a picture; of its text only the tabs are left."""

    async def decide(self, task: Task, episode: Episode, view: View) -> Decision:
        """See `Agent.decide`; the reply's usage covers all requests of the step."""
        messages = self.prompt.messages(self._values(task, episode, view))
        if self.sees:
            messages = _with_picture(messages, view)
        usage, waited_s = Usage(), 0.0
        for _ in range(self.parsing_retries + 1):
            reply = await self.model.ask(messages)
            usage += reply.usage
            waited_s += reply.waited_s
            action = self._read(reply.text)
            if not isinstance(action, Nothing):
                break
        total = Reply(text=reply.text, model=reply.model, usage=usage, waited_s=waited_s)
        return Decision(action=resolve(action, view.nodes), messages=messages, reply=total)

    def _values(self, task: Task, episode: Episode, view: View) -> dict[str, str]:
        seen = view.observation
        history = [f"{number}. {self._line(step)}" for number, step in enumerate(episode.steps, start=1)]
        return {
            "observation": self._observation(seen.text),
            "notices": "\n".join(["NOTICES:", *(f"- {_on_one_line(one)}" for one in seen.notices)])
            if seen.notices
            else "",
            "url": seen.url,
            "objective": task.intent,
            "previous_actions": "\n".join(history) or "None",
        }

    def _observation(self, text: str) -> str:
        if self.sees:
            return text.partition("\n\n")[0]
        return trim(text, self.max_observation_tokens)

    def _line(self, step: Step) -> str:
        """A step of the history on one line."""
        decided, outcome = step.decided, step.acted.outcome
        line = describe(decided.action, self.action_set, reply=decided.reply, splitter=self.prompt.splitter)
        if isinstance(outcome, Refused):
            line = f"{line} -> refused: {outcome.why}"
        elif isinstance(outcome, Unknown) and outcome.why:
            line = f"{line} -> outcome unknown: {outcome.why}"
        return _on_one_line(line)

    def _read(self, text: str) -> Action:
        try:
            return parse(extract(text, self.prompt.splitter), self.action_set)
        except ActionSyntaxError as exc:
            return Nothing(why=str(exc))


def _with_picture(messages: Sequence[Message], view: View) -> tuple[Message, ...]:
    """The last message with the page's picture behind its text."""
    if view.image is None:
        raise ConfigError("observation.type=image needs pictures; set browser.screenshots=true")
    *before, last = messages
    url = f"data:image/png;base64,{b64encode(view.image).decode()}"
    parts = ({"type": "text", "text": last.content}, {"type": "image_url", "image_url": {"url": url}})
    return (*before, replace(last, content=parts))


def _on_one_line(text: str) -> str:
    """Line breaks of every kind become blanks, so that a line cannot pass for the header of another section."""
    return " ".join(text.splitlines())
