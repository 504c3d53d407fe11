"""Internal errors: their own exit code, one sentence, and the traceback in a file for the bug report.

They are faults of ours, and neither of what was measured (exit 1) nor of the person (exit 2). Python would print the
whole traceback and end with 1, which says that an agent got worse.
"""

import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Self

from harness.errors import ExitCode, said_by
from harness.escape import one_line, visible


class InternalErrorGuard:
    """Around a whole command: `with InternalErrorGuard("run.py") as fault: return …`, then `return fault.code`.

    Only exceptions that nobody foresaw should reach it; `SystemExit` and interrupts pass.
    """

    code = ExitCode.UNFORESEEN

    def __init__(self, program: str, *, redact: Callable[[str], str], keeps: bool = True) -> None:
        """`keeps`: the traceback in a file; else it follows the sentence, where that is kept already."""
        self._program = program
        self._keeps = keeps
        self.redact = redact
        """Takes secrets out of what is written."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        text = self.redact("".join(traceback.format_exception(error)))
        with suppress(OSError):  # stderr is closed
            sys.stderr.write(f"{self._program}: {_sentence(self.redact, error)}; {self._kept(text)}\n")
        return True

    def _kept(self, text: str) -> str:
        """Where the traceback is; where no file can be made, the traceback."""
        with suppress(OSError):
            # Not in the run folder, which may be the cause, may be another user's, or may not exist.
            if self._keeps:
                number, path = tempfile.mkstemp(prefix="cairn-error-", suffix=".txt")  # for this user's eyes only
                with os.fdopen(number, "w", encoding="utf-8", errors="replace") as file:
                    file.write(text)
                return f"no recorded data is lost; please report this with the traceback in {path}"
        return f"no recorded data is lost; please report this with the following traceback\n{visible(text)}"


def flatten_group(error: BaseException) -> list[BaseException]:
    """What a group holds, groups in it opened; of anything else itself."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in error.exceptions for leaf in flatten_group(one)]


def without_secrets(text: str, arguments: Iterable[str]) -> str:
    """The text without the secrets of environment and command line."""
    from harness.secrets.redaction import Redactor
    from harness.secrets.secret_detection import secrets_in

    given = (one.lstrip("+").partition("=") for one in arguments)
    said = {name.replace(".", "_"): value.strip("'\"") for name, _, value in given}
    return Redactor({**secrets_in(os.environ), **secrets_in(said)}).said(text)


def _sentence(redact: Callable[[str], str], error: BaseException) -> str:
    error = flatten_group(error)[0]
    said = one_line(redact(said_by(error)), 200)
    return f"internal error: {type(error).__name__}{said and ': '}{said}"
