"""An agent whose model acts by calling functions: one for each action, made from its class.

One reply may hold several calls. Each becomes a separate step, decided and recorded like any other; those to come are
in the memory of the first one's decision, so a resumed episode goes on with them and pays for nothing again. They are
dropped, and the model notified, when one before them was not performed or their element is gone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from harness.actions import (
    Action,
    ActionSet,
    CairnActionSet,
    InvalidAction,
    KeepNote,
    Keyboard,
    Mouse,
    Stop,
    Upload,
    extract,
    resolve,
)
from harness.actions.tool_schema import description_of, parameters_of
from harness.agents import asking, note
from harness.agents.calls import MOST_CALLS, acting, memory_of, next_call, read_call, turns
from harness.agents.conversation import SPLITTER, Conversation
from harness.agents.kind import AgentContext
from harness.agents.page_view import PageView
from harness.agents.task_images import with_objective
from harness.api import Agent, ChatModel, Decision
from harness.choices import ObservationType
from harness.errors import ActionSyntaxError, ConfigError
from harness.records import (
    ComputerTool,
    Episode,
    LiveObservation,
    Message,
    Observation,
    Reply,
    Task,
    Tool,
    ToolCall,
)
from harness.settings.agents import ToolsSettings

NO_CALL = "your reply held no call; call a function, and stop with the answer when you are done"


class Toolset(Protocol):
    """What a model may call, and how it sees what came of it."""

    @property
    def tools(self) -> Sequence[Tool | ComputerTool]: ...

    def read(self, call: ToolCall) -> Action:
        """`InvalidAction` for a call that is not an action."""
        ...

    def still_fits(self, action: Action, before: Observation, view: LiveObservation) -> bool:
        """Whether a call that was made upon one page can be performed on another."""
        ...

    async def show(self, messages: tuple[Message, ...], episode: Episode, view: LiveObservation) -> tuple[Message, ...]:
        """The conversation with the pictures that belong to it."""
        ...


@dataclass(frozen=True)
class ToolBox:
    """The actions as functions; fits `Toolset`."""

    actions: Sequence[type[Action]]
    strict: bool = True
    shows: PageView = PageView()  # noqa: RUF009 (immutable)
    """How the page is shown; pictures are a separate message."""
    files: str = ""
    """What is said of the files that may be uploaded; "" = none may."""

    @cached_property
    def by_name(self) -> Mapping[str, type[Action]]:
        return {action.kind: action for action in self.actions}

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Raises: TypeError: An action cannot be called; see `parameters_of`."""
        return tuple(
            Tool(
                name=action.kind,
                description=self._description(action),
                parameters=parameters_of(action),
                strict=self.strict,
            )
            for action in self.actions
        )

    def _description(self, action: type[Action]) -> str:
        said = description_of(action)
        return f"{said} {self.files}" if self.files and issubclass(action, Upload) else said

    def still_fits(self, action: Action, before: Observation, view: LiveObservation) -> bool:
        """See `Toolset.still_fits`: as long as its elements are there."""
        # Not as long as the page is the same: each field of a form that is filled in changes it.
        return all(target.id in view.nodes for target in action.targets)

    async def show(self, messages: tuple[Message, ...], episode: Episode, view: LiveObservation) -> tuple[Message, ...]:
        """See `Toolset.show`."""
        picture = await self.shows.as_message(view)
        shown = with_objective(messages, view.task_images, self.shows.detail)
        return shown if picture is None else (*shown, picture)

    def read(self, call: ToolCall) -> Action:
        """`InvalidAction` for a call that is none of these actions."""
        if (action := self.by_name.get(call.name)) is None:
            known = ", ".join(self.by_name)
            return InvalidAction(why=f"there is no function {call.name[:80]!r}; there are {known}")
        return read_call(action, call)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsAgent:
    """An `Agent`."""

    model: ChatModel
    conversation: Conversation
    box: Toolset
    action_set: ActionSet
    """Reads an action that stands in a text."""
    stops_at_checks: bool = False
    """A call that its provider wants to have checked ends the episode; else it is performed, as no person watches."""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        """The next call of the last reply, if it still can be made; else the model is asked."""
        # Each call is a step with its own record: with a list of actions in one decision, a kill among them would look
        # like a kill before them.
        if (waiting := next_call(episode)) is not None:
            action, begun = self._called(waiting, task), turns(episode)[-1].start
            before = replace(episode, steps=episode.steps[:begun], pending=None).last
            if before is not None and self.box.still_fits(action, before.observation, view):
                return Decision(action=resolve(action, view.nodes), memory={"of": begun + 1})
        return await self._ask(task, episode, view)

    async def _ask(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        messages = await self.box.show(self.conversation.messages(task, episode, view.observation), episode, view)
        reply = Reply()
        tools = asking.with_question(self.box.tools, task)
        for _ in range(self.conversation.settings.parsing_retries + 1):
            reply = (await self.model.ask(messages, tools)).after(reply)
            action = self._read(reply, episode, task)
            if not isinstance(action, InvalidAction):
                break
        # The last call of a reply that was cut off may be cut off, too.
        kept = replace(reply, tool_calls=()) if reply.unfinished else reply
        memory = memory_of(kept, note=self._note(episode, kept), by=self.conversation.model_key)
        return Decision(action=resolve(action, view.nodes), messages=messages, reply=reply, memory=memory)

    def _note(self, episode: Episode, reply: Reply) -> str | None:
        """The note after this reply: that of a call, else the one before; None = the agent keeps none."""
        if not self.conversation.settings.memory:
            return None
        written = note.called(reply.tool_calls[:MOST_CALLS])
        past = turns(episode)
        return written if written is not None else (past[-1].note if past else None) or ""

    def _read(self, reply: Reply, episode: Episode, task: Task) -> Action:
        if reply.unfinished:
            return InvalidAction(why=reply.why_unfinished)
        if reply.tool_calls:
            calls = reply.tool_calls[:MOST_CALLS]
            return self._called(calls[acting(calls, keeps_note=self.conversation.settings.memory)[0]], task)
        return self._from_text(reply.text, episode, task)

    def _called(self, call: ToolCall, task: Task) -> Action:
        """The checks of a call are in the decision's memory, whatever becomes of it."""
        if call.safety_checks and self.stops_at_checks:
            return Stop(answer="")
        return asking.asked(call, task) or self.box.read(call)

    def _from_text(self, text: str, episode: Episode, task: Task) -> Action:
        """A model that calls nothing: an action in its text counts, and a text that it insists on is its answer."""
        if SPLITTER in text:
            try:
                return asking.parse(self.action_set, extract(text, SPLITTER), task)
            except ActionSyntaxError:
                pass
        last = episode.steps[-1].decided.action if episode.steps else None
        # Once it may be thinking aloud, twice it is meant. To take neither would lose answers.
        if text.strip() and isinstance(last, InvalidAction) and last.why == NO_CALL:
            return Stop(answer=text.strip())
        return InvalidAction(why=NO_CALL)


class ToolsKind:
    """Fits `AgentKind`."""

    def check(self, settings: ToolsSettings, context: AgentContext) -> None:
        """See `AgentKind.check`."""
        tool_box(settings, context)

    def make(self, settings: ToolsSettings, context: AgentContext, model: ChatModel) -> Agent:
        """See `AgentKind.make`."""
        return calling_agent(settings, context, model, tool_box(settings, context))


def tool_box(settings: ToolsSettings, context: AgentContext) -> ToolBox:
    """The actions as functions, without those by sight where nothing is seen.

    Raises:
        ConfigError: The action set has no functions, or one of its actions cannot be one.
    """
    chosen = context.action_set
    if not isinstance(chosen, CairnActionSet):
        raise ConfigError(
            f"agent={settings.name} calls functions, but action_set={chosen.name} has none; "
            f"set action_set={CairnActionSet.name}"
        )
    by_sight = () if ObservationType.image in context.observation.parts else (Mouse, Keyboard)
    noting = (KeepNote,) if settings.memory else ()
    actions = (*(one for one in chosen.actions if one not in by_sight), *noting)
    box = ToolBox(actions, settings.strict, context.page_view(settings), context.files)
    try:
        # Made now, so that an action that cannot be called is one sentence before anything is played.
        assert box.tools
    except TypeError as error:
        raise ConfigError(f"actions: {error}") from error
    return box


def calling_agent(settings: ToolsSettings, context: AgentContext, model: ChatModel, box: Toolset) -> ToolsAgent:
    """An agent whose model calls what is in the box."""
    conversation = Conversation(
        settings=settings,
        action_set=context.action_set,
        tabs_only=not context.page_view(settings).text,
        model_key=context.model_key,
    )
    return ToolsAgent(
        model=model,
        conversation=conversation,
        box=box,
        action_set=context.action_set,
    )
