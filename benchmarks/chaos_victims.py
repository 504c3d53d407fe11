"""Who of a run is killed or stopped: its processes by what they are, and those that play one certain task.

Only descendants of the run's own process are ever looked at, and a process is killed only while it is still the one
that was
found: psutil compares when it began.
"""

import contextlib
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

PARENT = "parent"
VICTIMS = (PARENT, "worker", "browser", "renderer", "network")
SETTLED_S = 1.0
FRESH_S = 0.3
"""A look this long ago will do."""
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
    if "harness.evaluation.worker_main" in command:
        return "worker"
    line = " ".join(command)
    if not command or "chrom" not in command[0] or "crashpad" in command[0]:
        return ""
    if (found := _TYPE.search(line)) is None:
        return "browser"
    if found[1] == "utility":
        return "network" if "network.mojom.NetworkService" in line else ""
    return "renderer" if found[1] == "renderer" else ""


class Family:
    """The run's processes, looked at quickly: what a process is does not change, so it is asked once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[psutil.Process, str]] = {}
        self._latest: tuple[float, int, tuple[Member, ...]] = (0.0, 0, ())
        self._owners: dict[int, int] = {}
        """Local port of a connection to the pid of the browser that holds it."""

    def look(self, parent: int) -> tuple[Member, ...]:
        """Everybody worth a kill below this process, and it; in the order of their pids. Takes some ms."""
        above = _descent(parent)
        kinds = {pid: self._kind(pid) for pid in above if pid != parent}
        kinds[parent] = PARENT
        made = []
        for pid in sorted(pid for pid, kind in kinds.items() if kind):
            with contextlib.suppress(psutil.Error):
                process = self._known[pid][0] if pid in self._known else psutil.Process(pid)
                line = _line(pid, above)
                worker = next((one for one in line if kinds.get(one) == "worker"), None)
                # Chromium may be started by a process of the same command line: the upmost is the one that is spoken
                # to.
                browser = next((one for one in reversed(line) if kinds.get(one) == "browser"), None)
                made.append(Member(process=process, kind=kinds[pid], worker=worker, browser=browser))
        self._latest = time.monotonic(), parent, tuple(made)
        return tuple(made)

    def refresh(self, parent: int) -> tuple[Member, ...]:
        """The newest look, if it is new enough, else another one."""
        at, of, found = self._latest
        return found if of == parent and time.monotonic() - at < FRESH_S else self.look(parent)

    def meet(self, parent: int, port: int) -> None:
        """Find out whose connection this is; takes some ms."""
        for one in self.look(parent):
            if one.kind == "network" and one.browser is not None:
                with contextlib.suppress(psutil.Error):
                    if any(each.laddr and each.laddr.port == port for each in one.process.net_connections("tcp4")):
                        self._owners[port] = one.browser

    def choose(self, parent: int, victim: str, which: float, *, port: int | None) -> Member | None:
        """Whom to strike; None when nobody is left at all.

        Args:
            victim: What it shall be; where there is none of it, the parent.
            which: In [0, 1): which of several.
            port: Local port of a connection of the browser that plays the task; None, or of nobody known: any browser.
        """
        found = self.refresh(parent)
        some = [one for one in found if one.kind == victim] or [one for one in found if one.kind == PARENT]
        browser = self._owners.get(port or 0)
        worker = next((one.worker for one in found if one.process.pid == browser), None)
        near = [one for one in some if browser is not None and one.browser == browser]
        near = near or [one for one in some if worker is not None and one.process.pid == worker]
        some = near or some
        return some[int(which * len(some))] if some else None

    def _kind(self, pid: int) -> str:
        if (known := self._known.get(pid)) is not None and known[0].is_running():
            return known[1]
        try:
            process = psutil.Process(pid)
            kind = kind_of(process.cmdline())
            if time.time() - process.create_time() > SETTLED_S:  # before, it may still look like whoever started it
                self._known[pid] = process, kind
        except psutil.Error:
            return ""
        return kind


def _descent(parent: int) -> dict[int, int]:
    """Every process below this one, and it, to the one above it."""
    above: dict[int, int] = {}
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            above[pid] = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    return {pid: up for pid, up in above.items() if parent in _line(pid, above)}


def _line(pid: int, above: Mapping[int, int]) -> list[int]:
    """The process and everybody above it, nearest first."""
    found = [pid]
    while (pid := above.get(pid, 0)) and pid not in found:
        found.append(pid)
    return found


def stop(parent: int, *, whole: bool) -> list[psutil.Process]:
    """SIGSTOP to the run and its workers, or (`whole`) to everything below it too, as when a machine sleeps; gives whom
    it reached.
    """
    found = [pid for pid in _descent(parent) if whole or pid == parent or _is_worker(pid)]
    stopped = []
    for pid in sorted(found, key=lambda one: one != parent):  # first who would take the others for hung
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            process.suspend()
            stopped.append(process)
    return stopped


def go_on(stopped: Sequence[psutil.Process]) -> None:
    """SIGCONT to those that were stopped."""
    for process in reversed(stopped):
        with contextlib.suppress(psutil.Error):
            process.resume()


def _is_worker(pid: int) -> bool:
    try:
        return kind_of(psutil.Process(pid).cmdline()) == "worker"
    except psutil.Error:
        return False


def kill(member: Member) -> bool:
    """SIGKILL; False when it was gone already."""
    try:
        member.process.kill()
    except psutil.Error:
        return False
    return True
