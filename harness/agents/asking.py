"""The user of a task, offered to an agent: only tasks that have one, so that the prompts of others are as they were."""

from collections.abc import Sequence

from harness.actions import Action, ActionSet, AskUser, CairnActionSet
from harness.actions.tool_schema import description_of, parameters_of
from harness.agents.calls import read_call
from harness.records import ComputerTool, Task, Tool, ToolCall


class AskingActionSet:
    """Any `ActionSet`, and `ask_user` besides."""

    def __init__(self, other: ActionSet) -> None:
        self._other = other
        self.name = other.name
        self.render = other.render
        self.same = other.same

    @property
    def actions(self) -> tuple[type[Action], ...]:
        """Those that can be called by name, if there are any besides; () = they are written as text only."""
        return (*self._other.actions, AskUser) if isinstance(self._other, CairnActionSet) else ()

    def parse(self, text: str) -> Action:
        """See `ActionSet.parse`."""
        verb, _, question = text.strip().partition(" ")
        asked = AskUser.parse(verb, question.strip()) if verb.lower() == AskUser.kind else None
        return asked or self._other.parse(text)


def parse(action_set: ActionSet, text: str, task: Task) -> Action:
    """As `ActionSet.parse`, with `ask_user` in tasks that have a user.

    Raises:
        ActionSyntaxError: It is not an action.
    """
    return (action_set if task.user is None else AskingActionSet(action_set)).parse(text)


def with_question(tools: Sequence[Tool | ComputerTool], task: Task) -> Sequence[Tool | ComputerTool]:
    """The functions, and behind them the one that asks the user."""
    if task.user is None:
        return tools
    is_strict = any(isinstance(tool, Tool) and tool.strict for tool in tools)
    return (
        *tools,
        Tool(
            name=AskUser.kind,
            description=description_of(AskUser),
            parameters=parameters_of(AskUser),
            strict=is_strict,
        ),
    )


def asked(call: ToolCall, task: Task) -> Action | None:
    """The question that a call is; None = it is none, or there is nobody to ask."""
    return read_call(AskUser, call) if task.user is not None and call.name == AskUser.kind else None
