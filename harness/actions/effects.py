"""Which actions may change a site. Pure.

Whether an action did change one is seen by the requests it causes. Before it is performed, and when it was interrupted,
its kind is all there is to go by.
"""

from harness.actions.types import Action, Code, ElementAction, Hover, Keyboard, Mouse, Press, Type


def may_change_sites(action: Action) -> bool:
    """Whether performing it twice could do something twice."""
    match action:
        case Hover():
            return False
        case Mouse(verb=verb) | Code(verb=verb):
            return verb != "hover"
    return isinstance(action, ElementAction | Press | Keyboard)


def only_fills_in(action: Action) -> bool:
    """Whether it puts text into a field and submits nothing: where no request was seen, it can be performed again."""
    return isinstance(action, Type) and not action.enter
