"""The state of site instances on disk: `sites.jsonl` of a run folder.

Invariant: a state is durable when `write` returns, and the last line for an instance wins. What cannot be read is
unknown, and what is unknown is reset before it is used: losing this file costs resets and no more. Addresses may hold
credentials, so an instance is named by the hash of its address.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from harness.codec import CodecError, build, dumps, loads, plain
from harness.files import safe_files
from harness.files.disk import translate_os_errors, write_whole
from harness.files.sync import sync

SITES_NAME = "sites.jsonl"


class SiteInstance(NamedTuple):
    """One deployment of a site."""

    site: str
    url: str
    """Real base URL."""

    @property
    def key(self) -> str:
        return f"{self.site}@{sha256(self.url.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteUse:
    """What is known of an instance."""

    by: tuple[tuple[str, int], ...] = ()
    """The first two jobs, as task id and trial, that may have changed it since its last reset; () = it is at its seed.
    """
    is_as_left: bool = True
    """Whether the first of them found the seed and began there, so that alone it left what its journal tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    instance: str
    left: SiteUse | None
    """None = unknown."""
    took_s: float | None = None
    """How long the reset took that put it to its seed, its part of a reset of several; None = it was none."""


class SiteLog:
    """The file of one run folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / SITES_NAME

    def read(self) -> dict[str, SiteUse]:
        """The last known state of each instance, by its key."""
        found: dict[str, SiteUse | None] = {}
        for state in self._lines():
            if state is None:
                found.clear()  # whatever it said, what was said before it may be out of date
            else:
                found[state.instance] = state.left
        return {key: left for key, left in found.items() if left is not None}

    def _lines(self) -> Iterator[_Line | None]:
        """None for each that cannot be read."""
        data, most = b"", safe_files.MAX_SIDE_FILE_BYTES
        with suppress(OSError):
            found = safe_files.status(self._path)
            if found is None or found.st_size <= most:  # `read` says what else it may be
                data = safe_files.read(self._path, most=most)
        for line in data.split(b"\n")[:-1]:
            try:
                yield build(_Line, loads(line))
            except CodecError:
                yield None

    def reset_times(self) -> dict[str, float]:
        """Mean seconds of a reset of each site, of those that are recorded."""
        times: dict[str, list[float]] = {}
        for state in self._lines():
            if state is not None and state.took_s is not None:
                times.setdefault(state.instance.partition("@")[0], []).append(state.took_s)
        return {site: fmean(took) for site, took in times.items()}

    def write(self, states: Mapping[SiteInstance, SiteUse | None], *, took_s: float | None = None) -> None:
        """Make states durable, all at once; None = unknown. `took_s`: of the reset of each, when it was one.

        Raises:
            StorageError: The disk refuses.
        """
        made = (_Line(instance=instance.key, left=left, took_s=took_s) for instance, left in states.items())
        lines = b"".join(dumps(plain(line)) + b"\n" for line in made)
        with translate_os_errors(self._path):
            fd = safe_files.open_regular(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                # One line for each instance, once for each job: a mark for each action would cost an fsync for each
                # step.
                write_whole(fd, lines)
                sync(fd)
            finally:
                os.close(fd)
