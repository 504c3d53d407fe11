"""Actions as text for the history in a prompt.

WebArena's strings are part of what its agents are measured with, so the WebArena sets get them letter for letter, odd
spelling included, also of an element that is not there and of a reply that could not be read. The `cairn` set is shown
its own syntax, which is what it may write again, and is told of an unreadable reply in words of our own.
"""

from harness.actions.types import (
    Action,
    Check,
    Code,
    Drag,
    ElementAction,
    Goto,
    InvalidAction,
    Keyboard,
    Mouse,
    Press,
    Scroll,
    Select,
    Stop,
    TabFocus,
    Type,
    Upload,
)

_UNREADABLE = (
    'No action could be read from your last reply, "{reply}". Put the action between a pair of {splitter} and its '
    "arguments in [], like this: {splitter}action [arg] ...{splitter}"
)
_UNREADABLE_WEBARENA = (
    'The previous prediction you issued was "{reply}". However, the format was incorrect. Ensure that the action is'
    " wrapped inside a pair of {splitter} and enclose arguments within [] as follows: {splitter}action [arg]"
    " ...{splitter}."
)
"""Of a prompted agent; without a prompt WebArena writes `none`."""


def describe(
    action: Action, action_set: str = "id_accessibility_tree", *, reply: str | None = None, splitter: str = "```"
) -> str:
    """One action as a history entry.

    Args:
        action: With its target resolved; a target without a line was not in the observation.
        action_set: Whose way of writing. `playwright` knows only code and is silent about everything else.
        reply: For `InvalidAction`, the reply that could not be read; None = just `none`.
        splitter: What the prompt wraps actions in.
    """
    if action_set == "playwright":
        return action.pw_code if isinstance(action, Code) else ""
    if isinstance(action, InvalidAction) and reply is not None:
        return (_UNREADABLE if action_set == "cairn" else _UNREADABLE_WEBARENA).format(reply=reply, splitter=splitter)
    if isinstance(action, ElementAction):
        return _aimed(action, action_set)
    return _unaimed(action, action_set)


def _aimed(action: ElementAction, action_set: str) -> str:
    target = action.target
    verb = _verb(action)
    if not target.line and action_set != "cairn":
        return (
            f'Attempt to perfom "{verb}" on element "[{target.id}]" but no matching element found. '
            "Please check the observation more carefully."
        )
    words = [verb, f"[{target.id}]", *_arguments(action, action_set)]
    if target.line:
        words.append(f"where [{target.id}] is {target.line}")
    if isinstance(action, Drag) and action.onto.line:
        words.append(f"and [{action.onto.id}] is {action.onto.line}")
    return " ".join(words)


def _verb(action: ElementAction) -> str:
    match action:
        case Type(clear=True):
            return "clear"
        case Check(checked=False):
            return "uncheck"
        case _:
            return action.kind


def _arguments(action: ElementAction, action_set: str) -> list[str]:
    match action:
        case Select(option=argument) | Upload(file=argument):
            return [f"[{_on_one_line(argument)}]"]
        case Drag(onto=onto):
            return [f"[{onto.id}]"]
        case Type():
            pass
        case _:
            return []
    if action_set == "cairn":
        return [f"[{_on_one_line(action.text)}]", f"[{action.enter:d}]"]
    return [f"[{_on_one_line(action.text)}{' ' if action.enter else ''}]"]


def _on_one_line(text: str) -> str:
    return text.replace("\n", " ")


def _unaimed(action: Action, action_set: str) -> str:  # noqa: PLR0911 (one case per kind)
    match action:
        case Scroll(direction=argument) | Press(key_comb=argument) | Goto(url=argument) | Stop(answer=argument):
            return f"{action.kind} [{argument}]"
        case TabFocus(index=index):
            return f"{'tab_focus' if action_set == 'cairn' else 'page_focus'} [{index}]"
        case Code(pw_code=code):
            return code
        case Mouse(verb=verb, x=x, y=y) if action_set == "cairn":
            return f"{verb}_at [{x * 1000 + 0.0:.0f}] [{y * 1000 + 0.0:.0f}]"  # never "-0"
        case Mouse(verb=verb, x=x, y=y):
            return f"{verb} at ({x:g}, {y:g})"
        case Keyboard(text=text) if action_set == "cairn":
            return f"write [{_on_one_line(text)}]"
        case Keyboard(text=text):
            return f"type [{_on_one_line(text)}]"
        case _:
            return action.kind
