"""Who of a run is killed: its processes by what they are, and those that play one certain task.

Only descendants of the run's own process are ever looked at, and a process is killed only while it is still the one that was
found: psutil compares when it began.
"""

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

PARENT = "parent"
VICTIMS = (PARENT, "worker", "browser", "renderer", "network")
_TYPE = re.compile(r"--type=([a-z-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One process of the run that is worth a kill."""

    process: psutil.Process
    kind: str
    """One of `VICTIMS`."""
    worker: int | None
    """Pid of the worker above it, or its own."""
    browser: int | None


def kind_of(command: Sequence[str]) -> str:
    """What a command line is the command line of; "" = nothing that is killed on purpose."""
    if "harness.player" in command:
        return "worker"
    line = " ".join(command)
    if not command or "chrom" not in command[0] or "crashpad" in command[0]:
        return ""
    if (found := _TYPE.search(line)) is None:
        return "browser"
    if found[1] == "utility":
        return "network" if "network.mojom.NetworkService" in line else ""
    return "renderer" if found[1] == "renderer" else ""


def members(parent: int) -> tuple[Member, ...]:
    """Everybody worth a kill below this process, and it; in the order of their pids."""
    found: dict[int, tuple[psutil.Process, str, int]] = {}
    above: dict[int, int] = {}
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(parent)
        found[parent] = (root, PARENT, 0)
        for process in root.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                above[process.pid] = process.ppid()
                if kind := kind_of(process.cmdline()):
                    found[process.pid] = (process, kind, above[process.pid])
    made = []
    for pid, (process, kind, _) in sorted(found.items()):
        line = _line(pid, above)
        first = {wanted: next((one for one in line if found.get(one, (0, ""))[1] == wanted), None) for wanted in VICTIMS}
        # Chromium starts some of its processes with a second process of the same command line above them: the last is it.
        browsers = [one for one in line if found.get(one, (0, ""))[1] == "browser"]
        made.append(
            Member(process=process, kind=kind, worker=first["worker"], browser=browsers[-1] if browsers else None)
        )
    return tuple(made)


def _line(pid: int, above: dict[int, int]) -> list[int]:
    """The process and everybody above it, nearest first."""
    found = [pid]
    while (pid := above.get(pid, 0)) and pid not in found:
        found.append(pid)
    return found


def choose(found: Sequence[Member], victim: str, which: float, *, port: int | None) -> Member | None:
    """Whom to strike; None when nobody is left at all.

    Args:
        victim: What it shall be; where there is none of it, the parent.
        which: In [0, 1): which of several.
        port: Local port of a connection of the browser that plays the task; None = of any.
    """
    some = [one for one in found if one.kind == victim]
    if (near := _owner(found, port)) is not None:
        some = [one for one in some if near in (one.browser, one.worker)] or [
            one for one in some if one.kind == "worker" and one.worker == _worker_of(found, near)
        ] or some  # fmt: skip
    some = some or [one for one in found if one.kind == PARENT]
    return some[int(which * len(some))] if some else None


def _worker_of(found: Sequence[Member], browser: int) -> int | None:
    return next((one.worker for one in found if one.process.pid == browser), None)


def _owner(found: Sequence[Member], port: int | None) -> int | None:
    """The browser one of whose processes holds a connection with this local port."""
    if port is None:
        return None
    for one in found:
        if one.kind == "network":
            with contextlib.suppress(psutil.Error):
                if any(each.laddr and each.laddr.port == port for each in one.process.net_connections("tcp4")):
                    return one.browser
    return None


def kill(member: Member) -> bool:
    """SIGKILL; False when it was gone already."""
    try:
        member.process.kill()
    except psutil.Error:
        return False
    return True
