"""When two actions count as the same, for `limits.repeated_actions`."""

import math

from harness.actions.action import Action
from harness.actions.keyboard import Type
from harness.actions.pointer import Click, Hover, Mouse
from harness.actions.stop import InvalidAction
from harness.actions.target import Target


def same_action(a: Action, b: Action) -> bool:
    """Whether they do the same to the same element; what is typed does not count, and what was observed does not.

    Unreadable replies are all the same. An element without an id, as of an agent that drives the browser itself, is
    known by role and name.
    """
    if a.kind != b.kind:
        return False
    if isinstance(a, Click | Hover | Type) and isinstance(b, Click | Hover | Type):
        return _same_element(a.target, b.target)
    if isinstance(a, Mouse) and isinstance(b, Mouse):
        return a.verb == b.verb and close(a.x, b.x) and close(a.y, b.y)
    return isinstance(a, InvalidAction) or a.with_targets(only_id) == b.with_targets(only_id)


def only_id(target: Target) -> Target:
    """What was observed of an element does not count."""
    return Target(id=target.id)


def close(a: float, b: float) -> bool:
    """Whether two numbers are as close as numpy's allclose demands by default."""
    return math.isclose(a, b, rel_tol=0.0, abs_tol=1e-8 + 1e-5 * abs(b))


def _same_element(a: Target, b: Target) -> bool:
    if a.id or b.id:
        return a.id == b.id
    return bool(a.role) and (a.role, a.name) == (b.role, b.name)
