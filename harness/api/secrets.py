"""Secrets and how they are kept out of what is written.

For plug-ins that write what a page, a model or a person's settings said.
"""

from harness.commands.run_redactor import run_redactor
from harness.secrets.config_secrets import REDACTED, config_secrets, redacted_settings
from harness.secrets.redaction import NO_SECRETS, Redactor
from harness.secrets.secret_detection import is_secret_name, secrets_in

__all__ = [
    "NO_SECRETS",
    "REDACTED",
    "Redactor",
    "config_secrets",
    "is_secret_name",
    "redacted_settings",
    "run_redactor",
    "secrets_in",
]
