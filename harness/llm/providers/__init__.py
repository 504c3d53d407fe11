"""Model providers, one file for each wire format, found by name: `llm.api=NAME`.

The shipped ones are in one table. Those of installed packages are entry points of the group `cairn.providers`; one that
the settings name (`llm._target_`) is added when the run begins. A name that a run folder holds never imports anything
else.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING

from harness.errors import ConfigError

if TYPE_CHECKING:  # the names are asked for by every start, the classes by those that ask a model
    from harness.llm.providers.provider import ModelProvider

ENTRY_POINTS = "cairn.providers"
SHIPPED: Mapping[str, str] = MappingProxyType(
    {
        "chat": "harness.llm.providers.chat:ChatCompletions",
        "responses": "harness.llm.providers.responses:Responses",
        "messages": "harness.llm.providers.messages:Messages",
    }
)
"""Name to module and class; importing one imports no client."""
_added: "dict[str, ModelProvider]" = {}


def names() -> tuple[str, ...]:
    """Of all providers that can be chosen, the shipped ones first."""
    return tuple(dict.fromkeys((*SHIPPED, *_installed(), *_added)))


def provider_of(name: str) -> "ModelProvider":
    """The provider of this name.

    Raises:
        ConfigError: There is none, or its package cannot be imported.
    """
    return _added[name] if name in _added else _found(name)


def add(made: "ModelProvider", place: str) -> None:
    """Know a provider that the settings name.

    Args:
        made: It takes no other's name.
        place: The setting, for messages.

    Raises:
        ConfigError: Its name is that of another provider.
    """
    known = _added.get(made.name)
    if made.name in SHIPPED or (known is not None and type(known) is not type(made)):
        raise ConfigError(
            f"{place}: {type(made).__name__}.name is {made.name!r}, which another provider has; rename it"
        )
    _added[made.name] = made


def maker_of(name: str) -> str:
    """The name that OpenTelemetry's conventions have for the maker of a provider; its own where it has none."""
    with suppress(ConfigError):
        return provider_of(name).maker or name
    return name


@cache
def _installed() -> tuple[str, ...]:
    return tuple(sorted(point.name for point in entry_points(group=ENTRY_POINTS)))


@cache
def _found(name: str) -> "ModelProvider":
    from harness.llm.providers.provider import ModelProvider

    if name in SHIPPED:
        module, _, kind = SHIPPED[name].partition(":")
        made: ModelProvider = getattr(import_module(module), kind)()
        return made
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            made = point.load()()
        except (ImportError, AttributeError, TypeError) as error:
            raise ConfigError(f"llm.api={name}: {point.value} cannot be loaded: {error}") from error
        if not isinstance(made, ModelProvider) or made.name != name:
            raise ConfigError(f"llm.api={name}: {point.value} is no ModelProvider of that name")
        return made
    raise ConfigError(f"llm.api={name[:80]} is unknown; choose one of {', '.join(names())}")
