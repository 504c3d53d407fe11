"""An agent whose model acts by calling functions: one for each action, made from its class.

One reply may hold several calls. Each becomes a step of its own, decided and recorded like any other; those to come are
in the memory of the first one's decision, so a resumed episode goes on with them and pays for nothing again. They are
dropped, and the model told, when one before them was not performed or their element is gone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from harness.actions import Action, ActionSet, InvalidAction, Stop, extract, resolve
from harness.actions.tool_schema import description_of, parameters_of, read_arguments
from harness.agents.calls import arguments_of, memory_of, next_call, turns
from harness.agents.conversation import Conversation
from harness.agents.page_view import PageView
from harness.api import ChatModel, Decision
from harness.errors import ActionSyntaxError
from harness.records import Episode, LiveObservation, Reply, Task, Tool, ToolCall

NO_CALL = "your reply held no call; call a function, and stop with the answer when you are done"
_SPLITTER = "```"


@dataclass(frozen=True)
class ToolBox:
    """The actions that a model may call."""

    actions: Sequence[type[Action]]
    strict: bool = True

    @cached_property
    def by_name(self) -> Mapping[str, type[Action]]:
        return {action.kind: action for action in self.actions}

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Raises: TypeError: An action cannot be called; see `parameters_of`."""
        return tuple(
            Tool(
                name=action.kind,
                description=description_of(action),
                parameters=parameters_of(action),
                strict=self.strict,
            )
            for action in self.actions
        )

    def read(self, call: ToolCall) -> Action:
        """`InvalidAction` for a call that is none of these actions."""
        action = self.by_name.get(call.name)
        try:
            if action is None:
                raise ValueError(f"there is no function {call.name[:80]!r}; there are {', '.join(self.by_name)}")
            return read_arguments(action, arguments_of(call))
        except ValueError as error:
            return InvalidAction(why=str(error))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsAgent:
    """An `Agent`."""

    model: ChatModel
    conversation: Conversation
    box: ToolBox
    action_set: ActionSet
    """By which an action in a text is read."""
    parsing_retries: int = 0
    shows: PageView = PageView()  # noqa: RUF009 (immutable)
    """How the page is shown; pictures are a message of their own."""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        """The next call of the last reply, if it still can be made; else the model is asked."""
        if (waiting := next_call(episode)) is not None:
            action = self.box.read(waiting)
            if all(target.id in view.nodes for target in action.targets):
                return Decision(action=resolve(action, view.nodes), memory={"of": turns(episode)[-1].start + 1})
        return await self._ask(task, episode, view)

    async def _ask(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        messages = self.conversation.messages(task, episode, view.observation)
        if (picture := await self.shows.as_message(view)) is not None:
            messages = (*messages, picture)
        reply = Reply()
        for _ in range(self.parsing_retries + 1):
            reply = (await self.model.ask(messages, self.box.tools)).after(reply)
            action = self._read(reply, episode)
            if not isinstance(action, InvalidAction):
                break
        kept = replace(reply, tool_calls=()) if reply.unfinished else reply
        return Decision(action=resolve(action, view.nodes), messages=messages, reply=reply, memory=memory_of(kept))

    def _read(self, reply: Reply, episode: Episode) -> Action:
        if reply.unfinished:
            return InvalidAction(why=reply.why_unfinished)
        if reply.tool_calls:
            return self.box.read(reply.tool_calls[0])
        return self._from_text(reply.text, episode)

    def _from_text(self, text: str, episode: Episode) -> Action:
        """A model that calls nothing: an action in its text counts, and a text that it insists on is its answer."""
        if _SPLITTER in text:
            try:
                return self.action_set.parse(extract(text, _SPLITTER))
            except ActionSyntaxError:
                pass
        last = episode.steps[-1].decided.action if episode.steps else None
        if text.strip() and isinstance(last, InvalidAction) and last.why == NO_CALL:
            return Stop(answer=text.strip())
        return InvalidAction(why=NO_CALL)
