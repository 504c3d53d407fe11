"""Which element of those that a request shows a step of a plan is aimed at, for agents that describe pages in their own
way. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.plugins.demo.model.scripted_policy import ScriptedAnswer
from harness.plugins.demo.model.scripts import Script, ScriptStep


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownElement:
    """An element as a request describes it."""

    id: str
    role: str
    names: tuple[str, ...]
    """What it may be called; a description that tells no accessible name leaves some to choose from."""


class NotShown(Exception):
    """A step of the plan cannot be done, as when its element is not shown; the message says why."""


def aimed_at(step: ScriptStep, elements: Sequence[ShownElement]) -> ShownElement:
    """The element.

    Raises:
        NotShown: There is none.
    """
    found = [one for one in elements if step.role in (None, one.role) and _is_named(step, one.names)]
    if len(found) <= step.nth:
        named = "" if step.name is None else f" {step.name!r}"
        raise NotShown(f"there is no {step.role or 'element'}{named} in sight")
    return found[step.nth]


CLICKS = frozenset({"click", "check", "uncheck"})
"""What agents that have only a click do by it."""


def cannot(step: ScriptStep) -> NotShown:
    """Of a step that the agent's tools have no action for."""
    return NotShown(f"the agent's tools have no {step.do} that a plan could call")


def misfit(why: str, plan: Script | None, step: int) -> ScriptedAnswer:
    """A reply without an action."""
    text = f"I cannot go on: {why}."
    return ScriptedAnswer(text=text, task_id=plan.task_id if plan else None, step=step)


def _is_named(step: ScriptStep, names: Sequence[str]) -> bool:
    if step.name is None:
        return True
    return any(step.name == name if step.exact else step.name in name for name in names)
