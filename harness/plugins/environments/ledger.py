"""Which episode of the run a client's `episode_id` is: one line for each, written before the episode begins."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.api.files import safe_files, sync, translate_os_errors, write_whole
from harness.api.records import build

NAME = "environments.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One episode."""

    episode_id: str
    task_id: str
    trial: int
    seed: int | None
    """None = `run.seed` + trial."""

    @property
    def place(self) -> tuple[str, int]:
        return self.task_id, self.trial


class Ledger:
    """The file, open for appending; a line that a crash has cut is not an entry."""

    def __init__(self, folder: Path) -> None:
        path = self._path = folder / NAME
        self._file = safe_files.open_regular(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        whole = safe_files.read(path)
        self._entries = {entry.episode_id: entry for line in whole.splitlines() if (entry := _entry(line))}
        if whole and not whole.endswith(b"\n"):
            os.write(self._file, b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    @property
    def entries(self) -> Mapping[str, Entry]:
        """Episode id to entry."""
        return self._entries

    def add(self, entry: Entry) -> None:
        """Write an entry, durably. Raises StorageError: The disk refuses; the file is as it was."""
        size = os.fstat(self._file).st_size
        with translate_os_errors(self._path):
            try:
                write_whole(self._file, json.dumps(asdict(entry)).encode() + b"\n")
                sync(self._file)
            except OSError:
                os.ftruncate(self._file, size)  # else the next line would be a part of this one
                raise
        self._entries[entry.episode_id] = entry


def _entry(line: bytes) -> Entry | None:
    try:
        return build(Entry, json.loads(line))
    except (ValueError, RecursionError):
        return None
