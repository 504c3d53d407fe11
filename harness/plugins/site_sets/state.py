"""The folder in which a set is kept: what is there, who may change it, and what was begun.

Invariant: each JSON file is whole or absent, since it is renamed into place; a lock (`flock`) ends with its holder,
however that dies; a phase is on disk before what it names is begun. So whoever takes a lock next knows what was
interrupted, and does it again.
"""

import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from harness.api.files import is_unfinished, translate_os_errors, write_atomic
from harness.errors import ConfigError, StorageError

SEED = "seed"
SET_COPY = "set.json"
SERVED = "sites.json"
UP, STARTING, RESETTING, STOPPED = "up", "starting", "resetting", "stopped"
_PHASES = (UP, STARTING, RESETTING, STOPPED)
_LOCK_MODES = {True: fcntl.LOCK_EX, False: fcntl.LOCK_SH}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitState:
    """What is known of one instance of one service."""

    phase: str = STOPPED
    since: float = 0.0
    """Seconds since the epoch."""
    port: int = 0
    snapshot: str = SEED
    """The snapshot that its data began with."""
    mark: str = ""
    """The stamp (`folder.stamp`) of its data once it was up: another one = dirty."""
    verified: str = ""
    """Digest of its data before it was started."""
    image: str = ""
    """Of containers: the image of the snapshot; "" = that of the set."""
    shown: str = ""
    """Of a service with `restore`: what its command `state` said of its snapshot."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One instance of one service, by its folder."""

    folder: Path
    service: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.service}@{self.number}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def scratch(self) -> Path:
        """For what a service writes beside its state; empty at each start."""
        return self.folder / "scratch"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def state(self) -> UnitState:
        """What was last written; a file that cannot be read counts as none, so that all is done again."""
        tree = read_json(self.folder / "state.json")
        with suppress(TypeError):
            found = UnitState(**tree)
            fits = all(type(getattr(found, one.name)) is type(one.default) for one in fields(UnitState))
            if fits and found.phase in _PHASES and 0 <= found.port < 65_536:
                return found
        return UnitState()

    def write(self, state: UnitState) -> None:
        write_json(self.folder / "state.json", asdict(state))

    def enter(self, phase: str, **changed: Any) -> None:
        """Say what begins now, before it does."""
        self.write(replace(self.state(), phase=phase, since=time.time(), **changed))


class StateFolder:
    """The folder of a set."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def key(self) -> str:
        """Marks what was started for this folder: containers and processes with another one are none of ours."""
        return hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:16]

    def unit(self, service: str, number: int) -> Unit:
        return Unit(self.path / "services" / f"{service}@{number}", service, number)

    def units(self) -> list[Unit]:
        """All that have a folder."""
        found = []
        for path in sorted((self.path / "services").glob("*@*")):
            service, _, number = path.name.rpartition("@")
            if number.isdecimal():
                found.append(Unit(path, service, int(number)))
        return found

    def snapshot(self, name: str) -> Path:
        return self.path / "snapshots" / name

    @contextmanager
    def lock(self, name: str, *, exclusive: bool = True) -> Iterator[None]:
        """Hold the lock of this name; waits for who has it, and says so."""
        folder = self.path / "locks"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(
                f"cannot write {folder}: {(error.strerror or '').lower()}; choose another folder with --state"
            ) from error
        try:
            try:
                fcntl.flock(fd, _LOCK_MODES[exclusive] | fcntl.LOCK_NB)
            except BlockingIOError:
                sys.stderr.write(f"harness sites: waiting for another command on {self.path} ({name})\n")
                fcntl.flock(fd, _LOCK_MODES[exclusive])
            yield
        finally:
            os.close(fd)

    def is_free(self, name: str) -> bool:
        """Whether nobody holds a lock; it is not waited for."""
        try:
            fd = os.open(self.path / "locks" / name, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        finally:
            os.close(fd)


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a file; {} = there is none that can be read."""
    try:
        tree = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def write_json(path: Path, tree: object) -> None:
    """Write a file that is whole or not there, also after a power cut.

    Raises:
        StorageError: It cannot be written.
    """
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(tree, indent=1, ensure_ascii=False).encode() + b"\n")


def check_state_folder(path: Path) -> None:
    """Raises: ConfigError: Something else is in the folder: nothing of others is mixed with ours."""
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise ConfigError(f"{path} is not a folder; choose another one with --state")
    if not path.is_dir() or (path / SET_COPY).exists():
        return
    if any(one.name != "locks" and not is_unfinished(one.name) for one in path.iterdir()):
        raise ConfigError(f"{path} holds other files; choose an empty or new folder with --state")
