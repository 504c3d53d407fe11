"""When two actions count as the same, and when sameness ends an episode: WebArena's rules.

The rules are blunt and kept so, because they decide where episodes end: typing three different texts into one box
counts as three times the same, and so do three different clicks written as Playwright code.
"""

import math
from collections.abc import Sequence

from harness.actions import Action, Click, Code, Hover, InvalidAction, Mouse, Target, Type
from harness.records import CloseReason, EpisodeLimits
from harness.runner.termination import Termination

_UNSAID = ("link", "")
"""Role and name WebArena gives an action whose element is known by id or by code only."""

_FALSY_ROLE = "alert"
"""First in WebArena's list of roles, so its number is 0 and counts as no role at all."""


def equivalent(a: Action, b: Action) -> bool:
    kind = _kind(a)
    if kind != _kind(b):
        return False
    if kind in ("click", "hover", "type"):
        return _same_element(a, b)
    if isinstance(a, Mouse) and isinstance(b, Mouse):
        return _close(a.x, b.x) and _close(a.y, b.y)
    return isinstance(a, InvalidAction) or a.with_targets(_only_id) == b.with_targets(_only_id)


def stop_rules(actions: Sequence[Action], limits: EpisodeLimits) -> Termination | None:
    """See `harness.runner.termination.StopRules`; the details are WebArena's words.

    A limit of 0 unreadable replies means all of them, so none at all will do; None switches a rule off. Typing counts
    anywhere in the attempt, any other action in a row.
    """
    if len(actions) >= limits.max_steps:
        return Termination(reason=CloseReason.MAX_STEPS, detail=f"Reach max steps {limits.max_steps}")
    if limits.parsing_failures is not None and (detail := _unreadable(actions, limits.parsing_failures)):
        return Termination(reason=CloseReason.PARSE_FAILURES, detail=detail)
    if limits.repeated_actions is not None and actions and (detail := _repetition(actions, limits.repeated_actions)):
        return Termination(reason=CloseReason.REPEATED, detail=detail)
    return None


def _unreadable(actions: Sequence[Action], threshold: int) -> str:
    tail = actions[-threshold:]
    failed = len(tail) >= threshold and all(isinstance(action, InvalidAction) for action in tail)
    return f"Failed to parse actions for {threshold} times" if failed else ""


def _repetition(actions: Sequence[Action], threshold: int) -> str:
    last = actions[-1]
    if _kind(last) == "type":
        again = sum(equivalent(action, last) for action in actions)
        return f"Same typing action for {threshold} times" if again >= threshold else ""
    tail = actions[-threshold:]
    repeated = len(tail) >= threshold and all(equivalent(action, last) for action in tail)
    return f"Same action for {threshold} times" if repeated else ""


def _kind(action: Action) -> str:
    match action:
        case Code(verb=verb):
            return verb
        case Mouse(verb=verb):
            return f"mouse {verb}"
        case _:
            return action.kind


def _only_id(target: Target) -> Target:
    """What was observed of an element does not count."""
    return Target(id=target.id)


def _same_element(a: Action, b: Action) -> bool:
    ids = _target_id(a), _target_id(b)
    if all(ids):
        return ids[0] == ids[1]
    (role_a, name_a), (role_b, name_b) = _role_and_name(a), _role_and_name(b)
    if _counts(role_a) and _counts(role_b):
        return role_a == role_b and name_a == name_b
    codes = _code(a), _code(b)
    return bool(all(codes)) and codes[0] == codes[1]


def _target(action: Action) -> Target | None:
    return action.target if isinstance(action, Click | Hover | Type) else None


def _target_id(action: Action) -> str:
    target = _target(action)
    return target.id if target else ""


def _role_and_name(action: Action) -> tuple[str, str]:
    """An id target's observed role is not asked for: WebArena does not know it."""
    target = _target(action)
    return (target.role, target.name) if target and not target.id else _UNSAID


def _counts(role: str) -> bool:
    return bool(role) and role != _FALSY_ROLE


def _code(action: Action) -> str:
    return action.pw_code if isinstance(action, Code) else ""


def _close(a: float, b: float) -> bool:
    """The closeness numpy's `allclose` means by default."""
    return math.isclose(a, b, rel_tol=0.0, abs_tol=1e-8 + 1e-5 * abs(b))
