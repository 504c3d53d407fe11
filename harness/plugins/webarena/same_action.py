"""When two actions count as the same: WebArena's rule, which its action sets bring.

The rule is blunt and kept so, because it decides where episodes end: three different clicks written as Playwright code
count as three times the same, and a click on an element with the role `alert` never does.
"""

from harness.api import Action, Click, InvalidAction, Target, Type
from harness.api.actions import Code, Hover, Mouse, close, only_id

_UNSAID = ("link", "")
"""Role and name WebArena gives an action whose element is known by id or by code only."""

_FALSY_ROLE = "alert"
"""First in WebArena's list of roles, so its number is 0 and counts as no role at all."""


def equivalent(a: Action, b: Action) -> bool:
    """See `harness.actions.ActionSet.same`."""
    kind = _kind(a)
    if kind != _kind(b):
        return False
    if kind in ("click", "hover", "type"):
        return _same_element(a, b)
    if isinstance(a, Mouse) and isinstance(b, Mouse):
        return close(a.x, b.x) and close(a.y, b.y)
    return isinstance(a, InvalidAction) or a.with_targets(only_id) == b.with_targets(only_id)


def _kind(action: Action) -> str:
    match action:
        case Code(verb=verb):
            return verb
        case Mouse(verb=verb):
            return f"mouse {verb}"
        case _:
            return action.kind


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
