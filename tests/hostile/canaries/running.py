"""Runs the real command where everything it writes is in one place, and watches the processes it starts."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from harness.browser.driver.executable import find
from tests.hostile.canaries.canary import Canary, Sought

PROJECT = Path(__file__).resolve().parents[3]
_KEPT = ("PATH", "LANG", "LD_LIBRARY_PATH")
_BROWSERS = ("chrom", "headless", "node")


@dataclass(frozen=True, slots=True)
class Leak:
    where: str
    way: str


@dataclass
class Outcome:
    """What came of a run."""

    code: int
    said: str
    leaks: list[Leak] = field(default_factory=list)
    searched: int = 0
    """Bytes."""
    places: int = 0
    """Files, streams, command lines and environments."""
    environments: int = 0
    """Of browsers and drivers."""


@dataclass
class Place:
    """Where a run is given what it needs, and where it writes."""

    given: Path
    """Files of the person's own; not searched."""
    out: Path
    """Home, temporary files, results: all of it is searched."""

    @classmethod
    def make(cls, root: Path) -> "Place":
        place = cls(root / "given", root / "out")
        for folder in (place.given, place.out / "home", place.out / "tmp", place.out / "work"):
            folder.mkdir(parents=True)
        return place

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        home, temporary = str(self.out / "home"), str(self.out / "tmp")
        own = {"HOME": home, "TMPDIR": temporary, "WANDB_DIR": str(self.out / "work"), "CHROMIUM_PATH": find()}
        return {**kept, **own, "PYTHONPATH": str(PROJECT), **more}


def run(
    place: Place,
    arguments: Sequence[str],
    canaries: Iterable[Canary],
    *,
    variables: Mapping[str, str] | None = None,
    program: Sequence[str] = ("run.py",),
    files: bool = True,
) -> Outcome:
    """Run the command and look for the canaries in everything that came out of it.

    The command line that was typed is not looked at: every process that starts it shows it.
    """
    begin = ("-m", program[1]) if program[0] == "-m" else (str(PROJECT / program[0]),)
    watch = _Watch()
    process = subprocess.Popen(
        [sys.executable, *begin, *program[2 if program[0] == "-m" else 1 :], *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=place.environment(variables or {}), cwd=place.out / "work",
    )  # fmt: skip
    watch.begin(process.pid)
    try:
        out, err = process.communicate(timeout=1200)
    finally:
        process.kill()
        watch.end()
    outcome = Outcome(process.returncode, (out + err).decode("utf-8", "replace"), environments=watch.browsers)
    sought = Sought(canaries)
    for where, data in (("stdout", out), ("stderr", err), *watch.seen()):
        _look(outcome, sought, where, data)
    if files:
        search_files(outcome, sought, place.out)
    return outcome


def search_files(outcome: Outcome, sought: Sought, folder: Path) -> None:
    """Names and contents of everything below a folder. Cookies in `private/` are what that is for."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        _look(outcome, sought, f"name {name}", name.encode())
        if path.is_symlink():
            _look(outcome, sought, f"link {name}", os.fsencode(path.readlink()))
        elif path.is_file():
            private = "/private/" in f"/{name}"
            found = sought.in_bytes(data := path.read_bytes())
            _count(outcome, data)
            outcome.leaks += [Leak(f"file {name}", one.way) for one in found if not (private and "cookie" in one.way)]


def _look(outcome: Outcome, sought: Sought, where: str, data: bytes) -> None:
    _count(outcome, data)
    outcome.leaks += [Leak(where, one.way) for one in sought.in_bytes(data)]


def _count(outcome: Outcome, data: bytes) -> None:
    outcome.searched += len(data)
    outcome.places += 1


class _Watch:
    """Command lines of all processes below one, and environments of browsers and drivers, as often as can be looked."""

    def __init__(self) -> None:
        self._typed: set[bytes] = set()
        self._lines: dict[bytes, str] = {}
        self._environments: dict[bytes, str] = {}
        self._over = threading.Event()

    def begin(self, pid: int) -> None:
        self._thread = threading.Thread(target=self._look_again, args=(pid,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def seen(self) -> list[tuple[str, bytes]]:
        return [
            *((f"command line of {name}", line) for line, name in self._lines.items()),
            *((f"environment of {name}", variables) for variables, name in self._environments.items()),
        ]

    @property
    def browsers(self) -> int:
        return len(self._environments)

    def _look_again(self, pid: int) -> None:
        while not self._over.wait(0.05):
            try:
                children = psutil.Process(pid).children(recursive=True)
            except psutil.Error:
                return
            self._note_typed(pid)
            for child in children:
                self._note(child.pid)

    def _note_typed(self, pid: int) -> None:
        """Looked up each time: at first a process still has the line of the one that starts it, which is ours."""
        with suppress(OSError):
            self._typed.add(Path("/proc", str(pid), "cmdline").read_bytes())

    def _note(self, pid: int) -> None:
        try:
            folder = Path("/proc", str(pid))
            program = (folder / "exe").readlink().name
            line = (folder / "cmdline").read_bytes()
            if line in self._typed:
                return  # between fork and exec a child still has the line that the person typed
            self._lines[line] = program
            if any(word in program for word in _BROWSERS):
                self._environments[(folder / "environ").read_bytes()] = program
        except OSError:
            return
