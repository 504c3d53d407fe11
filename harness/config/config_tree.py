"""The part of the settings that is written to a run folder, and the redactor for all output."""

import os
from collections.abc import Collection, Mapping

from omegaconf import OmegaConf

from harness.config.config_secrets import config_secrets, redacted_settings
from harness.config.schema_fields import Tree
from harness.journal.redaction import Redactor
from harness.journal.secret_detection import secrets_in


def saved(tree: Tree) -> str:
    """All of it as YAML, keys and passwords left out."""
    return str(OmegaConf.to_yaml(OmegaConf.create(redacted_settings(tree))))


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
