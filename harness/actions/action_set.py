"""Action sets: what an agent may write, and how its history is written for it.

`cairn` is this package's own: WebArena's actions and what they lack, in a grammar without surprises. The whole text
must be one action: a value is never mistaken for a flag, an answer never lost for a missing bracket. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from harness.actions.action import Action
from harness.actions.form_fields import Check, Select, Upload
from harness.actions.keyboard import Keyboard, Press, Type
from harness.actions.navigation import CloseTab, GoBack, GoForward, Goto, NewTab, TabFocus
from harness.actions.pointer import Click, DoubleClick, Drag, Hover, Mouse
from harness.actions.sameness import same_action
from harness.actions.stop import InvalidAction, Stop
from harness.actions.target import NodeLike, resolve_target
from harness.actions.viewport import Scroll, Wait
from harness.errors import ActionSyntaxError

_SHAPE = re.compile(r"([A-Za-z_]+)\s*(.*)", re.DOTALL)
_UNREADABLE = (
    'No action could be read from your last reply, "{reply}". Put the action between a pair of {splitter} and its '
    "arguments in [], like this: {splitter}action [arg] ...{splitter}"
)
_STANDARD: tuple[type[Action], ...] = (
    *(Click, Hover, Type, Select, DoubleClick, Check, Upload, Drag, Wait, Mouse, Keyboard, Press, Scroll, Goto),
    *(NewTab, TabFocus, CloseTab, GoBack, GoForward, Stop),
)


class ActionSet(Protocol):
    """A language of actions: how what a model wrote is read, and how a history shows what was done."""

    @property
    def name(self) -> str:
        """The name that `action_set` has in the settings."""
        ...

    def parse(self, text: str) -> Action:
        """Read what stood between the splitters; targets hold no more than the id yet.

        Raises:
            ActionSyntaxError: It is not an action; the sentence may be shown to the model.
        """
        ...

    def render(self, action: Action, *, reply: str | None = None, splitter: str = "```") -> str:
        """One action as a history entry.

        Args:
            action: With its targets resolved; a target without a line was not in the observation.
            reply: For `InvalidAction`, the reply that could not be read; None = just `none`.
            splitter: What the prompt wraps actions in.
        """
        ...

    def same(self, a: Action, b: Action) -> bool:
        """Whether two actions count as the same, for `limits.repeated_actions`."""
        ...


class CairnActionSet:
    """The standard actions, and further ones."""

    name = "cairn"

    def __init__(self, more: Sequence[type[Action]] = ()) -> None:
        """
        Raises:
            ValueError: Two actions share a verb, or one has a verb that cannot be written.
            TypeError: The fields of an action need a `parse` of its own.
        """
        self._verbs: dict[str, tuple[type[Action], str]] = {}
        for action in (*_STANDARD, *more):
            for verb, form in action.verbs().items():
                if not re.fullmatch("[a-z_]+", verb):
                    raise ValueError(f"{action.__name__}: {verb!r} is not a verb: write it in letters a to z and _")
                if verb in self._verbs:
                    raise ValueError(f"{action.__name__} and {self._verbs[verb][0].__name__} share the verb {verb!r}")
                self._verbs[verb] = action, form

    @property
    def actions(self) -> tuple[type[Action], ...]:
        """Each once, in the order of their verbs."""
        return tuple(dict.fromkeys(action for action, _ in self._verbs.values()))

    def parse(self, text: str) -> Action:
        """See `ActionSet.parse`."""
        shape = _SHAPE.fullmatch(text.strip())
        verb = shape[1].lower() if shape else ""
        if shape is None or verb not in self._verbs:
            raise ActionSyntaxError(f"unknown action {_short(text)}; known actions: {', '.join(self._verbs)}")
        action, form = self._verbs[verb]
        read = action.parse(verb, shape[2].strip())
        if read is None:
            raise ActionSyntaxError(f"cannot read {_short(text)}; the form is: {form}")
        return read

    def render(self, action: Action, *, reply: str | None = None, splitter: str = "```") -> str:
        """See `ActionSet.render`."""
        if isinstance(action, InvalidAction) and reply is not None:
            return _UNREADABLE.format(reply=reply, splitter=splitter)
        return action.render()

    def same(self, a: Action, b: Action) -> bool:
        """See `ActionSet.same`."""
        return same_action(a, b)


def extract(reply: str, splitter: str = "```") -> str:
    """The first text between two splitters, stripped."""
    parts = reply.split(splitter, 2)
    if len(parts) < 3:
        raise ActionSyntaxError(f"the reply contains no action between two {splitter}")
    return parts[1].strip()


def resolve(action: Action, nodes: Mapping[str, NodeLike]) -> Action:
    """Fill the action's targets from the observation it was decided on; an unknown id stays as it is."""
    return action.with_targets(lambda target: resolve_target(target, nodes))


def _short(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 80 else text[:80] + "…")
