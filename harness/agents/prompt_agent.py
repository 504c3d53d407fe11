"""An agent that asks a chat model what to do next, one prompt per step.

It is a function of (task, episode, view): everything it knows of earlier steps it reads from the episode. A reply
without a readable action becomes `InvalidAction`, which counts as a step; only errors of the model itself are raised.
"""

from dataclasses import dataclass, replace
from typing import Any

from harness.actions import Action, ActionSet, AskUser, InvalidAction, extract, resolve
from harness.actions.truncate import cut
from harness.agents import asking, note, page
from harness.agents.kind import AgentContext
from harness.agents.page_view import PageView
from harness.agents.prompt import Prompt, read_prompt
from harness.agents.prompt_history import MOST_OF_A_REPLY, first_kept, turn_tokens
from harness.api import Agent, ChatModel, Decision, Message, Reply
from harness.errors import ActionSyntaxError
from harness.records import Episode, LiveObservation, Task
from harness.settings.agents import PromptSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptAgent:
    """An `Agent`; whether it thinks aloud first or answers directly is up to the prompt."""

    model: ChatModel
    prompt: Prompt
    action_set: ActionSet
    shows: PageView = PageView()  # noqa: RUF009 (immutable)
    """How the page is shown."""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        """See `Agent.decide`; the reply's usage covers all requests of the step."""
        messages = await self.shows.with_pictures(self._messages(task, episode, view), view)
        reply = Reply()
        for _ in range(self.prompt.settings.parsing_retries + 1):
            reply = (await self.model.ask(messages)).after(reply)
            action = self._read(reply, task)
            if not isinstance(action, InvalidAction):
                break
        memory = self._memory(episode, reply)
        return Decision(action=resolve(action, view.nodes), messages=messages, reply=reply, memory=memory)

    def _messages(self, task: Task, episode: Episode, view: LiveObservation) -> tuple[Message, ...]:
        """The prompt, with past turns between its beginning and the question of this step."""
        *beginning, question = self._prompted(task, episode, view)
        if self.prompt.settings.memory:
            beginning[0] = replace(beginning[0], content=f"{beginning[0].content}\n{note.RULE}")
        if task.user is not None:
            beginning[0] = replace(beginning[0], content=f"{beginning[0].content}\n{AskUser.prompt}\n")
        past, settings = range(0), self.prompt.settings
        if settings.history:
            first = first_kept(self._sizes(episode), most=settings.history, budget=settings.history_tokens)
            past = range(first, len(episode.steps))
        return (*beginning, *(message for at in past for message in self._turn(task, episode, at)), question)

    def _prompted(self, task: Task, episode: Episode, view: LiveObservation) -> tuple[Message, ...]:
        *beginning, question = self.prompt.messages(self._values(task, episode, view))
        if self.prompt.settings.memory and episode.steps and (kept := note.noted(episode.steps[-1].decided.memory)):
            question = replace(question, content=f"{note.section(kept)}{question.content}")
        return (*beginning, question)

    def _turn(self, task: Task, episode: Episode, at: int) -> tuple[Message, Message]:
        """A past step as it was asked and answered."""
        before = replace(episode, steps=episode.steps[:at], pending=None)
        assert before.last is not None
        # Without its screenshot, as each would cost as much as the present one.
        asked = self._prompted(task, before, LiveObservation(observation=before.last.observation, nodes={}))[-1]
        answer = cut(episode.steps[at].decided.reply, MOST_OF_A_REPLY) or "(no answer)"
        return asked, Message(role="assistant", content=answer)

    def _sizes(self, episode: Episode) -> list[int]:
        """Estimated tokens of past steps."""
        seen = [one.observation.shown_text for one in (episode.arrival, *(step.acted for step in episode.steps)) if one]
        most = self.prompt.settings.max_observation_tokens
        return [
            turn_tokens(text, step.decided.reply, most=most) for text, step in zip(seen, episode.steps, strict=False)
        ]

    def _memory(self, episode: Episode, reply: Reply) -> Any:
        """What the next decision finds: the note of this reply, or the one before."""
        if not self.prompt.settings.memory:
            return None
        _, written = note.split(reply.text)
        kept = written if written is not None else note.noted(episode.memory)
        return {"note": kept} if kept else None

    def _values(self, task: Task, episode: Episode, view: LiveObservation) -> dict[str, str]:
        seen, splitter = view.observation, self.prompt.settings.splitter
        notices = (*page.unfinished(episode), *seen.notices)
        return {
            "observation": page.observation(self.shows.text_of(view), self.prompt.settings.max_observation_tokens),
            "notices": page.notice_section(notices),
            "url": cut(seen.url, page.MOST_OF_AN_ADDRESS),
            "objective": task.intent,
            "previous_actions": page.previous_actions(episode.steps, self.action_set, splitter) or "None",
        }

    def _read(self, reply: Reply, task: Task) -> Action:
        if reply.unfinished:
            return InvalidAction(why=reply.why_unfinished)
        try:
            said = note.split(reply.text)[0] if self.prompt.settings.memory else reply.text
            return asking.parse(self.action_set, extract(said, self.prompt.settings.splitter), task)
        except ActionSyntaxError as exc:
            return InvalidAction(why=str(exc))


class PromptKind:
    """Fits `AgentKind`."""

    def check(self, settings: PromptSettings, context: AgentContext) -> None:
        """See `AgentKind.check`."""
        _prompt(settings, context)

    def make(self, settings: PromptSettings, context: AgentContext, model: ChatModel) -> Agent:
        """See `AgentKind.make`."""
        return PromptAgent(
            model=model,
            prompt=_prompt(settings, context),
            action_set=context.action_set,
            shows=context.page_view(settings),
        )


def _prompt(settings: PromptSettings, context: AgentContext) -> Prompt:
    name = context.action_set.name
    # Prompts that describe no uploads stay as they were.
    files = (context.files,) if context.files and "upload [" in settings.actions.get(name, "") else ()
    return read_prompt(settings, action_set=name, more=(*context.prompt_lines, *files))
