"""A run folder that somebody else made: things to put into it, and what must not come of them.

The commands run in this process, as `harness` runs them, each within a time of its own; what they must not touch is a
folder beside the run, looked at before and after.
"""

import hashlib
import json
import os
import resource
import shutil
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
from starlette.testclient import TestClient

from harness.codec import seal
from harness.main import main
from harness.plugins.html_report.viewer.app import Viewer
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher

ROOM = 3 << 30
"""Bytes a command may ask for beyond what is in use."""
WITHIN_S = 30
"""A command on these small folders takes a fraction of a second; more is a hang, on however busy a machine."""
SETTINGS = """\
action_set: cairn
observation: {type: accessibility_tree, dialect: cairn}
browser: {executable: null, width: 1280, height: 720, locale: en-US, timezone: UTC}
sites:
  embedded: true
  shop: {canonical: 'http://shop.localhost'}
  forum: {canonical: 'http://forum.localhost'}
resume: {min_similarity: 0.9}
"""


JOURNAL = "0.traj.jsonl"


class Hung(BaseException):
    """Not an Exception, so that nothing on the way takes it for its own."""


@contextmanager
def within(seconds: float = WITHIN_S, *, room: int | None = ROOM) -> Iterator[None]:
    """End what waits in a system call or runs on in Python, and what takes all memory there is."""

    def ring(*_: object) -> None:
        raise Hung(f"no end within {seconds:g} s")

    before, limits = signal.signal(signal.SIGALRM, ring), resource.getrlimit(resource.RLIMIT_AS)
    if room is not None:
        resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + room, limits[1]))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, limits)


@dataclass(frozen=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All of it, blanks and line ends alike."""
        return " ".join((self.out + self.err).split())


@dataclass
class Place:
    """A run folder, and what lies beside it."""

    run: Path
    beside: Path
    """Somebody's own: nothing in it may change."""
    before: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.before = state(self.beside)

    @property
    def file(self) -> Path:
        return self.beside / "own.txt"

    @property
    def folder(self) -> Path:
        return self.beside / "own"

    def untouched(self) -> None:
        assert state(self.beside) == self.before, "what is not the run's was touched"


def own_things(folder: Path) -> Path:
    """A folder such as a person has, with the names a run might look for in it."""
    (folder / "own" / "ab").mkdir(parents=True)
    (folder / "own" / "checkpoints" / "ab").mkdir(parents=True)
    (folder / "own" / "tasks").mkdir()
    digest = hashlib.sha256(b"mine").hexdigest()
    for name in ("own.txt", "own/ab/letter.txt", f"own/ab/{digest}", "own/checkpoints/ab/keys", "own/index.html"):
        (folder / name).write_bytes(b"mine")
    return folder


def state(folder: Path) -> dict[str, str]:
    """Every name below `folder` with what it is and holds."""
    found = {}
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(base, name)
            mode = path.lstat().st_mode
            content = hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(mode) else ""
            found[str(path.relative_to(folder))] = f"{stat.S_IFMT(mode):o} {content}"
    return found


# --- what to put in the place of a file or a folder


def clear(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def link(path: Path, place: Place) -> None:
    clear(path)
    path.symlink_to(place.file)


def link_to_folder(path: Path, place: Place) -> None:
    clear(path)
    path.symlink_to(place.folder)


def dangling(path: Path, place: Place) -> None:
    clear(path)
    path.symlink_to(place.beside / "to-be-made.txt")


def loop(path: Path, _: Place) -> None:
    clear(path)
    path.symlink_to(path.name)


def endless(path: Path, _: Place) -> None:
    clear(path)
    path.symlink_to("/dev/zero")


def fifo(path: Path, _: Place) -> None:
    clear(path)
    os.mkfifo(path)


def listening(path: Path, _: Place) -> None:
    clear(path)
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # the name of a socket may not be long
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def a_folder(path: Path, _: Place) -> None:
    clear(path)
    path.mkdir()


def a_file(path: Path, _: Place) -> None:
    clear(path)
    path.write_text("a file")


def hard_link(path: Path, place: Place) -> None:
    clear(path)
    os.link(place.file, path)


def vast(path: Path, _: Place) -> None:
    """2 TB that take no room."""
    clear(path)
    with path.open("wb") as file:
        file.truncate(2 << 40)


PUT: dict[str, Callable[[Path, Place], None]] = {
    "link": link,
    "link-to-folder": link_to_folder,
    "dangling-link": dangling,
    "link-to-itself": loop,
    "link-to-zeros": endless,
    "fifo": fifo,
    "socket": listening,
    "folder": a_folder,
    "file": a_file,
    "hard-link": hard_link,
    "2TB": vast,
}


# --- journals


def edited(journal: bytes, change: Callable[[int, dict[str, Any]], dict[str, Any] | None]) -> bytes:
    """The journal with each record as `change` gives it (None = left out), every checksum right again."""
    crc, lines = 0, []
    for number, line in enumerate(journal.splitlines()):
        record = json.loads(line)
        del record["crc"]
        if (new := change(number, record)) is not None:
            body = json.dumps(new, ensure_ascii=False, separators=(",", ":"))
            sealed, crc = seal(body.encode("utf-8", "surrogatepass")[:-1], crc)
            lines.append(sealed)
    return b"".join(lines)


def setting(kind: str, path: str, value: Any) -> Callable[[int, dict[str, Any]], dict[str, Any]]:
    """A change of one dotted field, in each record of a kind."""

    def change(_: int, record: dict[str, Any]) -> dict[str, Any]:
        if record["kind"] == kind:
            *way, last = path.split(".")
            inner: Any = record
            for key in way:
                inner = inner[int(key)] if key.isdigit() else inner[key]
            inner[int(last) if last.isdigit() and isinstance(inner, list) else last] = value
        return record

    return change


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


# --- commands


def call(capsys: Any, *arguments: object) -> Said:
    """`harness ARGUMENTS`, in this process; an exception is not caught."""
    capsys.readouterr()
    with within():
        code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return Said(int(code), said.out, said.err)


Harness = Callable[..., Said]


def commands(place: Place) -> dict[str, tuple[object, ...]]:
    """Every command that takes a run folder, by a name of its own."""
    run, out = place.run, place.run.parent / "out"
    return {
        "report": ("report", run),
        "report-single-file": ("report", run, "--single-file", run.parent / "one.html"),
        "show": ("show", run),
        "show-task": ("show", run, "0"),
        "show-step": ("show", run, "0", "1"),
        "score": ("score", run),
        "compare": ("compare", run, run),
        "export-csv": ("export", "csv", run),
        "export-parquet": ("export", "parquet", run, "--to", out),
        "export-art": ("export", "art", run, "--to", out),
        "export-verified": ("export", "webarena-verified", run),
        "export-hf": ("export", "hf", run, "--to", run.parent / "hf"),
        "export-inspect": ("export", "inspect", run, "--to", out),
        "export-otel": ("export", "otel", run, "--to", out),
        "bundle": ("bundle", run, "--to", run.parent / "bundle.cairn"),
        "plan": ("plan", "task=smoke", "--from", run),
        "clean": ("clean", run),
        "clean-dry-run": ("clean", run, "--dry-run", "--logs"),
        "replay": ("replay", run / JOURNAL),
    }


@cache
def _viewer() -> Viewer:
    """One for all rows: its pages are compiled once."""
    return Viewer(ResultsWatcher(Path("nowhere")))


def viewed(run: Path) -> dict[str, str]:
    """Every page of a run that the viewer serves, by address; an exception of a page is not caught."""
    pages = {}
    viewer = _viewer()
    viewer._library = ResultsWatcher(run)
    client = TestClient(viewer.app(None), base_url="http://127.0.0.1")
    with within():
        base = f"/run/{run.resolve().name}"
        for address in ("/", base, *(f"{base}/task/{name}" for name in journal_stems(run))):
            answer = client.get(quote(address))
            assert answer.status_code in (200, 404), (address, answer.status_code)
            pages[address] = answer.text
    return pages


def journal_stems(run: Path) -> list[str]:
    return sorted(path.name.removesuffix(".traj.jsonl") for path in run.iterdir() if path.name.endswith(".traj.jsonl"))
