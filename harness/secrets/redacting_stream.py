"""Removes secrets from everything that this process writes to stdout and stderr, also lines of other libraries.

`sys.stdout` and `sys.stderr` pass through this stream. Output that child processes write to the terminal directly, and
bytes written to a file descriptor, do not.
"""

import sys
from typing import IO, Any

from harness.secrets.redaction import Redactor


class RedactingStream:
    """A text stream that takes the secrets out of what is written, one write at a time."""

    def __init__(self, stream: IO[str], redactor: Redactor) -> None:
        self.redactor = redactor
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(self.redactor.said(text))
        return len(text)  # of what was given: callers compare it with what they wrote

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def redact_output(redactor: Redactor) -> None:
    """From now on; called again, with the secrets known then."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, RedactingStream):
            stream.redactor = redactor
        elif stream is not None:
            # The stream and not each place that prints: a traceback has no such place.
            setattr(sys, name, RedactingStream(stream, redactor))


def redacted_output(text: str) -> str:
    """A text as it would be said now."""
    return sys.stderr.redactor.said(text) if isinstance(sys.stderr, RedactingStream) else text


def restore_output() -> None:
    """As it was before `redact_output`."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, RedactingStream):
            setattr(sys, name, stream._stream)
