"""What is told of a run while it goes on, without secrets: taken out before a display cuts or wraps it, when none is
whole any more.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.protocols import Progress, ProgressEvent


@dataclass(frozen=True, slots=True)
class RedactingProgress:
    """A `Progress` that tells another one."""

    progress: Progress
    redact: Callable[[str], str]

    def tell(self, news: ProgressEvent) -> None:
        self.progress.tell(replace(news, action=self.redact(news.action), note=self.redact(news.note)))
