"""Runs commands from the settings in a shell: whether the program exists, and how the command ended.

Processes that a command leaves running are not waited for and not ended later. A command that is cancelled or exceeds
its timeout is ended with all its descendants.
"""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from harness.files.disk import translate_os_errors
from harness.runner.process_tree import HOOK_MARK, end_hook, hook_environment, hook_mark

NO_COMMAND = frozenset({126, 127})
"""With these codes a shell ends that found something that may not be run, or nothing at all (POSIX, 2.8.2)."""

_COMMAND = "CAIRN_COMMAND"
_RUN = f'set -- "${_COMMAND}"; unset {_COMMAND}; eval "shift; $1"'
_MARKED = f'{HOOK_MARK}="$0$$"; export {HOOK_MARK}; exec /bin/sh -c "$1"'
"""Runs the command as the same process, marked with its own process id (`family`).

It is passed in a variable because it may hold a password, and the arguments of a process are public.
"""
_LAST_BYTES = 1 << 16
"""So much of what a command said is looked at for its last line."""

_FIRST_WORD = re.compile(r"\s*([\w./+~-]+)(?=\s|[;&|<>]|$)")
"""A word that the shell uses unchanged: the check must not execute anything."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended."""

    code: int | None
    """None = it took too long, and was killed with all it had started."""
    said: str
    """The last line it printed."""


def find_missing_program(command: str) -> str | None:
    """The program with which a command begins, if no executable has that name; None also if this is unknown."""
    found = _FIRST_WORD.match(command)
    if found is None:
        return None
    program = os.path.expanduser(found[1])  # noqa: PTH111  # a Path would drop the `./` that says where to look
    return None if shutil.which(program) or _is_builtin(program) else found[1]


async def run_command(command: str, *, variables: Mapping[str, str], timeout_s: float) -> CommandResult:
    """Run a command to its end, with these variables of its environment beside our own."""
    # A file, not a pipe: a server that the command leaves running holds its output open, and must not die of its first
    # line after we have closed the other end.
    with translate_os_errors(Path(tempfile.gettempdir())):
        file = tempfile.TemporaryFile()
    with file as output:
        code = await _ended(command, variables, output=output, timeout_s=timeout_s)
        return CommandResult(code, "" if code is None else _last_line(output))


async def _ended(command: str, variables: Mapping[str, str], *, output: BinaryIO, timeout_s: float) -> int | None:
    """The exit code of the command, whatever it left running; None = it exceeded its timeout."""
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _MARKED, hook_mark(""), _RUN),
        env={**hook_environment(), **variables, _COMMAND: command},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=output,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_s):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            end_hook(process.pid)
            await process.wait()


def _last_line(output: BinaryIO) -> str:
    output.seek(0, os.SEEK_END)
    output.seek(max(0, output.tell() - _LAST_BYTES))
    lines = output.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _is_builtin(word: str) -> bool:
    if "/" in word:
        return False
    asked = ("/bin/sh", "-c", 'command -v -- "$1"', "sh", word)
    return subprocess.run(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
