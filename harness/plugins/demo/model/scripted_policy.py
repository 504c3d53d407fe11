"""The scripted policy: from a prompt and a plan to a reply. A reference for tests and smoke runs, not a model.

A pure function of the request. It finds the plan by the objective, counts the actions already done, and aims the
next step at what the prompt shows, scrolling down (bounded) while the target is out of sight, and then looking at the
tabs, if there are several: one that is not part of the plan may be left in front. When anything does not fit, the reply
says so in one sentence and holds no action: a visible failure, never a guess.

Searching scrolls are not in the plan, so they are told apart from planned ones: `scroll [down]` done while the plan's
next step is not a scroll was a search. Every third search presses PageDown instead, since three equal actions in a row
count as going in circles. In WebArena's set of Playwright calls, whose history holds code and is silent about
everything else, a silent line is what the plan has there, or a search where the plan has code; an unreadable reply
counts as either.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.plugins.demo.model.action_writer import (
    AIMED,
    SEARCHES,
    CannotWrite,
    Syntax,
    done_by,
    syntax_of,
    units,
    written,
)
from harness.plugins.demo.model.conversation import ScriptedCall
from harness.plugins.demo.model.prompt_parser import ParsedPrompt, PromptElement, read_request
from harness.plugins.demo.model.scripts import Script, Scripts, ScriptStep

MAX_SEARCHES = 6
"""Scrolls in search of one target before it counts as absent."""
_VERBS: Mapping[str, frozenset[str]] = {
    # do: the verbs a history may tell it by
    "click": frozenset({"click"}),
    "dblclick": frozenset({"dblclick"}),
    "hover": frozenset({"hover"}),
    "check": frozenset({"check"}),
    "uncheck": frozenset({"uncheck"}),
    "drag": frozenset({"drag"}),
    "upload": frozenset({"upload"}),
    "type": frozenset({"type", "clear"}),
    "select": frozenset({"select"}),
    "press": frozenset({"press"}),
    "wait": frozenset({"wait"}),
    "scroll": frozenset({"scroll"}),
    "goto": frozenset({"goto"}),
    "go_back": frozenset({"go_back"}),
    "go_forward": frozenset({"go_forward"}),
    "new_tab": frozenset({"new_tab"}),
    "tab_focus": frozenset({"tab_focus", "page_focus"}),
    "close_tab": frozenset({"close_tab"}),
    "ask_user": frozenset({"ask_user"}),
    "stop": frozenset({"stop"}),
}
_ALL_VERBS = frozenset().union(*_VERBS.values())
_REFUSED = re.compile(r"(.*) -> refused: (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """A reply, and what it was a reply to."""

    text: str
    task_id: str | None = None
    """None when no plan is known for the objective."""
    step: int = 0
    """1-based number of the decision; 0 when none was asked for."""
    calls: tuple[ScriptedCall, ...] = ()
    """Calls of the tools that were offered."""


NO_REQUEST = ScriptedAnswer(text="I cannot help: the message does not ask for an action on a page.")


class Misfit(Exception):
    """The plan does not fit; the message says why in one sentence."""


def reply(messages: Sequence[Mapping[str, Any]], plans: Scripts) -> ScriptedAnswer:
    """Answer one chat request; the same messages always give the same answer."""
    asked = read_request(messages)
    if asked is None:
        return NO_REQUEST
    return follow_plan(plans, asked.objective, len(asked.previous), lambda plan: (next_action(asked, plan), ()))


def follow_plan(
    plans: Scripts, objective: str, done: int, decide: Callable[[Script], tuple[str, tuple[ScriptedCall, ...]]]
) -> ScriptedAnswer:
    """Answer a request for a decision.

    Args:
        plans: Where the plan is looked up.
        objective: What it is looked up by.
        done: Number of actions already performed.
        decide: What is said and called next; raises `Misfit`.
    """
    if (plan := plans.find(objective)) is None:
        return ScriptedAnswer(text="I cannot go on: there is no plan for this objective.", step=done + 1)
    try:
        text, calls = decide(plan)
    except Misfit as exc:
        text, calls = f"I cannot go on, the plan does not fit: {exc}.", ()
    return ScriptedAnswer(text=text, task_id=plan.task_id, step=done + 1, calls=calls)


def next_action(asked: ParsedPrompt, plan: Script) -> str:
    """What is said, with the action in it.

    Raises:
        Misfit: The plan does not fit.
    """
    syntax = syntax_of(asked.system)
    if syntax is None:
        raise Misfit("the prompt offers actions neither like click [id] nor like page.get_by_role(…).click()")
    steps = tuple(units(plan.steps, syntax))
    position, searches = _walk(steps, asked.previous, syntax)
    step = steps[position]
    said = f"Action {position + 1} of the {len(steps)} in the plan is to {_described(step)}"
    if step.do not in AIMED:
        return _with_action(said, _written(step, None, 0, syntax))
    aims = (step, step.drop) if step.do == "drag" else (step,)
    found = [_found(aim, asked.elements) for aim in aims]
    if (element := found[0]) is not None and None not in found:
        alike = [one.id for one in asked.elements if (one.role, one.name) == (element.role, element.name)]
        onto = found[1] if len(found) > 1 else None
        return _with_action(said, _written(step, element, alike.index(element.id), syntax, onto=onto))
    if 0 <= (tab := searches - MAX_SEARCHES) < asked.tabs and asked.tabs > 1:
        focus = _written(ScriptStep(do="tab_focus", index=tab), None, 0, syntax)
        return _with_action(f"{said}, which is not in sight, so I look at tab {tab}", focus)
    if searches >= MAX_SEARCHES:
        missing = aims[found.index(None)]
        raise Misfit(
            f"there is no {_aim(missing)}, even after scrolling {MAX_SEARCHES} times{_hint(missing, asked.elements)}"
        )
    search = SEARCHES[syntax][searches % len(SEARCHES[syntax])]
    return _with_action(f"{said}, which is not in sight, so I scroll on", search)


def _found(step: ScriptStep, elements: Sequence[PromptElement]) -> PromptElement | None:
    """What the step is aimed at; None = it is not in sight."""
    matches = [element for element in elements if _matches(step, element)]
    return matches[step.nth] if len(matches) > step.nth else None


def _hint(step: ScriptStep, elements: Sequence[PromptElement]) -> str:
    """What in sight has the name, but another role; or the role, but another name."""
    named = [one for one in elements if _matches(replace(step, role=None), one)] if step.name is not None else []
    alike = named or [one for one in elements if step.role is not None and one.role == step.role]
    shown = ", ".join(f"{one.role} {_plain(one.name)[:80]!r}" for one in alike[:3])
    return f"; in sight: {shown}" if shown else ""


def _written(
    step: ScriptStep,
    element: PromptElement | None,
    nth: int,
    syntax: Syntax,
    *,
    onto: PromptElement | None = None,
) -> str:
    try:
        return written(step, element, nth, syntax, onto=onto)
    except CannotWrite as exc:
        raise Misfit(str(exc)) from exc


def _walk(steps: Sequence[ScriptStep], previous: Sequence[str], syntax: Syntax) -> tuple[int, int]:
    """Position of the next step, and how often it was searched for already."""
    position = searches = 0
    for number, line in enumerate(previous, start=1):
        refused = _REFUSED.fullmatch(line)
        verb = _verb(refused[1] if refused else line, syntax)
        if verb is None:
            continue  # a reply without an action: nothing was done
        if refused:
            raise Misfit(f"action {number} was refused ({_plain(refused[2])})")
        if position == len(steps):
            raise Misfit(f"action {number} was done after the plan's end")
        step = steps[position]
        if step.do in AIMED and (line in ("", *SEARCHES[syntax]) or verb in _VERBS["tab_focus"]):
            searches += 1
        elif verb in _VERBS[step.do] or (not line and step.do not in AIMED):
            position, searches = position + 1, 0
        else:
            raise Misfit(f"action {number} was {_plain(line) or 'no call'}, where the plan has {step.do}")
    if position == len(steps):
        raise Misfit(f"all its {len(steps)} actions are done and none of them was to stop")
    return position, searches


def _verb(line: str, syntax: Syntax) -> str | None:
    """What a line of the history says was done; None = it tells of a reply without an action."""
    if syntax is Syntax.PLAYWRIGHT:
        return done_by(line) if line else ""
    verb = line.partition(" ")[0]
    return verb if verb in _ALL_VERBS or verb == "Attempt" else None


def _matches(step: ScriptStep, element: PromptElement) -> bool:
    if step.role is not None and step.role != element.role:
        return False
    if step.name is None:
        return True
    return step.name == element.name if step.exact else step.name in element.name


def _described(step: ScriptStep) -> str:
    return f"{step.do} {_aim(step)}" if step.do in AIMED else step.do.replace("_", " ")


def _aim(step: ScriptStep) -> str:
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
