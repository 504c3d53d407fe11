"""The scripted policy for requests that offer a computer tool: the same plan, followed by mouse and keyboard.

It reads no pictures. Where things are it knows only from the legend that `agent.legend=true` sends, and from nowhere
else; without one it says so. Each step of a plan becomes what a person would do: a field is clicked and typed into, a
list is clicked and its option typed.
"""

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from harness.api import CodecError, loads
from harness.api.actions import Screen
from harness.plugins.demo.model.conversation import ScriptedCall
from harness.plugins.demo.model.prompt_parser import section_of, text_of
from harness.plugins.demo.model.scripted_policy import NO_REQUEST, Misfit, ScriptedAnswer, follow_plan
from harness.plugins.demo.model.scripts import Script, Scripts, ScriptStep
from harness.plugins.demo.model.tool_policy import performed

MAX_SEARCHES = 12
_LINE = re.compile(r"""\((\d+), (\d+)\) (\S+) ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_ANY_SCREEN = Screen(width=1_000_000, height=1_000_000)
"""Only what was done counts here, not where."""
_VERBS = {"click": "click_at", "move": "hover_at", "write": "write", "press": "press", "scroll": "scroll_at"}
_FUNCTIONS: Mapping[str, tuple[str, ...]] = {"goto": ("url",), "tab_focus": ("index",), "stop": ("answer",)}
_SKIPPED = frozenset({"none", "screenshot", "zoom", "wait"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One thing done with mouse or keyboard, or one function called."""

    do: str
    step: ScriptStep
    text: str = ""

    @property
    def aims(self) -> bool:
        return self.do in ("click", "move")


def reply_with_computer(messages: Sequence[Mapping[str, Any]], plans: Scripts, *, openai: bool) -> ScriptedAnswer:
    """Answer a request that offers a computer tool; `openai`: by whose names actions go."""
    first = next((text_of(one.get("content")) for one in messages if one.get("role") == "user"), "")
    objective = section_of(first, "OBJECTIVE")
    if objective is None:
        return NO_REQUEST

    def decide(plan: Script) -> tuple[str, tuple[ScriptedCall, ...]]:
        said, calls = next_calls(messages, plan, dialect="openai" if openai else "anthropic")
        return said, tuple(ScriptedCall(name=name, arguments=arguments) for name, arguments in calls)

    return follow_plan(plans, objective, len(list(previous_actions(messages))), decide)


def next_calls(
    messages: Sequence[Mapping[str, Any]], plan: Script, *, dialect: str
) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """What is said, and the calls: name and arguments.

    Args:
        messages: The conversation, in the shape of chat completions.
        plan: Of its task.
        dialect: `openai` or `anthropic`, by whose names actions go.
    Raises:
        Misfit: The plan does not fit.
    """
    deeds = [deed for step in plan.steps for deed in _deeds(step)]
    position, searches = _walk(deeds, list(previous_actions(messages)))
    first = deeds[position]
    said = f"Action {position + 1} of {len(deeds)}: {first.do.replace('_', ' ')}."
    if not first.aims:
        return said, [_call(first, dialect)]
    shown = legend_of(messages)
    if shown is None:
        raise Misfit("the request has no legend, and I cannot read pictures; set agent.legend=true")
    found = [place for place, role, name in shown if _matches(first.step, role, name)]
    if len(found) <= first.step.nth:
        if searches >= MAX_SEARCHES:
            raise Misfit(f"there is no {first.step.role} {first.step.name!r} in sight")
        return f"{said} It is not in sight, so I scroll.", [_scroll(searches, dialect)]
    calls = [_at(first, found[first.step.nth], dialect)]
    for deed in deeds[position + 1 :]:
        if deed.step is not first.step:
            break
        calls.append(_call(deed, dialect))
    return said, calls


def previous_actions(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What was performed, a line each as histories have it."""
    waiting: list[str] = []
    results: list[str] = []
    for number, message in enumerate(messages):
        text = text_of(message.get("content"))
        match message.get("role"):
            case "user" if (listed := section_of(text, "PREVIOUS ACTIONS")) is not None and number < 3:
                yield from (line.partition(". ")[2] for line in listed.split("\n"))
            case "assistant":
                waiting = [line for call in message.get("tool_calls") or () for line in _rendered(call)]
            case _:
                results += takewhile(lambda line: line.startswith("RESULT: "), text.split("\n"))
    for line, result in zip(waiting, results, strict=False):
        yield from performed(line, result)


def legend_of(messages: Sequence[Mapping[str, Any]]) -> list[tuple[tuple[int, int], str, str]] | None:
    """Place, role and name of what is in sight, by the newest legend; None = there is none."""
    for message in reversed(messages):
        _, found, legend = text_of(message.get("content")).rpartition("LEGEND:\n")
        if found:
            lines = map(_LINE.fullmatch, legend.split("\n"))
            return [((int(one[1]), int(one[2])), one[3], str(literal_eval(one[4]))) for one in lines if one]
    return None


def _deeds(step: ScriptStep) -> Iterator[Deed]:
    match step.do:
        case "click" | "check" | "uncheck":
            yield Deed(do="click", step=step)
        case "dblclick" | "drag" | "upload" | "wait":
            raise Misfit(f"a plan for the computer tool cannot say {step.do}")
        case "hover":
            yield Deed(do="move", step=step)
        case "type":
            yield Deed(do="click", step=step)
            if step.clear:
                yield Deed(do="press", step=step, text="ctrl+a")
            yield Deed(do="write", step=step, text=step.text + "\n" * step.enter)
        case "select":
            yield Deed(do="click", step=step)
            yield Deed(do="write", step=step, text=f"{step.option}\n")
        case "press":
            yield Deed(do="press", step=step, text=step.key)
        case other:
            yield Deed(do=other, step=step)


def _walk(deeds: Sequence[Deed], previous: Sequence[str]) -> tuple[int, int]:
    """Position of the next deed, and how often its target was searched for already."""
    position = searches = 0
    for number, line in enumerate(previous, start=1):
        if " -> refused: " in line:
            raise Misfit(f"action {number} was refused ({line.partition(' -> refused: ')[2]})")
        verb = line.partition(" ")[0]
        if verb in _SKIPPED or not verb:
            continue
        if position == len(deeds):
            raise Misfit(f"action {number} was done after the plan's end")
        deed = deeds[position]
        if verb == _VERBS.get(deed.do, deed.do):
            position, searches = position + 1, 0
        elif deed.aims and verb == "scroll_at":
            searches += 1
        else:
            raise Misfit(f"action {number} was {verb}, where the plan has {deed.do}")
    if position == len(deeds):
        raise Misfit("all its actions are done and none of them was to stop")
    return position, searches


def _call(deed: Deed, dialect: str) -> tuple[str, dict[str, Any]]:
    openai = dialect == "openai"
    match deed.do:
        case "write":
            return "computer", {"type" if openai else "action": "type", "text": deed.text}
        case "press":
            keys = deed.text.split("+")
            return "computer", {"type": "keypress", "keys": keys} if openai else {"action": "key", "text": deed.text}
        case "scroll":
            return _scroll(0, dialect, down=deed.step.direction == "down")
        case name:
            return name, {field: getattr(deed.step, field) for field in _FUNCTIONS.get(name, ())}


def _at(deed: Deed, place: tuple[int, int], dialect: str) -> tuple[str, dict[str, Any]]:
    x, y = place
    if dialect == "openai":
        named = {"type": "click", "button": "left"} if deed.do == "click" else {"type": "move"}
        return "computer", {**named, "x": x, "y": y}
    return "computer", {"action": "left_click" if deed.do == "click" else "mouse_move", "coordinate": [x, y]}


def _scroll(searches: int, dialect: str, *, down: bool = True) -> tuple[str, dict[str, Any]]:
    """Not thrice the same, which would count as going in circles."""
    notches = (5, 6)[searches % 2]
    if dialect == "openai":
        return "computer", {
            "type": "scroll",
            "x": 640,
            "y": 400,
            "scroll_x": 0,
            "scroll_y": notches * (100 if down else -100),
        }
    direction = "down" if down else "up"
    return "computer", {
        "action": "scroll",
        "coordinate": [640, 400],
        "scroll_direction": direction,
        "scroll_amount": notches,
    }


def _matches(step: ScriptStep, role: str, name: str) -> bool:
    if step.role not in (None, role):
        return False
    return step.name is None or (step.name == name if step.exact else step.name in name)


def _rendered(call: Mapping[str, Any]) -> list[str]:
    """A call as lines of a history, one for each of its actions."""
    function = call.get("function") or {}
    name = str(function.get("name"))
    if name != "computer":
        return [name]
    try:
        given = loads(str(function.get("arguments")).encode())
        return [_ANY_SCREEN.read(action).render() for action in (given if isinstance(given, list) else [given])]
    except (CodecError, ValueError):
        return ["none"]
