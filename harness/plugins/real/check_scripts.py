"""The checks of REAL's tasks that are Python programs: found beside the tasks, and run on the end state in a sandbox.

A task holds name and digest of its program, and only the file of that digest in the user's own folder is run: a
journal or a bundle cannot bring a program with it. A program passes by writing SUCCESS, in upper or lower case, as
REAL's own code reads it.
"""

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from re import ASCII, fullmatch
from typing import Any

from harness.api import EvaluatorError
from harness.api.files import safe_files
from harness.api.processes import Bubblewrap, choose_sandbox
from harness.api.settings import Sandbox
from harness.api.text import cut
from harness.errors import ConfigError, PluginFailed, UnsafeFile
from harness.plugins.real.script import run_script

FOLDER = "eval_scripts"
"""The folder beside that of the tasks, as in the package `agisdk`."""
LIMIT_S = 30.0
"""The limit of the package; a program that takes longer does not pass."""
_MOST_BYTES = 1 << 20
_SHOWN = 200


class CheckScripts:
    """Args: `tasks`: the file or folder of the tasks; None = there are no programs."""

    def __init__(self, tasks: Path | None) -> None:
        self.folder = None if tasks is None else (tasks if tasks.is_dir() else tasks.parent).absolute().parent / FOLDER

    def check_of(self, name: str) -> dict[str, str]:
        """What a task holds of a program.

        Raises:
            ValueError: It cannot be had, in words that follow the name of the field.
            ConfigError: No program can be run here.
        """
        sandbox()
        return {"script": name, "sha256": sha256(self._read(name)).hexdigest()}

    async def missed(self, check: dict[str, str], state: Any) -> str:
        """What is wrong; "" = the check holds.

        Raises:
            EvaluatorError: The program is not the one of the task, or cannot be run.
        """
        name = check["script"]
        try:
            script, box = await asyncio.to_thread(self._read, name), sandbox()
            if sha256(script).hexdigest() != check["sha256"]:
                raise ValueError(f"is not the file {name} that the task was loaded with")
            end = await run_script(box, script, json.dumps(state, indent=2).encode(), limit_s=LIMIT_S)
        except ValueError as error:
            raise EvaluatorError(f"the check {name[:80]} {error}") from error
        except (ConfigError, PluginFailed) as error:
            raise EvaluatorError(str(error)) from error
        except TimeoutError:
            return f"the check {name} did not end within {LIMIT_S:g} s"
        if "SUCCESS" in end.stdout.upper():
            return ""
        said = " ".join((end.stdout.strip() or end.stderr.strip()[-_SHOWN:] or "nothing").split())
        return f"the check {name} writes {cut(said, _SHOWN)}"

    def _read(self, name: str) -> bytes:
        if not fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}\.py", name, ASCII):
            raise ValueError(f"is {name[:80]!r}, which is not the name of a Python file")
        if self.folder is None:
            raise ValueError("needs the folder of the tasks; give task.path")
        try:
            return safe_files.read_named(self.folder / name, most=_MOST_BYTES)
        except UnsafeFile as error:
            raise ValueError(f"cannot be read from {self.folder / name} ({error.why})") from error
        except OSError as error:
            raise ValueError(f"cannot be read from {self.folder / name} ({error.strerror})") from error


def sandbox() -> Bubblewrap:
    """Raises: ConfigError: There is none on this machine."""
    found, why = choose_sandbox(Sandbox.auto)
    if found is None:
        raise ConfigError(f"checks of REAL's tasks are third-party programs, run only in bubblewrap: {why}")
    return found
