"""Runs a Python script of another's on one input and gives what it writes: no network, and no files but these.

The script sees the folders of the system that programs need, the standard library, itself and its input, all read-only;
no variables of the environment, no packages, no home folder. Time, memory and output are bounded.
"""

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

from harness.api.processes import READ_ONLY_ROOT, Bubblewrap, system_mounts
from harness.errors import PluginFailed
from harness.plugins.real import limited

MOST_MEMORY = 1 << 30
"""Bytes of address space. A script cannot start processes; one that root runs can, each with as much."""
MOST_OUTPUT = 1 << 20
"""Bytes of standard output, and of standard error; what a script writes beyond fails in it."""
_PLACE = "/run/script"
_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEnd:
    code: int
    stdout: str
    stderr: str


async def run_script(sandbox: Bubblewrap, script: bytes, given: bytes, *, limit_s: float) -> ScriptEnd:
    """Run a script to its end; its argument is the path of a file that holds `given`.

    Raises:
        TimeoutError: It did not end within `limit_s`; it was ended.
        PluginFailed: It could not be started.
    """
    with TemporaryDirectory(prefix="cairn-script-") as made, TemporaryFile() as stdout, TemporaryFile() as stderr:
        folder = Path(made)
        (folder / "script.py").write_bytes(script)
        (folder / "given.json").write_bytes(given)
        process = await asyncio.create_subprocess_exec(
            *_command(sandbox, folder, limit_s),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={},
            start_new_session=True,  # else /dev/tty is the person's terminal, into which a script can type
        )
        try:
            async with asyncio.timeout(limit_s):
                code = await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        first, _, said = _text(stdout).partition("\n")
        if first != limited.STARTED:
            why = _text(stderr).strip().splitlines()
            raise PluginFailed(f"a script cannot be started in bubblewrap: {why[-1][:300] if why else f'code {code}'}")
        return ScriptEnd(code=code, stdout=said, stderr=_text(stderr))


def _command(sandbox: Bubblewrap, folder: Path, limit_s: float) -> list[str]:
    python, program = os.path.realpath(sys.executable), f"{_PLACE}/limited.py"
    command = [*sandbox.command, "--unshare-net", *system_mounts(_PROGRAMS), "--proc", "/proc", "--dev", "/dev"]
    for place in {sys.base_prefix, python}:
        if not any(Path(place).is_relative_to(one) for one in _PROGRAMS):
            command += ["--ro-bind", place, place]
    command += ["--ro-bind", str(folder), f"{_PLACE}/own", "--ro-bind", limited.__file__, program, *READ_ONLY_ROOT]
    limits = f"{MOST_MEMORY},{int(limit_s) + 1},{MOST_OUTPUT}"
    options = ("-I", "-S", "-X", "utf8", program, limits, f"{_PLACE}/own/script.py", f"{_PLACE}/own/given.json")
    return [*command, "--chdir", f"{_PLACE}/own", "--", python, *options]


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MOST_OUTPUT).decode("utf-8", "replace")
