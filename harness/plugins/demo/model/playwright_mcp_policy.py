"""The scripted policy for tools of Playwright's MCP server: the same plan, followed by its calls.

A pure function of the request. The first message of the user is the objective, each call but a look at the page is one
step of the plan, and elements are chosen by role and name from the newest snapshot that a result holds, whose
references are all it knows of the page. A call that failed ends the plan with a sentence.

Source: tools and snapshots as of @playwright/mcp 0.0.83.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.plugins.demo.model.action_writer import AIMED
from harness.plugins.demo.model.conversation import ScriptedCall
from harness.plugins.demo.model.element_choice import CLICKS, NotShown, ShownElement, aimed_at, cannot, misfit
from harness.plugins.demo.model.scripted_policy import ScriptedAnswer
from harness.plugins.demo.model.scripts import Script, Scripts, ScriptStep

SNAPSHOT = "browser_snapshot"
_ELEMENT = re.compile(r"""\s*- '?([a-zA-Z]+)(?: "((?:[^"\\]|\\.)*)")?((?: \[[^\]]*\])*)'?(?::(.*))?""")
_REFERENCE = re.compile(r"\[ref=([^\]]+)\]")
_FAILED = "### Error"
_ON_PAGE: Mapping[str, Callable[[ScriptStep], tuple[str, dict[str, Any]]]] = {
    "goto": lambda step: ("browser_navigate", {"url": step.url}),
    "go_back": lambda step: ("browser_navigate_back", {}),
    "go_forward": lambda step: ("browser_evaluate", {"function": "() => history.forward()"}),
    "press": lambda step: ("browser_press_key", {"key": step.key}),
    "scroll": lambda step: ("browser_press_key", {"key": "PageDown" if step.direction == "down" else "PageUp"}),
    "new_tab": lambda step: ("browser_tabs", {"action": "new"}),
    "tab_focus": lambda step: ("browser_tabs", {"action": "select", "index": step.index}),
    "close_tab": lambda step: ("browser_tabs", {"action": "close"}),
}


def offers_playwright(tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these are the tools of Playwright's MCP server."""
    return any(tool.get("name") == SNAPSHOT for tool in tools)


def reply_with_playwright(messages: Sequence[Mapping[str, Any]], plans: Scripts) -> ScriptedAnswer:
    """Answer a request that offers the tools; the same messages always give the same answer."""
    objective = next((_text(one.get("content")) for one in messages if one.get("role") == "user"), "")
    results = [_text(one.get("content")) for one in messages if one.get("role") == "tool"]
    done = [name for name in _called(messages) if name != SNAPSHOT]
    plan, step = plans.find(objective), len(results) + 1
    if plan is None:
        return misfit("there is no plan for this objective", None, step)
    try:
        return _next(plan, done, results, looked=_called(messages)[-1:] == [SNAPSHOT], number=step)
    except NotShown as error:
        return misfit(str(error), plan, step)


def _next(plan: Script, done: Sequence[str], results: Sequence[str], *, looked: bool, number: int) -> ScriptedAnswer:
    """What the plan has next.

    Raises:
        NotShown: It cannot be done.
    """
    if results and _FAILED in results[-1]:
        raise NotShown("the last call failed")
    if len(done) >= len(plan.steps):
        raise NotShown("the plan is at its end")
    step = plan.steps[len(done)]
    if step.do == "stop":
        return ScriptedAnswer(text=step.answer or "Done.", task_id=plan.task_id, step=number)
    if step.do in AIMED and not looked:
        call = ScriptedCall(name=SNAPSHOT, arguments={})
    else:
        call = _call(step, _elements(results[-1]) if results else [])
    return ScriptedAnswer(text="", task_id=plan.task_id, step=number, calls=(call,))


def _call(step: ScriptStep, elements: Sequence[ShownElement]) -> ScriptedCall:
    """The call that a step is.

    Raises:
        NotShown: Of the element it is aimed at.
    """
    if step.do not in AIMED:
        if step.do not in _ON_PAGE:
            raise cannot(step)
        name, arguments = _ON_PAGE[step.do](step)
        return ScriptedCall(name=name, arguments=arguments)
    element = aimed_at(step, elements)
    aim: dict[str, Any] = {"element": " ".join((element.role, *element.names)), "target": element.id}
    match step.do:
        case "type":
            submit = {"submit": True} if step.enter else {}
            return ScriptedCall(name="browser_type", arguments=aim | {"text": step.text} | submit)
        case "select":
            return ScriptedCall(name="browser_select_option", arguments=aim | {"values": [step.option]})
        case "dblclick":
            return ScriptedCall(name="browser_click", arguments=aim | {"doubleClick": True})
        case "hover":
            return ScriptedCall(name="browser_hover", arguments=aim)
        case do if do in CLICKS:
            return ScriptedCall(name="browser_click", arguments=aim)
    raise cannot(step)


def _called(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the calls so far."""
    calls = [call for one in messages if one.get("role") == "assistant" for call in one.get("tool_calls") or ()]
    return [str((call.get("function") or {}).get("name")) for call in calls]


def _elements(result: str) -> list[ShownElement]:
    """The elements of a snapshot, in order, with their references."""
    found = []
    for line in result.split("\n"):
        match = _ELEMENT.fullmatch(line)
        if match and (reference := _REFERENCE.search(match[3] or "")):
            name = re.sub(r"\\(.)", r"\1", match[2] or "") or (match[4] or "").strip().strip('"')
            found.append(ShownElement(id=reference[1], role=match[1], names=(name,)))
    return found


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
