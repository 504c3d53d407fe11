"""Secrets and how they are kept out of what is written.

For plug-ins that write what a page, a model or a person's settings said.
"""

from harness.commands.run_redactor import run_redactor
from harness.secrets.config_secrets import config_secrets
from harness.secrets.redaction import NO_SECRETS, Redactor
from harness.secrets.secret_detection import secrets_in

__all__ = [
    "NO_SECRETS",
    "Redactor",
    "config_secrets",
    "run_redactor",
    "secrets_in",
]
