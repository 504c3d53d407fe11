"""The scripted policy: from a prompt and a plan to a reply. A reference for tests and smoke runs, not a model.

A pure function of the request. It finds the plan by the objective, counts the actions already done, and aims the
next step at what the prompt shows, scrolling down (bounded) while the target is out of sight. When anything does not
fit, the reply says so in one sentence and holds no action: a visible failure, never a guess.

Searching scrolls are not in the plan, so they are told apart from planned ones: `scroll [down]` done while the plan's
next step is not a scroll was a search. Every third search presses PageDown instead, since three equal actions in a row
count as going in circles.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.sites.asking import Asked, Element, read_request
from harness.sites.plans import Plan, Plans, Step

MAX_SEARCHES = 12
"""Scrolls in search of one target before it counts as absent."""
_SEARCHES = ("scroll [down]", "scroll [down]", "press [PageDown]")
_AIMED = frozenset({"click", "hover", "type", "select"})
_VERBS: Mapping[str, frozenset[str]] = {
    # do: the verbs a history may tell it by
    "click": frozenset({"click"}),
    "hover": frozenset({"hover"}),
    "type": frozenset({"type", "clear"}),
    "select": frozenset({"select"}),
    "press": frozenset({"press"}),
    "scroll": frozenset({"scroll"}),
    "goto": frozenset({"goto"}),
    "go_back": frozenset({"go_back"}),
    "go_forward": frozenset({"go_forward"}),
    "new_tab": frozenset({"new_tab"}),
    "tab_focus": frozenset({"tab_focus", "page_focus"}),
    "close_tab": frozenset({"close_tab"}),
    "stop": frozenset({"stop"}),
}
_ALL_VERBS = frozenset().union(*_VERBS.values())
_FORMS: Mapping[str, str] = {
    "click": "click [{id}]",
    "hover": "hover [{id}]",
    "type": "type [{id}] [{step.text}] [{step.enter:d}]",
    "clear": "clear [{id}] [{step.text}] [{step.enter:d}]",
    "select": "select [{id}] [{step.option}]",
    "press": "press [{step.key}]",
    "scroll": "scroll [{step.direction}]",
    "goto": "goto [{step.url}]",
    "tab_focus": "tab_focus [{step.index}]",
    "stop": "stop [{step.answer}]",
}
"""Verb to its form; a verb that is not here takes no argument."""
_REFUSED = re.compile(r".* -> refused: (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply, and what it was a reply to."""

    text: str
    task_id: str | None = None
    """None when no plan is known for the objective."""
    step: int = 0
    """1-based number of the decision; 0 when none was asked for."""


class _Misfit(Exception):
    """The plan does not fit; the message says why in one sentence."""


def reply(messages: Sequence[Mapping[str, Any]], plans: Plans) -> Answer:
    """Answer one chat request; the same messages always give the same answer."""
    asked = read_request(messages)
    if asked is None:
        return Answer(text="I cannot help: the message does not ask for an action on a page.")
    step = len(asked.previous) + 1
    plan = plans.find(asked.objective)
    if plan is None:
        return Answer(text="I cannot go on: there is no plan for this objective.", step=step)
    try:
        text = _next(asked, plan)
    except _Misfit as exc:
        text = f"I cannot go on, the plan does not fit: {exc}."
    return Answer(text=text, task_id=plan.task_id, step=step)


def _next(asked: Asked, plan: Plan) -> str:
    if "click [" not in asked.system:
        raise _Misfit("the prompt does not offer actions like click [id]")
    units = tuple(_units(plan.steps, asked.system))
    position, searches = _walk(units, asked.previous)
    unit = units[position]
    said = f"Action {position + 1} of the {len(units)} in the plan is to {_told(unit)}"
    if unit.do not in _AIMED:
        return _with_action(said, _written(unit, ""))
    matches = [element for element in asked.elements if _matches(unit, element)]
    if len(matches) > unit.nth:
        return _with_action(said, _written(unit, matches[unit.nth].id))
    if searches >= MAX_SEARCHES:
        raise _Misfit(f"there is no {_aim(unit)} in sight, even after scrolling {searches} times")
    return _with_action(f"{said}, which is not in sight, so I scroll on", _SEARCHES[searches % len(_SEARCHES)])


def _units(steps: Sequence[Step], system: str) -> Iterator[Step]:
    """The steps as single actions of the set that the prompt offers."""
    for step in steps:
        if step.do == "select" and "select [" not in system:
            yield replace(step, do="type", text=step.option, enter=True)
        elif step.do == "type" and step.clear and "clear [" not in system:
            yield replace(step, do="click", clear=False)
            yield Step(do="press", key="Control+a")
            yield replace(step, clear=False)
        else:
            yield step


def _walk(units: Sequence[Step], previous: Sequence[str]) -> tuple[int, int]:
    """Position of the next unit, and how often it was searched for already."""
    position = searches = 0
    for number, line in enumerate(previous, start=1):
        verb = line.partition(" ")[0]
        if verb not in _ALL_VERBS and verb != "Attempt":
            continue  # a reply without an action: nothing was done
        if refused := _REFUSED.fullmatch(line):
            raise _Misfit(f"action {number} was refused ({_plain(refused[1])})")
        if position == len(units):
            raise _Misfit(f"action {number} was done after the plan's end")
        unit = units[position]
        if _is_search(line, unit):
            searches += 1
        elif verb in _VERBS[unit.do]:
            position, searches = position + 1, 0
        else:
            raise _Misfit(f"action {number} was {_plain(line)}, where the plan has {unit.do}")
    if position == len(units):
        raise _Misfit(f"all its {len(units)} actions are done and none of them was to stop")
    return position, searches


def _is_search(line: str, unit: Step) -> bool:
    return line in _SEARCHES and unit.do in _AIMED


def _matches(step: Step, element: Element) -> bool:
    if step.role is not None and step.role != element.role:
        return False
    if step.name is None:
        return True
    return step.name == element.name if step.exact else step.name in element.name


def _written(step: Step, element_id: str) -> str:
    """The step in the prompt's action syntax."""
    verb = "clear" if step.clear else step.do
    return _FORMS.get(verb, verb).format(id=element_id, step=step)


def _told(step: Step) -> str:
    return f"{step.do} {_aim(step)}" if step.do in _AIMED else step.do.replace("_", " ")


def _aim(step: Step) -> str:
    words = [step.role or "element"]
    if step.name is not None:
        words.append(f"{'named' if step.exact else 'with a name like'} {step.name!r}")
    if step.nth:
        words.append(f"(number {step.nth + 1} of its kind)")
    return " ".join(words)


def _with_action(said: str, action: str) -> str:
    return f"{said}. In summary, the next action I will perform is ```{action}```"


def _plain(text: str) -> str:
    """Quoted text must not open an action of its own."""
    return text.replace("```", "'''")
