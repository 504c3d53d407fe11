"""The user of a task, offered to an agent: only tasks that have one, so that the prompts of others are as they were."""

from collections.abc import Sequence

from harness.actions import Action, ActionSet, AskUser
from harness.actions.tool_schema import description_of, parameters_of
from harness.agents.calls import read_call
from harness.records import ComputerTool, Task, Tool, ToolCall

RULE = AskUser.prompt
"""For a prompt, of models that write their actions."""


def parse(action_set: ActionSet, text: str, task: Task) -> Action:
    """As `ActionSet.parse`, with `ask_user` in any action set.

    Raises:
        ActionSyntaxError: It is not an action.
    """
    verb, _, arguments = text.strip().partition(" ")
    if task.user is not None and verb.lower() == AskUser.kind and (read := AskUser.parse(verb, arguments.strip())):
        return read
    return action_set.parse(text)


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
