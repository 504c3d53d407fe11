"""The scripted policy for requests of browser-use: the same plan, followed in the JSON that it wants.

A pure function of the request. browser-use shows no accessibility tree but tags, attributes and texts, so the role of
an element follows from its tag, and its name from its own text, its labels, or the text beside it; indexes are all that
is known of the page. The memory of the last answer, which browser-use repeats, says how far the plan is.

Source: prompts and actions as of browser-use 0.13.14.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.api import dumps
from harness.plugins.demo.model.action_writer import AIMED
from harness.plugins.demo.model.element_choice import CLICKS, NotShown, ShownElement, aimed_at, cannot
from harness.plugins.demo.model.scripted_policy import MAX_SEARCHES, ScriptedAnswer
from harness.plugins.demo.model.scripts import Scripts, ScriptStep

_LINE = re.compile(r"(\t*)(?:\|[^|]*\|)?\*?(?:\|scroll element)?\[(\d+)\]<([a-z0-9]+) ?(.*?) ?/>.*")
_ATTRIBUTE = re.compile(r"([a-zA-Z-]+)=(.*?)(?= [a-zA-Z-]+=|$)")
_SO_FAR = re.compile(r"^Done so far: (\d+) of \d+ actions; (\d+) searches\.$", re.MULTILINE)
_TAB = re.compile(r"^Tab ([0-9A-Za-z]{4}): ", re.MULTILINE)
_CURRENT = re.compile(r"^Current tab: ([0-9A-Za-z]{4})", re.MULTILINE)
_EMPTY = "\nEmpty DOM tree"
"""What browser-use says of a tab that has just been opened; it calls small pages empty, too."""
_ROLES: Mapping[str, str] = {
    "a": "link",
    "button": "button",
    "select": "combobox",
    "summary": "DisclosureTriangle",
    "textarea": "textbox",
}
_INPUTS: Mapping[str, str] = {
    "checkbox": "checkbox",
    "number": "spinbutton",
    "radio": "radio",
    "search": "searchbox",
    "submit": "button",
}
_ON_PAGE: Mapping[str, Callable[[ScriptStep], dict[str, Any]]] = {
    "goto": lambda step: {"navigate": {"url": step.url, "new_tab": False}},
    "go_back": lambda step: {"go_back": {"description": None}},
    "press": lambda step: {"send_keys": {"keys": step.key}},
    "scroll": lambda step: {"scroll": {"down": step.direction == "down", "pages": 1.0, "index": None}},
    "stop": lambda step: {"done": {"text": step.answer, "success": True, "files_to_display": []}},
}
"""What browser-use can do to the page; it cannot go forward."""
_TICKED = ("checkbox", "radio")


def is_browser_use(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether this is a request of browser-use."""
    return any("<user_request>" in text and "<browser_state>" in text for text in _said(messages))


def reply_to_browser_use(messages: Sequence[Mapping[str, Any]], plans: Scripts) -> ScriptedAnswer:
    """Answer a request; the same messages always give the same answer."""
    text = next(text for text in reversed(_said(messages)) if "<browser_state>" in text)
    plan = plans.find(_section(text, "user_request"))
    history = _section(text, "agent_history")
    number = history.count("<step>") + 1
    if plan is None:
        return ScriptedAnswer(text=_answer("there is no plan for this objective", [_give_up()]), step=number)
    found = _SO_FAR.findall(history)
    done, searches = (int(found[-1][0]), int(found[-1][1])) if found else (0, 0)
    try:
        taken, actions = _actions(plan.steps[done:], _section(text, "browser_state"))
        memory = f"Done so far: {done + taken} of {len(plan.steps)} actions; 0 searches."
    except NotShown as error:
        memory = f"Done so far: {done} of {len(plan.steps)} actions; {searches + 1} searches."
        actions = [_search(text) if searches < MAX_SEARCHES else _give_up(str(error))]
    return ScriptedAnswer(text=_answer(memory, actions), task_id=plan.task_id, step=number)


def _actions(steps: Sequence[ScriptStep], state: str) -> tuple[int, list[dict[str, Any]]]:
    """The next actions, and how many steps of the plan they are.

    Raises:
        NotShown: Of the page, or of an element that the next step is aimed at.
    """
    if not steps:
        return 0, [_give_up()]
    step = steps[0]
    if _EMPTY in state and step.do != "goto":
        raise NotShown("a page that is still loading")
    if step.do == "new_tab" and len(steps) > 1 and steps[1].do == "goto":
        return 2, [{"navigate": {"url": steps[1].url, "new_tab": True}}]
    if step.do not in AIMED:
        return 1, [_on_page(step, state)]
    index = int(aimed_at(step, _elements(state)).id)
    match step.do:
        case "type":
            typed = {"input": {"index": index, "text": step.text, "clear": step.clear}}
            return 1, [typed, {"send_keys": {"keys": "Enter"}}] if step.enter else [typed]
        case "select":
            return 1, [{"select_dropdown": {"index": index, "text": step.option}}]
    # There is no hovering: a menu that opens under the pointer takes a click.
    can = step.do in CLICKS | {"hover"}
    return int(can), [{"click": {"index": index}} if can else _give_up(str(cannot(step)))]


def _on_page(step: ScriptStep, state: str) -> dict[str, Any]:
    """The action that a step on no element is.

    Raises:
        NotShown: Of a tab.
    """
    tabs = _TAB.findall(state)
    if step.do == "close_tab":
        tabs, step = _CURRENT.findall(state) or tabs[-1:], replace(step, index=0)
    if step.do in ("tab_focus", "close_tab"):
        if len(tabs) <= step.index:
            raise NotShown(f"there is no tab {step.index}")
        return {"switch" if step.do == "tab_focus" else "close": {"tab_id": tabs[step.index]}}
    said = _ON_PAGE.get(step.do)
    return _give_up(str(cannot(step))) if said is None else said(step)


def _elements(state: str) -> list[ShownElement]:
    """The interactive elements, in order."""
    lines = state.split("\n")
    found = []
    for at, line in enumerate(lines):
        if (match := _LINE.fullmatch(line)) is None:
            continue
        attributes = dict(_ATTRIBUTE.findall(match[4]))
        role = _role(match[3], attributes)
        names = [attributes.get("aria-label", ""), _text_in(lines[at + 1 :], len(match[1]))]
        if match[3] in ("input", "select", "textarea"):
            names += [attributes.get("placeholder", ""), _beside(lines, at, 1 if role in _TICKED else -1)]
            names += [_beside(lines, at, -1)]
        found.append(ShownElement(id=match[2], role=role, names=tuple(name for name in names if name)))
    return found


def _role(tag: str, attributes: Mapping[str, str]) -> str:
    if "role" in attributes:
        return attributes["role"]
    return _INPUTS.get(attributes.get("type", ""), "textbox") if tag == "input" else _ROLES.get(tag, tag)


def _text_in(lines: Sequence[str], depth: int) -> str:
    """The text of an element: the lines below its own that are further in."""
    texts = []
    for line in lines:
        if not line.startswith("\t" * (depth + 1)):
            break
        if _LINE.fullmatch(line) is None:
            texts.append(line.strip())
    return " ".join(texts)


def _beside(lines: Sequence[str], at: int, way: int) -> str:
    """The text before or after an element, which is its label where it has one."""
    line = lines[at + way] if 0 <= at + way < len(lines) else ""
    return "" if _LINE.fullmatch(line) else line.strip()


def _answer(memory: str, actions: Sequence[Mapping[str, Any]]) -> str:
    said = {"thinking": None, "evaluation_previous_goal": None, "memory": memory, "next_goal": "Follow the plan."}
    return dumps(said | {"current_plan_item": None, "plan_update": None, "action": list(actions)}).decode()


def _search(text: str) -> dict[str, Any]:
    """What may show what is missing."""
    if _EMPTY in text:
        return {"wait": {"seconds": 1}}
    return {"scroll": {"down": True, "pages": 1.0, "index": None}}


def _give_up(why: str = "") -> dict[str, Any]:
    said = f"I cannot go on: {why}." if why else "I cannot go on."
    return {"done": {"text": said, "success": False, "files_to_display": []}}


def _section(text: str, name: str) -> str:
    """The text of a section; the page's text, which could imitate one, is in the last."""
    return text.partition(f"<{name}>\n")[2].partition(f"\n</{name}>")[0]


def _said(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of the user's messages."""
    texts = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        if message.get("role") == "user" and isinstance(content, str):
            texts.append(content)
    return texts
