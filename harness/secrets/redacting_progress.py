"""Removes secrets from progress messages before a display cuts or wraps them: a part of a secret would not be
recognised.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.protocols import Progress, ProgressEvent


@dataclass(frozen=True, slots=True)
class RedactingProgress:
    """A `Progress` that forwards to another one."""

    progress: Progress
    redact: Callable[[str], str]

    def tell(self, event: ProgressEvent) -> None:
        self.progress.tell(replace(event, action=self.redact(event.action), note=self.redact(event.note)))
