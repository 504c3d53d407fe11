"""An agent that asks a chat model what to do next, one prompt per step.

It is a function of (task, episode, view): everything it knows of earlier steps it reads from the episode. A reply
without a readable action becomes `Nothing`, which counts as a step; only errors of the model itself are raised.
"""

from harness.actions import describe, extract, parse, resolve
from harness.actions.space import Action, Nothing
from harness.agents.prompt import Prompt
from harness.agents.trimming import trim
from harness.errors import ActionSyntaxError
from harness.protocols import ChatModel, Decision, Reply
from harness.records import Episode, Refused, Step, Task, Usage, View


class PromptedAgent:
    """An `Agent`; whether it thinks aloud first or answers directly is up to the prompt."""

    def __init__(
        self,
        *,
        model: ChatModel,
        prompt: Prompt,
        action_set: str,
        max_observation_tokens: int = 4000,
        parsing_retries: int = 0,
    ) -> None:
        """Args:
        max_observation_tokens: By the rule of `trimming`; 0 = no limit.
        parsing_retries: How often the same prompt is sent again within one step after an unreadable reply.
        """
        self._model = model
        self._prompt = prompt
        self._action_set = action_set
        self._max_observation_tokens = max_observation_tokens
        self._parsing_retries = parsing_retries

    async def decide(self, task: Task, episode: Episode, view: View) -> Decision:
        """See `Agent.decide`; the reply's usage covers all requests of the step."""
        messages = self._prompt.messages(self._values(task, episode, view))
        usage = Usage()
        for _ in range(self._parsing_retries + 1):
            reply = await self._model.ask(messages)
            usage += reply.usage
            action = self._read(reply.text)
            if not isinstance(action, Nothing):
                break
        total = Reply(text=reply.text, model=reply.model, usage=usage)
        return Decision(action=resolve(action, view.nodes), messages=messages, reply=total)

    def _values(self, task: Task, episode: Episode, view: View) -> dict[str, str]:
        seen = view.observation
        history = [f"{number}. {self._line(step)}" for number, step in enumerate(episode.steps, start=1)]
        return {
            "observation": trim(seen.text, self._max_observation_tokens),
            "notices": "\n".join(["NOTICES:", *(f"- {_on_one_line(one)}" for one in seen.notices)])
            if seen.notices
            else "",
            "url": seen.url,
            "objective": task.intent,
            "previous_actions": "\n".join(history) or "None",
        }

    def _line(self, step: Step) -> str:
        """A step of the history on one line."""
        decided, outcome = step.decided, step.acted.outcome
        line = describe(decided.action, self._action_set, reply=decided.reply, splitter=self._prompt.splitter)
        if isinstance(outcome, Refused):
            line = f"{line} -> refused: {outcome.why}"
        return _on_one_line(line)

    def _read(self, text: str) -> Action:
        try:
            return parse(extract(text, self._prompt.splitter), self._action_set)
        except ActionSyntaxError as exc:
            return Nothing(why=str(exc))


def _on_one_line(text: str) -> str:
    """Line breaks of every kind become blanks, so that a line cannot pass for the header of another section."""
    return " ".join(text.splitlines())
