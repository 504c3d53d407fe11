"""The part of the settings that is written to a run folder, and the redactor for all output."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from harness.config import PROJECT
from harness.secrets.config_secrets import config_secrets, redacted_settings
from harness.secrets.redaction import Redactor
from harness.secrets.secret_detection import secrets_in
from harness.settings.fields import Tree

_LONGEST_PATH = 4096


def saved(tree: Tree) -> str:
    """All of it as YAML, without keys and passwords, and without where things are on this machine: a run folder is
    passed on.
    """
    from omegaconf import OmegaConf  # a worker writes no settings

    return str(OmegaConf.to_yaml(OmegaConf.create(_unplaced(redacted_settings(tree)))))


def _unplaced(value: Any) -> Any:
    """Paths of files and folders that exist, as `${project:…}`, as seen from the current folder, or as their name."""
    match value:
        case dict():
            return {key: _unplaced(item) for key, item in value.items()}
        case list():
            return [_unplaced(item) for item in value]
        case str() if value.startswith("/") and os.path.lexists(value[:_LONGEST_PATH]):
            path = Path(value)
            if path.is_relative_to(PROJECT):
                return f"${{project:{path.relative_to(PROJECT)}}}"
            here = Path.cwd()
            return str(path.relative_to(here)) if path.is_relative_to(here) else f"…/{path.name}"
    return value


def all_secrets(tree: Tree, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The secrets of settings and environment, and `more`, by name."""
    return {**secrets_in(os.environ), **(more or {}), **config_secrets(tree)}


def build_redactor(tree: Tree, more: Mapping[str, str] | None = None, readable: Collection[str] = ()) -> Redactor:
    """Takes the secrets of settings and environment out of what is written, and `more`, by name.

    Args:
        tree: The settings.
        more: Of tasks.
        readable: Names of secrets that stay as they are; see `secret_detection.readable`.
    """
    return Redactor(all_secrets(tree, more), readable=readable)
