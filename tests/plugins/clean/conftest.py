"""The real command in a process of its own, and a run to clean."""

from tests.commands.conftest import harness, run

__all__ = ["harness", "run"]
