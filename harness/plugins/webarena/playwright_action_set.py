"""WebArena's `playwright` action set: one line of Playwright code, read by pattern and never evaluated.

The verb is the last call outside parentheses; the receiver is not looked at. One difference, on purpose: WebArena
loses the task on `.type("x")`, on any code that holds the letters `type` before `fill(`, and on `stop("")`; here they
are read as they were meant.
"""

import ast
import re
from collections.abc import Callable
from typing import Literal

from harness.api import Action, Goto, Press, Scroll, Stop
from harness.api.actions import CloseTab, Code, GoBack, GoForward, NewTab, TabFocus, webarena_keys
from harness.errors import ActionSyntaxError
from harness.plugins.webarena.linear_search import up_to_first, up_to_last
from harness.plugins.webarena.same_action import equivalent

_ARGUMENT_END = re.compile(r"[\"']\)")
_STOP = re.compile(r"stop\(?\"")


class PlaywrightActionSet:
    name = "playwright"

    def same(self, a: Action, b: Action) -> bool:
        """See `ActionSet.same`."""
        return equivalent(a, b)

    def parse(self, text: str) -> Action:
        verb = _last_call(text).split("(")[0]
        if verb in _BARE:
            return _BARE[verb]()
        if verb not in _CALLS:
            raise ActionSyntaxError(f"unknown playwright action {verb!r}")
        return _CALLS[verb](text)

    def render(self, action: Action, *, reply: str | None = None, splitter: str = "```") -> str:
        """WebArena's history shows code only, and is silent about everything else."""
        return action.pw_code if isinstance(action, Code) else ""


def _last_call(code: str) -> str:
    """What follows the last dot outside parentheses: one whose next parenthesis does not close."""
    following = ""
    for position in range(len(code) - 1, -1, -1):
        if code[position] in "()":
            following = code[position]
        elif code[position] == "." and following != ")":
            return code[position + 1 :]
    return code


def _quoted(call: str, code: str) -> str:
    """The first quoted argument of `call(`, which ends where a quote is followed by a parenthesis."""
    found = up_to_first(code, re.compile(rf"(?:{call})\([\"']"), _ARGUMENT_END)
    if found is None:
        raise ActionSyntaxError(f"cannot read {code!r}; this call needs one quoted, non-empty argument")
    return found


def _press(code: str) -> Action:
    return Press(key_comb=webarena_keys(_quoted("press", code)))


def _scroll(code: str) -> Action:
    return Scroll(direction="up" if "up" in code else "down")


def _type(code: str) -> Action:
    return Code(verb="type", pw_code=code, text=_meant(code, _quoted("type|fill", code)))


def _meant(code: str, quoted: str) -> str:
    """What the last call's argument says in Python, as WebArena types it: `\\n` and `\\'` are one character."""
    try:
        call = ast.parse(code, mode="eval").body
    # The parser gives up deeply nested calls with one of the last two.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return quoted
    match call:
        case ast.Call(args=[ast.Constant(value=str(text)), *_]):
            # Halves of a character that are escaped one by one are put together, as a journal holds none.
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return quoted


def _goto(code: str) -> Action:
    return Goto(url=_quoted("goto", code))


def _page_focus(code: str) -> Action:
    found = re.search(r"page_focus\(0*(\d{1,18})\)", code)
    if found is None:
        raise ActionSyntaxError(f"cannot read {code!r}; page_focus needs a tab number")
    return TabFocus(index=int(found[1]))


def _stop(code: str) -> Action:
    return Stop(answer=up_to_last(code, _STOP, '")', least=0) or "")


def _keep(verb: Literal["click", "hover", "check", "select_option"]) -> Callable[[str], Action]:
    return lambda code: Code(verb=verb, pw_code=code)


_BARE: dict[str, Callable[[], Action]] = {
    "new_tab": NewTab,
    "page_close": CloseTab,
    "go_back": GoBack,
    "go_forward": GoForward,
}
_CALLS: dict[str, Callable[[str], Action]] = {
    "press": _press,
    "scroll": _scroll,
    "click": _keep("click"),
    "hover": _keep("hover"),
    "check": _keep("check"),
    "select_option": _keep("select_option"),
    "type": _type,
    "fill": _type,
    "goto": _goto,
    "page_focus": _page_focus,
    "stop": _stop,
}
