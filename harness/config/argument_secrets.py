"""Removes the secrets of the command line before hydra sees it, and puts them back into the composed configuration.

Hydra writes its arguments into `multirun.yaml`, folder names and error messages, and passes them on. So each secret in
an argument is replaced by a placeholder, which only the composed configuration resolves. Hydra has to read the settings
files themselves; its output is searched for the secrets in them.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins import basic_sweeper
from hydra.core import utils
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Override, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from harness.config import HIDDEN, ConfigSchema
from harness.errors import ConfigError
from harness.secrets.config_secrets import config_secrets, is_login_field, secret_parts
from harness.secrets.redaction import Redactor
from harness.secrets.secret_detection import secrets_in
from harness.trees import each_text


@dataclass(frozen=True, slots=True)
class RedactedArguments:
    """Secrets of a command line that were taken out of it."""

    arguments: tuple[str, ...]
    """The command line with something in their place."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """What is in their place to what they are."""

    def put_back(self, config: ConfigSchema) -> ConfigSchema:
        """The configuration with the secrets in it."""
        return config if not self.secrets else each_text(config, self._revealed, keys=False)

    def redactor(self, tree: DictConfig | None = None) -> Redactor:
        """For what is said and written before the configuration is known; `tree` as far as it has been composed."""
        composed = OmegaConf.to_container(tree) if tree is not None else {}
        assert isinstance(composed, dict)
        settings = {str(name): value for name, value in composed.items()}
        return Redactor({**secrets_in(os.environ), **config_secrets(settings), **self.secrets})

    def _revealed(self, text: str) -> str:
        return HIDDEN.sub(lambda found: self.secrets.get(found[0], found[0]), text)


def redact_arguments(arguments: Sequence[str]) -> RedactedArguments:
    """Take the secrets out of a command line.

    Raises:
        ConfigError: An argument that holds one cannot be read; hydra's own message would show it.
    """
    secrets: dict[str, str] = {}

    def hidden(secret: str) -> str:
        place = next((place for place, known in secrets.items() if known == secret), f"REDACTED_{len(secrets) + 1}_")
        secrets[place] = secret
        return place

    return RedactedArguments(tuple(_without_secrets(argument, hidden) for argument in arguments), secrets)


@contextmanager
def redact_hydra_files() -> Iterator[None]:
    """Let hydra write its files (`multirun.yaml`, and `.hydra` if requested) without secrets."""
    # Its own functions are replaced, as a sweeper of ours would have to lie in a package called hydra_plugins.
    ours = ((basic_sweeper, "OmegaConf", _Saving), (utils, "_save_config", lambda cfg, name, to: _save(cfg, to / name)))
    theirs = [(module, name, getattr(module, name)) for module, name, _ in ours]
    for module, name, our in ours:
        setattr(module, name, our)
    try:
        yield
    finally:
        for module, name, their in theirs:
            setattr(module, name, their)


class _Saving(OmegaConf):
    @staticmethod
    def save(config: Any, f: Any, resolve: bool = False) -> None:
        _save(config, Path(f))


def _save(tree: DictConfig, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RedactedArguments(()).redactor(tree).said(OmegaConf.to_yaml(tree)), "utf-8")


def _without_secrets(argument: str, hidden: Callable[[str], str]) -> str:
    key, equals, text = argument.partition("=")
    if not equals or argument.startswith("-"):
        return argument
    try:
        override = OverridesParser.create().parse_override(argument)
    except RecursionError as error:
        raise ConfigError(f"{key}: its value is nested too deeply; a setting has a few levels") from error
    except HydraException as error:
        place = tuple(key.lstrip("+~").split("."))
        # Hydra's message would quote it.
        if any(secret_parts(place, text)) or is_login_field((*place, "fields", "")) or "login" in place:
            raise ConfigError(
                f"{key}: its value cannot be parsed; quote it ('{key}=\"…\"'), or write it into a file of your own"
                " (--config-dir)"
            ) from error
        return argument
    kept = _concealed(override._value, tuple(override.key_or_group.split(".")), hidden)
    if kept == override._value and type(kept) is type(override._value):
        return argument
    return f"{override.get_key_element()}={_spelt(override, kept)}"


def _concealed(value: Any, place: tuple[str, ...], hidden: Callable[[str], str]) -> Any:
    """A parsed value with something in the place of its secrets."""
    match value:
        case dict():
            return {key: _concealed(item, (*place, _plain(key)), hidden) for key, item in value.items()}
        case list():
            return [_concealed(item, place, hidden) for item in value]
        case ChoiceSweep():
            return replace(value, list=[_concealed(item, place, hidden) for item in value.list])
    text = _plain(value)
    if value is None or "${" in text:  # the reference is shown, not its value
        return value
    # The longest first, as a shorter one may be a part of it.
    parts = [text] if is_login_field(place) else sorted({*secret_parts(place, text)}, key=len, reverse=True)
    kept = text
    for part in filter(None, parts):
        kept = kept.replace(part, hidden(part))
    if kept == text:
        return value
    return replace(value, text=kept) if isinstance(value, QuotedString) else kept


def _spelt(override: Override, value: Any) -> str:
    if isinstance(value, ChoiceSweep):
        return ",".join(_spelt(override, item) for item in value.list)
    return Override._get_value_element_as_str(value)


def _plain(value: Any) -> str:
    return value.text if isinstance(value, QuotedString) else str(value)
