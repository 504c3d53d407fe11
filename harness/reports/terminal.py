"""The console of a run: its reader may go away (`| head`, a closed window), which ends nothing by itself.

What is printed afterwards is dropped, and whoever asked to be told is told once. Knows nothing of runs.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, cast

from rich.console import Console


class Terminal(Console):
    """Writes to stdout for as long as somebody reads it."""

    def __init__(self) -> None:
        super().__init__(file=cast("IO[str]", _Output(sys.stdout)))
        self.lost: Callable[[], object] = lambda: None
        """Told when nobody reads any more; maybe in another thread."""

    def say(self, text: str) -> None:
        """One sentence, as it is."""
        self.print(text, markup=False, highlight=False, soft_wrap=True)

    def on_broken_pipe(self) -> None:
        """Rich would end the process with code 1."""
        self.quiet = True
        with suppress(OSError):  # where stdout is no file; what is left in its buffer must not fail at exit
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, sys.stdout.fileno())
            os.close(devnull)
        self.lost()


class _Output:
    """A stream on which everything that cannot be written is a broken pipe, as it is for rich."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError as exc:  # EIO, when the terminal has hung up
            raise BrokenPipeError(exc.errno, exc.strerror) from exc

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as exc:
            raise BrokenPipeError(exc.errno, exc.strerror) from exc

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
