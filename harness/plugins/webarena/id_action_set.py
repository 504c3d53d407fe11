"""WebArena's `id_accessibility_tree` action set, bug for bug.

Every pattern is searched for, not matched whole, as WebArena does: what follows a complete action is ignored, and
`type` takes a value for its Enter flag when that is what the text ends with. Two differences, on purpose: empty
input is a syntax error (WebArena loses the task), and any character can be typed (WebArena stops at U+03E7).
"""

import re
from collections.abc import Callable

from harness.api import Action, Click, Goto, InvalidAction, Press, Scroll, Stop, Target, Type
from harness.api.actions import CloseTab, GoBack, GoForward, Hover, NewTab, TabFocus, webarena_keys, written
from harness.errors import ActionSyntaxError
from harness.plugins.webarena.linear_search import typed, up_to_last
from harness.plugins.webarena.same_action import equivalent

_PRESS, _GOTO, _STOP = (re.compile(rf"{verb} ?\[") for verb in ("press", "goto", "stop"))


_UNREADABLE = (
    'The previous prediction you issued was "{reply}". However, the format was incorrect. Ensure that the action is'
    " wrapped inside a pair of {splitter} and enclose arguments within [] as follows: {splitter}action [arg]"
    " ...{splitter}."
)
"""Of a prompted agent; without a prompt WebArena writes `none`."""
_MISSING = (
    'Attempt to perfom "{verb}" on element "[{id}]" but no matching element found. '
    "Please check the observation more carefully."
)


class IdActionSet:
    """WebArena's strings are part of what its agents are measured with: they are kept letter for letter, odd spelling
    included, also of an element that is not there and of a reply that could not be read.
    """

    name = "id_accessibility_tree"

    def same(self, a: Action, b: Action) -> bool:
        """See `ActionSet.same`."""
        return equivalent(a, b)

    def parse(self, text: str) -> Action:
        text = text.strip()
        if not text:
            raise ActionSyntaxError("the reply contains an empty action")
        verb = text.split("[")[0].strip() if "[" in text else text.split()[0]
        if verb in _BARE:
            return _BARE[verb]()
        if verb not in _WITH_ARGUMENT:
            raise ActionSyntaxError(f"unknown action {verb!r}")
        return _WITH_ARGUMENT[verb](text)

    def render(self, action: Action, *, reply: str | None = None, splitter: str = "```") -> str:
        match action:
            case InvalidAction() if reply is not None:
                return _UNREADABLE.format(reply=reply, splitter=splitter)
            case Click(target=target) | Hover(target=target) | Type(target=target) if not target.line:
                return _MISSING.format(verb=action.kind, id=target.id)
            case Type(target=target, text=text, enter=enter):
                return written(action.kind, target, f"{text}{' ' if enter else ''}")
            case TabFocus(index=index):
                return f"page_focus [{index}]"
            case _:
                return action.render()


def _search(pattern: str, text: str, form: str) -> re.Match[str]:
    found = re.search(pattern, text)
    if found is None:
        raise _unreadable(text, form)
    return found


def _unreadable(text: str, form: str) -> ActionSyntaxError:
    return ActionSyntaxError(f"cannot read {text!r}; the form is: {form}")


def _argument(opening: re.Pattern[str], text: str, form: str) -> str:
    """The text between the call's bracket and the last one in its line."""
    if (found := up_to_last(text, opening, "]")) is None:
        raise _unreadable(text, form)
    return found


def _click(text: str) -> Action:
    return Click(target=Target(id=_search(r"click ?\[(\d+)\]", text, "click [id]")[1]))


def _hover(text: str) -> Action:
    return Hover(target=Target(id=_search(r"hover ?\[(\d+)\]", text, "hover [id]")[1]))


def _type(text: str) -> Action:
    if not text.endswith(("[0]", "[1]")):
        text += " [1]"
    if (found := typed(text)) is None:
        raise _unreadable(text, "type [id] [text] [press Enter: 0 or 1]")
    return Type(target=Target(id=found[0]), text=found[1], enter=found[2] == "1")


def _press(text: str) -> Action:
    return Press(key_comb=webarena_keys(_argument(_PRESS, text, "press [keys]")))


def _scroll(text: str) -> Action:
    found = _search(r"scroll ?\[?(up|down)\]?", text, "scroll [up] or scroll [down]")
    return Scroll(direction="up" if found[1] == "up" else "down")


def _goto(text: str) -> Action:
    return Goto(url=_argument(_GOTO, text, "goto [url]"))


def _tab_focus(text: str) -> Action:
    return TabFocus(index=int(_search(r"tab_focus ?\[0*(\d{1,18})\]", text, "tab_focus [index]")[1]))


def _stop(text: str) -> Action:
    return Stop(answer=up_to_last(text, _STOP, "]") or "")


_BARE: dict[str, Callable[[], Action]] = {
    "new_tab": NewTab,
    "close_tab": CloseTab,
    "go_back": GoBack,
    "go_forward": GoForward,
}
_WITH_ARGUMENT: dict[str, Callable[[str], Action]] = {
    "click": _click,
    "hover": _hover,
    "type": _type,
    "press": _press,
    "scroll": _scroll,
    "goto": _goto,
    "tab_focus": _tab_focus,
    "stop": _stop,
}
