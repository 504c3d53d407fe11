"""Finds and ends the processes that belong to a run by a mark in their environment, however their parent died.

Every process that a run starts inherits `CAIRN_RUN`, whose value names the run folder. An invocation that holds the
lock of the folder may end every process with that mark, since no other invocation is active. Commands from the settings
(reset hooks) do not inherit it, because they may start servers that outlive the run. They carry `CAIRN_HOOK`, the run
and the process id of the command itself: an invocation ends a command that is still running, with its descendants, and
leaves the servers of finished ones alone.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import psutil

MARK = "CAIRN_RUN"
"""Variable by which the processes of a run are known, whoever their parent is by now."""
WORKER_MARK = "CAIRN_WORKER"
"""Variable with the number of the worker that a process belongs to."""
HOOK_MARK = "CAIRN_HOOK"
_MARKS = (MARK, WORKER_MARK, HOOK_MARK)
UNMARKED = "0" * 16
"""In place of a mark, of a process that does not know its run yet."""
_LOOKS = 5
_EXEC_S = 0.01
"""Between two looks at a process that has no environment yet."""
# Each Chromium has two of them: without this memory, every search for processes waited 40 ms.
_BARE: dict[tuple[int, float], list[str]] = {}
"""Command lines of processes that had no environment at any look; Chromium's zygotes write over theirs."""
_SETTLED_S = 5.0
"""A younger one may still be amid its first execve, stopped between the line and the variables on a busy machine."""
_TELLING = frozenset({"DEBUG", "DEBUGP", "DEBUG_FILE", "PWDEBUG"})


def tag_environment(folder: Path) -> None:
    """Mark the environment, so that every process started from now on inherits the mark of this run."""
    os.environ[MARK] = _name(folder)


def mark_oneself(folder: Path) -> None:
    """Mark this process, which was started as `UNMARKED`, and what it starts from now on.

    Raises:
        OSError, ValueError: Its environment cannot be written.
    """
    # Where the kernel shows it from, in the memory it was started with: `os.environ` changes a copy.
    at = Path("/proc/self/environ").read_bytes().index(f"{MARK}={UNMARKED}".encode()) + len(MARK) + 1
    begin = int(Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()[47])  # env_start, see proc(5)
    with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
        memory.seek(begin + at)
        memory.write(_name(folder).encode())
    tag_environment(folder)


def marks(folder: Path, worker: int) -> dict[str, str]:
    """The variables for a worker on a machine that does not inherit the mark."""
    return {MARK: _name(folder), WORKER_MARK: str(worker)}


def kill_orphans(folder: Path) -> int:
    """End the processes that an earlier invocation left behind, including running hooks; returns their number.

    Descendants of this process are spared: the first worker starts before the run folder is locked.
    """
    hooks = [process for process in psutil.process_iter() if _is_hook_at_work(process, _name(folder))]
    for hook in hooks:
        kill_tree(hook.pid)
    orphans = [process for process in find_orphans(folder) if not _is_descendant(process)]
    _kill(orphans)
    return len(hooks) + len(orphans)


def hook_environment() -> dict[str, str]:
    """The environment of a command from the settings: ours without the marks, as it may start servers of its own."""
    return {name: value for name, value in os.environ.items() if name not in _MARKS}


@contextlib.contextmanager
def unmarked() -> Iterator[None]:
    """Without the marks in the environment, for a program that hands it on to processes that outlive the run."""
    kept = {name: os.environ.pop(name) for name in _MARKS if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker, without variables that make its libraries log every typed key."""
    return {name: value for name, value in environment.items() if name not in _TELLING}


def hook_mark(pid: int | str) -> str:
    """The value of `HOOK_MARK` for a command of this run, by its process id."""
    return f"{os.environ.get(MARK, '')}:{pid}"


def end_hook(pid: int) -> None:
    """End a command with all it started, also what has left its process tree; for one that did not do its work."""
    kill_tree(pid)
    end_marked({HOOK_MARK: hook_mark(pid)})


def end_marked(wanted: Mapping[str, str]) -> int:
    """End every process of this machine that carries all these marks; returns how many that were."""
    found = find_marked(wanted)
    _kill(found)
    return len(found)


def find_orphans(folder: Path) -> list[psutil.Process]:
    """All processes except this one with the mark of this run, without zombies."""
    return find_marked({MARK: _name(folder)})


def find_marked(wanted: Mapping[str, str]) -> list[psutil.Process]:
    """All processes of this machine except this one that carry all these marks, without zombies."""
    processes = [process for process in psutil.process_iter() if process.pid != os.getpid()]
    found: list[psutil.Process] = []
    for look in range(_LOOKS):
        if look:
            time.sleep(_EXEC_S)
        read = [(process, variables) for process in processes if (variables := _environment(process)) is not None]
        found += [process for process, variables in read if wanted.items() <= variables.items()]
        # In the middle of execve, and for longer on a busy machine, a process has no environment that can be read.
        processes = [process for process, variables in read if not variables and not _is_bare(process)]
        if not processes:
            break
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if time.time() - process.create_time() >= _SETTLED_S:
                _BARE[process.pid, process.create_time()] = process.cmdline()
    return found


def _is_bare(process: psutil.Process) -> bool:
    """Whether it has been looked at often enough: a process that becomes another program has no command line first."""
    if not _BARE:
        return False
    try:
        known = _BARE.get((process.pid, process.create_time()))
        return bool(known) and process.cmdline() == known
    except psutil.Error:
        return True


def kill_tree(pid: int) -> None:
    """End a process and all its descendants at once, also stopped ones and those in groups of their own."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        # Stopped first, so that it cannot start another child while its children are listed.
        with contextlib.suppress(psutil.Error):
            parent.suspend()
        _kill([*parent.children(recursive=True), parent])


def kill_children() -> None:
    """End all descendants of this process."""
    _kill(psutil.Process().children(recursive=True))


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _environment(process: psutil.Process) -> dict[str, str] | None:
    """{} = it has none, or not yet; None = it is not ours: a zombie, a thread of the kernel, another user's."""
    try:
        if found := process.environ():
            return found
        is_of_kernel = os.getpgid(process.pid) == 0
        return None if is_of_kernel or process.status() == psutil.STATUS_ZOMBIE else {}
    except (psutil.Error, OSError):
        return None


def _is_descendant(process: psutil.Process) -> bool:
    try:
        return os.getpid() in (parent.pid for parent in process.parents())
    except psutil.Error:
        return False


def _is_hook_at_work(process: psutil.Process, run: str) -> bool:
    """Whether it is the command itself. What a command started inherits its mark, but has another process id."""
    return (_environment(process) or {}).get(HOOK_MARK) == f"{run}:{process.pid}"


def _name(folder: Path) -> str:
    return hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
