"""From a model's reply to an action: cut the action out, read it, aim it at what was observed.

Pure. Reads three action sets and never performs anything; a reply without an action is an `ActionSyntaxError`, whose
sentence may be shown to the model.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from harness.actions import cairn_grammar, playwright_grammar, webarena_grammar
from harness.actions.types import Action, Box, Drag, ElementAction, Target
from harness.errors import ActionSyntaxError

_GRAMMARS: dict[str, Callable[[str], Action]] = {
    "cairn": cairn_grammar.parse,
    "id_accessibility_tree": webarena_grammar.parse,
    "playwright": playwright_grammar.parse,
}
ACTION_SETS = tuple(_GRAMMARS)


class NodeLike(Protocol):
    """An element of an observation, as far as aiming needs it; `harness.records.Node` fits."""

    @property
    def role(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def nth(self) -> int: ...
    @property
    def line(self) -> str: ...
    @property
    def box(self) -> Box | None: ...


def extract(reply: str, splitter: str = "```", *, force_prefix: str = "") -> str:
    """The first text between two splitters, stripped.

    Args:
        reply: The model's text.
        splitter: Opens and closes the action.
        force_prefix: Put in front of the reply first, for prompts that already opened the action.
    """
    parts = (force_prefix + reply).split(splitter, 2)
    if len(parts) < 3:
        raise ActionSyntaxError(f"the reply contains no action between two {splitter}")
    return parts[1].strip()


def parse(text: str, action_set: str) -> Action:
    """Read what stood between the splitters; targets hold no more than the id yet."""
    grammar = _GRAMMARS.get(action_set)
    if grammar is None:
        raise ValueError(f"unknown action set {action_set!r}; there are {', '.join(ACTION_SETS)}")
    return grammar(text)


def resolve(action: Action, nodes: Mapping[str, NodeLike]) -> Action:
    """Fill the action's targets from the observation it was decided on; an unknown id stays as it is."""
    if not isinstance(action, ElementAction):
        return action
    if isinstance(action, Drag):
        action = replace(action, onto=_filled(action.onto, nodes))
    return replace(action, target=_filled(action.target, nodes))


def _filled(target: Target, nodes: Mapping[str, NodeLike]) -> Target:
    node = nodes.get(target.id)
    if node is None:
        return target
    line = " ".join(node.line.split())
    return replace(target, role=node.role, name=node.name, nth=node.nth, line=line, box=node.box)
