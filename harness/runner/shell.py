"""Commands of the person's own, which the shell runs: whether there is one, and how it ended."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from harness.runner.family import kill_tree

NO_COMMAND = frozenset({126, 127})
"""With these codes a shell ends that found something that may not be run, or nothing at all (POSIX, 2.8.2)."""

_FIRST_WORD = re.compile(r"\s*([\w./+~-]+)(?=\s|[;&|<>]|$)")
"""Only one that the shell takes as it stands: looking must not do anything."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a command."""

    code: int | None
    """None = it took too long, and was killed with all it had started."""
    said: str
    """The last line it printed."""


def missing(command: str) -> str | None:
    """The program a command begins with, when there is none of this name that may be run; None also when it cannot be told."""
    found = _FIRST_WORD.match(command)
    if found is None:
        return None
    program = os.path.expanduser(found[1])  # noqa: PTH111  # a Path would drop the `./` that says where to look
    return None if shutil.which(program) or _is_builtin(program) else found[1]


async def run(command: str, *, told: Mapping[str, str], timeout_s: float) -> Ended:
    """Run a command to its end.

    Args:
        command: For the shell.
        told: Variables of its environment, beside our own.
        timeout_s: How long it may take.
    """
    process = await asyncio.create_subprocess_shell(
        command,
        env={**os.environ, **told},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(timeout_s):
            said, _ = await process.communicate()
    except TimeoutError:
        return Ended(None, "")
    finally:
        if process.returncode is None:
            kill_tree(process.pid)
            await process.wait()
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return Ended(process.returncode, lines[-1] if lines else "")


def _is_builtin(word: str) -> bool:
    if "/" in word:
        return False
    asked = ("/bin/sh", "-c", 'command -v -- "$1"', "sh", word)
    return subprocess.run(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
