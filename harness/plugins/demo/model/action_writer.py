"""How a step of a plan is written as an action of the set that a prompt offers, and which single actions it takes.

Three sets are known by what a prompt says of them: cairn's and WebArena's with ids, and WebArena's of Playwright calls.
Where a set has no `clear`, old text goes as a person would make it go: click into the field, select all, delete, type.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from harness.api import Goto, Press, Stop
from harness.api.actions import Code
from harness.api.command_line import Registry
from harness.errors import ActionSyntaxError
from harness.plugins.demo.model.prompt_parser import PromptElement
from harness.plugins.demo.model.scripts import ScriptStep


class Syntax(Enum):
    CAIRN = "cairn"
    IDS = "id_accessibility_tree"
    PLAYWRIGHT = "playwright"


class CannotWrite(Exception):
    """The set has no way of writing the step; the message says why in one sentence."""


AIMED = frozenset({"click", "dblclick", "hover", "type", "select", "check", "uncheck", "drag", "upload"})
SEARCHES: Mapping[Syntax, tuple[str, ...]] = {
    **dict.fromkeys((Syntax.CAIRN, Syntax.IDS), ("scroll [down]", "scroll [down]", "press [PageDown]")),
    Syntax.PLAYWRIGHT: ('page.scroll("down")', 'page.scroll("down")', 'page.press("PageDown")'),
}
_BY_ID: Mapping[str, str] = {
    "click": "click [{id}]",
    "dblclick": "dblclick [{id}]",
    "hover": "hover [{id}]",
    "check": "check [{id}]",
    "uncheck": "uncheck [{id}]",
    "drag": "drag [{id}] [{onto}]",
    "upload": "upload [{id}] [{step.file}]",
    "type": "type [{id}] [{step.text}] [{step.enter:d}]",
    "clear": "clear [{id}] [{step.text}] [{step.enter:d}]",
    "select": "select [{id}] [{step.option}]",
    "press": "press [{step.key}]",
    "scroll": "scroll [{step.direction}]",
    "goto": "goto [{step.url}]",
    "tab_focus": "tab_focus [{step.index}]",
    "ask_user": "ask_user [{step.question}]",
    "stop": "stop [{step.answer}]",
}
"""Verb to its form; a verb that is not here takes no argument."""
_ONLY_CAIRN = frozenset({"dblclick", "drag", "upload", "wait", "ask_user"})
"""Verbs that neither of WebArena's sets has."""
_CALLS: Mapping[str, str] = {
    "scroll": 'scroll("{step.direction}")',
    "tab_focus": "page_focus({step.index})",
    "close_tab": "page_close()",
}
_SELECT = {"select_option": "select"}
"""Playwright's verb that a plan calls otherwise."""
_ACTION_SETS = Registry(group="cairn.action_sets", noun="action_set")


def syntax_of(system: str) -> Syntax | None:
    """The action set that a prompt describes; None = none we can write."""
    if "page." in system and ".click()" in system:  # first: a prompt may show `click [1]` as an example in every set
        return Syntax.PLAYWRIGHT
    if "click [" in system:
        return Syntax.CAIRN if "clear [" in system else Syntax.IDS
    return None


def units(steps: Sequence[ScriptStep], syntax: Syntax) -> Iterator[ScriptStep]:
    """The steps as single actions of the set."""
    for step in steps:
        if step.do == "select" and syntax is Syntax.IDS:
            yield replace(step, do="type", text=step.option, enter=True)
        elif (step.do == "check" and syntax is Syntax.IDS) or (step.do == "uncheck" and syntax is not Syntax.CAIRN):
            yield replace(step, do="click")
        elif step.do == "type" and syntax is not Syntax.CAIRN:
            if step.clear:
                yield replace(step, do="click", clear=False)
                yield ScriptStep(do="press", key="Control+a")
                yield ScriptStep(do="press", key="Delete")  # `type` clicks, which would undo the selection
            apart = step.enter and syntax is Syntax.PLAYWRIGHT
            yield replace(step, clear=False, enter=step.enter and not apart)
            if apart:
                yield ScriptStep(do="press", key="Enter")
        else:
            yield step


def written(
    step: ScriptStep, element: PromptElement | None, nth: int, syntax: Syntax, *, onto: PromptElement | None = None
) -> str:
    """The action.

    Args:
        step: One of `units`.
        element: What it is aimed at; None = at nothing.
        nth: 0-based position of the element among those in sight of its role and name.
        syntax: The set.
        onto: Of a drag: what the element is dropped on.
    Raises:
        CannotWrite: The set cannot say this.
    """
    if step.do in _ONLY_CAIRN and syntax is not Syntax.CAIRN:
        raise CannotWrite(f"the action set {syntax.value} has no {step.do}")
    if syntax is Syntax.PLAYWRIGHT:
        return _call(step, element, nth)
    verb = "clear" if step.clear else step.do
    return _BY_ID.get(verb, verb).format(id=element.id if element else "", onto=onto.id if onto else "", step=step)


def _call(step: ScriptStep, element: PromptElement | None, nth: int) -> str:
    """The step as Playwright code that is read as it is meant."""
    if element is not None:
        code = f"page.{_locator(element)}{f'.nth({nth})' if nth else ''}.{_final(step)}"
        meant: object = step.text
    else:
        code, meant = _on_page(step)
    try:
        action = _ACTION_SETS.find("playwright")().parse(code)
    except ActionSyntaxError as exc:
        raise CannotWrite(f"Playwright's syntax cannot say {step.do} here ({exc})") from exc
    match action:
        case Code(verb="type", text=read) | Goto(url=read) | Press(key_comb=read) | Stop(answer=read) if read != meant:
            raise CannotWrite(f"Playwright's syntax cannot say {meant!r}, it would be read as {read!r}")
    if element is not None and done_by(code) != step.do:
        raise CannotWrite(f"Playwright's syntax cannot {step.do} {element.name!r}, it would be read as {done_by(code)}")
    return code


def done_by(code: str) -> str | None:
    """What a step that is written so does; None = it cannot be read."""
    try:
        action = _ACTION_SETS.find("playwright")().parse(code)
    except ActionSyntaxError:
        return None
    return _SELECT.get(action.verb, action.verb) if isinstance(action, Code) else action.kind


def _locator(element: PromptElement) -> str:
    if element.role == "StaticText":
        return f"get_by_text({element.name!r}, exact=True)"
    named = f", name={element.name!r}, exact=True" if element.name else ""
    return f"get_by_role({element.role!r}{named})"


def _final(step: ScriptStep) -> str:
    match step.do:
        case "type":
            return f"fill({step.text!r})"
        case "select":
            return f"select_option({step.option!r})"
        case other:
            return f"{other}()"


def _on_page(step: ScriptStep) -> tuple[str, str]:
    """The code, and the text that it shall be read as."""
    match step.do:
        case "press" | "goto":
            text = step.key or step.url
            return f"page.{step.do}({text!r})", text
        case "stop":
            return f'page.stop("{step.answer}")', step.answer
        case other:
            return f"page.{_CALLS.get(other, other + '()').format(step=step)}", ""
