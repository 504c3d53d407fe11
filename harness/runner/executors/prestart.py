"""Starts the first worker process of a run before the run is known, while this process imports and composes settings.

The worker imports on another core, and then waits to be told whose it is, by one line on its standard input. If no run
takes it, it is ended. One whose starter dies before that ends by itself, as its standard input does, and has touched
nothing.
"""

import atexit
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from harness.interpreter import module_arguments
from harness.runner.process_tree import MARK, UNMARKED, mark_oneself, worker_environment

PLAYER = module_arguments("harness.evaluation.worker_main")
"""Arguments of Python that make a process a worker."""
FLAG = "--prestarted"
"""Argument of a worker that waits for that line."""
_NEEDLESS = ("executor", "hydra", "run.dry")
"""Settings with which a start may have no use for a worker here."""

_waiting: list["subprocess.Popen[bytes]"] = []
"""At most one, which nobody has taken yet."""


def prestart(arguments: Sequence[str]) -> None:
    """Start a worker, if arguments of `run.py` look like those of a run that needs one, and there is a core for it."""
    if not _can_mark() or len(os.sched_getaffinity(0)) < 2 or not _may_play(arguments):
        return
    try:
        process = subprocess.Popen(
            [sys.executable, *PLAYER, FLAG],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # without a run there is no log; what fails in it fails in the next worker, too
            env={**worker_environment(os.environ), MARK: UNMARKED},
            start_new_session=True,  # as of other workers: Ctrl-C is the run's
        )
    except OSError:  # a limit of processes or files: a run that needs more of them says so
        return
    _waiting.append(process)
    atexit.register(_end)


def take() -> "subprocess.Popen[bytes] | None":
    """The worker that was started, for the only run that gets it."""
    if not _waiting or _waiting[0].poll() is not None:
        return None  # `_end` sees to one that has died
    return _waiting.pop()


def introduction(folder: Path, log: Path) -> bytes:
    """What a worker is told first: that it is of the run in `folder`, and logs to `log`."""
    return json.dumps([str(folder), str(log)]).encode() + b"\n"


def be_introduced(said: BinaryIO) -> bool:
    """In the worker: wait for the run; False = there is none."""
    if not (line := said.readline()).endswith(b"\n"):
        return False
    from harness.files import safe_files  # which `run.py` need not wait for

    folder, log = map(Path, json.loads(line))
    mark_oneself(folder)
    with safe_files.open_append(log) as errors:
        os.dup2(errors.fileno(), 2)
    return True


def _may_play(arguments: Sequence[str]) -> bool:
    return not any(one.startswith("-") or one.lstrip("+").startswith(_NEEDLESS) for one in arguments)


def _can_mark() -> bool:
    return sys.platform == "linux" and os.access("/proc/self/mem", os.W_OK)


def _end() -> None:
    while _waiting:
        process = _waiting.pop()
        process.kill()
        process.communicate()
