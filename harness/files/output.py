"""What becomes of a command whose standard output takes no more: a reader that is gone is no error, a full disk is."""

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from harness.errors import StorageError
from harness.files.disk import storage_error

_READER_IS_GONE = (errno.EPIPE, errno.EIO, errno.ECONNRESET)
"""EIO, when the terminal has hung up."""


def output_error(exc: OSError) -> BrokenPipeError | StorageError:
    """What `exc` of standard output means; later output is dropped."""
    drop_output()
    if exc.errno in _READER_IS_GONE:
        return BrokenPipeError(exc.errno, exc.strerror)
    return storage_error(Path("standard output"), exc)


def drop_output() -> None:
    """Let stdout lead to nowhere: what is left in its buffer must not fail at exit."""
    with suppress(OSError):  # where stdout is not a file
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)


def flush_output() -> None:
    """At the end of a command, where Python itself would end with a traceback and a code of its own.

    Raises: StorageError: The disk does not take what was printed.
    """
    try:
        sys.stdout.flush()
    except OSError as exc:
        with suppress(BrokenPipeError):
            raise output_error(exc) from exc
