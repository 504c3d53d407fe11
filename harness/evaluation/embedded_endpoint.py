"""Model endpoints that a run serves itself, found by the name that `llm.kind` has."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from harness.registry import Registry

ENDPOINTS = Registry(group="cairn.endpoints", noun="llm.kind")
"""`llm.kind` to a class."""


class EmbeddedEndpoint(Protocol):
    """An endpoint that answers from a file of plans; its server is started as `harness.embedded_server` says."""

    @property
    def module(self) -> str:
        """Of its server; its options are `--intents`, `--plans`, `--placeholders`, `--faults` and `--latency-ms`."""
        ...

    @property
    def secrets_variable(self) -> str:
        """Environment variable of the server for the secrets that were taken out of these files: JSON, by name."""
        ...

    def plan_entries(self, plans: Path, /) -> list[Any]:
        """What a plan file lists, of which nothing is checked.

        Raises:
            TaskError: It is not a list, or cannot be read.
        """
        ...

    def check(
        self,
        plans: Path,
        faults: Any,
        intents: Mapping[str, str],
        /,
        *,
        placeholders: Mapping[str, str],
        reveal: Callable[[bytes], bytes],
    ) -> None:
        """Check what the server will be given.

        Args:
            plans: The plan file.
            faults: `llm.faults`.
            intents: Task id to intent.
            placeholders: As in `__SHOP__`, each with the address it stands for.
            reveal: Puts secrets back into the file.
        Raises:
            UsageError: Something is wrong with it.
        """
        ...


def endpoint_of(kind: str) -> EmbeddedEndpoint:
    """Raises: ConfigError: There is none of this kind."""
    found: EmbeddedEndpoint = ENDPOINTS.find(kind)()
    return found
