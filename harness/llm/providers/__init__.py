"""Model providers, one file for each wire format, found by name: `llm.api=NAME`.

The shipped ones are in one table. Those of installed packages are entry points of the group `cairn.providers`; one that
the settings name (`llm._target_`) is added when the run begins. A name that a run folder holds never imports anything
else.
"""

from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from harness.errors import ConfigError, said_by
from harness.registry import Registry

if TYPE_CHECKING:  # the names are asked for by every start, the classes by those that ask a model
    from harness.api import ModelProvider

_REGISTRY = Registry(
    group="cairn.providers",
    noun="llm.api",
    core=MappingProxyType(
        {
            "chat": "harness.llm.providers.chat:ChatCompletions",
            "responses": "harness.llm.providers.responses:Responses",
            "messages": "harness.llm.providers.messages:Messages",
        }
    ),
)
"""Importing a shipped one imports no client."""
_added: "dict[str, ModelProvider]" = {}


def names() -> tuple[str, ...]:
    """Of all providers that can be chosen, the shipped ones first."""
    return tuple(dict.fromkeys((*_REGISTRY.names(), *_added)))


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
        ConfigError: Its name is that of another provider, or it lacks what every provider gives.
    """
    _check(made, place)
    known = _added.get(made.name)
    if made.name in _REGISTRY.core or (known is not None and type(known) is not type(made)):
        raise ConfigError(
            f"{place}: {type(made).__name__}.name is {made.name!r}, which another provider has; rename it"
        )
    _added[made.name] = made


def maker_of(name: str) -> str:
    """The name that OpenTelemetry's conventions have for the maker of a provider; its own where it has none."""
    with suppress(ConfigError):
        return provider_of(name).maker or name
    return name


def _check(made: "ModelProvider", place: str) -> None:
    """Raises: ConfigError: What a provider says of itself is missing or cannot be used."""
    name, path, keys = (getattr(made, one, None) for one in ("name", "path", "conversation_keys"))
    if not (isinstance(name, str) and name):
        wrong = f"name is {name!r:.80}; give a text"
    elif not (isinstance(path, str) and path.startswith("/")):
        wrong = f"path is {path!r:.80}; give a text that begins with /"
    elif not (isinstance(keys, tuple) and all(isinstance(key, str) for key in keys)):
        wrong = f"conversation_keys is {keys!r:.80}; give a tuple of texts, with a comma also after a single one"
    else:
        return
    raise ConfigError(f"{place}: {type(made).__module__}.{type(made).__name__}.{wrong}")


@cache
def _found(name: str) -> "ModelProvider":
    from harness.api import ModelProvider

    if name not in names():
        raise ConfigError(f"llm.api={name[:80]} is unknown; choose one of {', '.join(names())}")
    kind = _REGISTRY.find(name)
    if not (isinstance(kind, type) and issubclass(kind, ModelProvider)):
        raise ConfigError(f"llm.api={name}: {kind!r:.80} is not a ModelProvider; derive the class from it")
    try:
        made = kind()
    except TypeError as error:
        raise ConfigError(
            f"llm.api={name}: {kind.__module__}.{kind.__name__} cannot be made: {said_by(error)}"
        ) from error
    _check(made, f"llm.api={name}")
    if made.name != name:
        raise ConfigError(
            f"llm.api={name}: {kind.__module__}.{kind.__name__}.name is {made.name!r}; make them the same"
        )
    return made
