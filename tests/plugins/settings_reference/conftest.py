"""The real command in a process of its own."""

from tests.commands.conftest import harness

__all__ = ["harness"]
