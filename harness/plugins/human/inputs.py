"""What a person does on the page, as the actions that agents with mouse and keyboard have."""

from collections.abc import Mapping

from harness.api import Action, AskUser, Goto, Stop, read_arguments
from harness.api.actions import CloseTab, GoBack, GoForward, NewTab, Screen, TabFocus

FUNCTIONS: Mapping[str, type[Action]] = {
    one.kind: one for one in (Goto, GoBack, GoForward, NewTab, TabFocus, CloseTab, Stop)
}
"""What no mouse reaches, by name."""


def action_of(said: object, screen: Screen, *, may_ask: bool = False) -> Action:
    """The action.

    Args:
        said: What the page has sent: `{"type": NAME, …}`, as of OpenAI's computer tool or with the arguments of a
            function; anything may be in it.
        screen: The size of the pictures in which points are.
        may_ask: Whether the task has a user who can be asked.
    Raises:
        ValueError: It is none; the sentence is for the person.
    """
    if not isinstance(said, dict):
        raise ValueError("an action must be a JSON object")
    functions = {**FUNCTIONS, AskUser.kind: AskUser} if may_ask else FUNCTIONS
    name = said.get("type")
    function = functions.get(name) if isinstance(name, str) else None
    if function is None:
        return screen.read(said)
    return read_arguments(function, {field: value for field, value in said.items() if field != "type"})
