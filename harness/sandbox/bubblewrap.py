"""bubblewrap, which confines an agent's process, or a script of a benchmark, where it is installed and works."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.choices import Sandbox
from harness.errors import ConfigError
from harness.sandbox import namespaces

_OPTIONS = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--die-with-parent"),
    *("--cap-drop", "ALL", "--hostname", "agent"),
)
_NO_MORE_NAMESPACES = "--disable-userns"
"""Since version 0.8: otherwise the process may make namespaces of its own, in which it is as confined as before."""
_ANSWERS_WITHIN_S = 20.0
_MISSING = "bubblewrap is not installed (Debian, Ubuntu: apt-get install bubblewrap)"

READ_ONLY_ROOT = ("--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/")
"""After all mounts: what they were made on."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A program that works here."""

    command: tuple[str, ...]
    """bubblewrap with the options that every process gets."""


def choose_sandbox(wanted: Sandbox) -> tuple[Bubblewrap | None, str]:
    """What confines the agent's process; None with the reason = nothing does.

    Raises:
        ConfigError: The settings demand a sandbox that this machine does not have.
    """
    if wanted is Sandbox.none:
        return None, "agent.sandbox=none"
    found, why = _tried()
    if found is None and wanted is Sandbox.bubblewrap:
        raise ConfigError(f"agent.sandbox=bubblewrap: {why}")
    return found, why


@cache
def _tried() -> tuple[Bubblewrap | None, str]:
    """Whether it works is found out by starting something in it: systems restrict namespaces in many ways."""
    if not sys.platform.startswith("linux"):
        return None, f"bubblewrap needs Linux, and this is {sys.platform}"
    if (program := shutil.which("bwrap")) is None:
        return None, _MISSING
    why = ""
    for further in ((_NO_MORE_NAMESPACES,), ()):
        found = Bubblewrap((program, *_OPTIONS, *further))
        if not (why := _failure(found)):
            return found, ""
    return None, f"bubblewrap does not work here: {why}"


def _failure(found: Bubblewrap) -> str:
    """Why it fails here; "" = it works."""
    import socket

    with tempfile.TemporaryDirectory(prefix="cairn-sandbox-") as folder:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            # The word at which the program of `namespaces` becomes bubblewrap.
            ours.sendall(b"g")
            inside = (*found.command, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true")
            command = stage_command(theirs.fileno(), Path(folder), inside)
            try:
                done = subprocess.run(
                    command, pass_fds=[theirs.fileno()], capture_output=True, timeout=_ANSWERS_WITHIN_S, check=False
                )
            except subprocess.TimeoutExpired:
                return f"it did not end within {_ANSWERS_WITHIN_S:g} s"
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return "" if done.returncode == 0 else (said[-1][:200] if said else f"exit code {done.returncode}")


PORT, BROWSER_PORT = 47111, 47112
"""Ports of the gateway and of the browser in the network of each confined process."""
MOST_WRITTEN = 1 << 30
"""Bytes that a process may write, in memory."""


def stage_command(control: int, folder: Path, command: tuple[str, ...]) -> tuple[str, ...]:
    """The program of `namespaces`, which becomes `command`."""
    own = (str(control), str(folder), str(MOST_WRITTEN), f"{PORT},{BROWSER_PORT}")
    return (sys.executable, "-I", "-S", namespaces.__file__, *own, *command)


def system_mounts(names: Iterable[str]) -> Iterator[str]:
    """Folders of the system, read-only, those that are there."""
    for name in names:
        if os.path.islink(name):  # noqa: PTH114
            yield from ("--symlink", os.readlink(name), name)  # noqa: PTH115
        else:
            yield from ("--ro-bind-try", name, name)
