"""The action set that the settings name, with the actions of plug-ins in it."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module

from harness.actions import Action, ActionSet, CairnActionSet
from harness.codec import check_recordable
from harness.errors import ConfigError, HarnessError, error_line, plugin_boundary
from harness.registry import Registry

ACTION_SETS = Registry(
    group="cairn.action_sets", noun="action_set", core={CairnActionSet.name: "harness.actions:CairnActionSet"}
)
"""Name in the settings to a class whose constructor takes no arguments."""


def action_set_of(name: str, actions: Sequence[str] = ()) -> ActionSet:
    """The action set of that name, with further actions; importing them lets journals that hold them be read.

    Raises:
        ConfigError: An action cannot be used; names the entry of `actions`.
    """
    if not actions:
        return _plain(name)
    more = [_action(path) for path in actions]
    if name != CairnActionSet.name:
        raise ConfigError(f"actions={list(actions)} needs action_set={CairnActionSet.name}, not {name}")
    try:
        return CairnActionSet(more)
    except (ValueError, TypeError) as exc:
        raise ConfigError(f"actions: {exc}") from exc


@cache
def _plain(name: str) -> ActionSet:
    made: ActionSet = ACTION_SETS.find(name)()
    return made


def prompt_lines(paths: Sequence[str]) -> tuple[str, ...]:
    """What an agent's prompt says of the actions of plug-ins: their own line, or their forms."""
    return tuple(action.prompt or "\n".join(action.verbs().values()) for action in map(_action, paths))


def _action(path: str) -> type[Action]:
    module, _, name = path.rpartition(".")
    if not module:
        raise ConfigError(f"actions: {path} is not a dotted path of a class; give module.Class")

    def failed(error: BaseException) -> ConfigError:
        return ConfigError(f"actions: {path} cannot be imported: {error_line(error)}")

    with plugin_boundary(failed, passes=(HarnessError,)):
        found = getattr(import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, Action) and found is not Action):
        raise ConfigError(f"actions: {path} is not an action; derive the class from harness.api.Action")
    # In its own namespace, because a dataclass that it derives from would answer for it.
    if "__dataclass_params__" not in vars(found):
        raise ConfigError(
            f"actions: {path} is not a dataclass; put @dataclass(frozen=True, slots=True, kw_only=True) on it"
        )
    try:
        check_recordable(found)
    except TypeError as exc:
        raise ConfigError(f"actions: {path} cannot be recorded in a journal: {exc}") from exc
    return found
