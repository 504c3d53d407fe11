"""Starts an agent's command and ends everything it started, also when the worker that wanted it is gone.

A separate program, which imports nothing of this package: `python -I -S launcher.py LIFELINE FOLDER COMMAND…`. It
holds the reading end of a pipe whose other end only the worker has: when that closes, however the worker died, it ends
the command. It is the subreaper of all its descendants, so one that has left its parent, group and session is found.
When none is left it exits with the code of the command (128 and the number of a signal). The folder is the worker's to
remove, and its own when the lifeline has closed without a word.
"""

import ctypes
import os
import select
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress

PR_SET_CHILD_SUBREAPER = 36
_KILLED = 137
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""By this program only: what is ignored stays so in all that a command starts."""
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def _become_subreaper() -> None:
    """On Linux; elsewhere a descendant that becomes a daemon is found by its mark only."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _start(command: list[str], lifeline: int) -> int:
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        os.close(lifeline)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, *_IGNORED, *_IGNORED_BY_PYTHON):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _descendants() -> list[int]:
    """Descendants of this process."""
    parents = dict(_parents())
    found, level = [], [os.getpid()]
    while level:
        level = [one for one, parent in parents.items() if parent in level]
        found += level
    return found


def _parents() -> Iterator[tuple[int, int]]:
    """Each process with its parent; zombies are left out."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208 (without pathlib it starts sooner)
    except FileNotFoundError:
        yield from _parents_by_ps()
        return
    for name in names:
        if name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    state, parent = file.read().rpartition(b") ")[2].split()[:2]
                if state != b"Z":
                    yield int(name), int(parent)


def _parents_by_ps() -> Iterator[tuple[int, int]]:
    """The same without /proc, as on macOS; `ps` itself is left out."""
    import subprocess  # here only: elsewhere the program starts sooner without it

    # One option for each column: what follows a `=` is all header.
    command = ("/bin/ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "stat=")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as listing:
        for line in listing.communicate()[0].splitlines():
            with suppress(ValueError):
                one, parent, state = line.split()
                if int(one) != listing.pid and not state.startswith(b"Z"):
                    yield int(one), int(parent)


def _end_all() -> None:
    """Until there is none: one may start another while it is looked for."""
    for _ in range(1000):
        if not (found := _descendants()):
            return
        for one in found:
            with suppress(OSError):
                os.kill(one, signal.SIGKILL)
        select.select([], [], [], 0.002)


def _reap() -> dict[int, int]:
    """The exit codes of children that have ended."""
    ended = {}
    with suppress(ChildProcessError):
        while True:
            one, status = os.waitpid(-1, os.WNOHANG)
            if not one:
                break
            code = os.waitstatus_to_exitcode(status)
            ended[one] = code if code >= 0 else 128 - code
    return ended


def _reap_all() -> None:
    """Those that were ended are all children of this process by now, as their parents are gone."""
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def main(arguments: list[str]) -> int:
    """Run until the command or the lifeline ends."""
    lifeline, folder, command = int(arguments[0]), arguments[1], arguments[2:]
    _become_subreaper()
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for ignored in _IGNORED:
        signal.signal(ignored, signal.SIG_IGN)
    child, code = _start(command, lifeline), _KILLED
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # so that the worker sees the end of what the command writes
        os.dup2(nothing, number)
    while True:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
        ended = _reap()
        if child in ended:
            code = ended[child]
            break
        if lifeline in ready:
            break
    with suppress(OSError):  # whatever prevents it, the exit code is that of the command
        _end_all()
    with suppress(OSError):  # without a subreaper, those that have lost their parent are found only as a group
        os.killpg(child, signal.SIGKILL)
    _reap_all()
    # Deleted while the worker lives, masks would be seen to be opened, as if by the command.
    if select.select([lifeline], [], [], 0)[0] and not os.read(lifeline, 1):
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
