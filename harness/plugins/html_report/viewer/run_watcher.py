"""What the run folders under a results folder hold, kept up to date a little at a time.

Invariant: only reads. A call of `refresh` takes about as long as it is given, however many journals there are; what has
not been looked at yet is counted in `unread` and comes with later calls. A journal is read again only when its size or
time changed. One that cannot be read is a sentence, never an exception.
"""

import os
import threading
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.api.journals import (
    JOURNAL_SUFFIX,
    ArtifactStore,
    EpisodeResult,
    IndexEntry,
    journals_in,
    read_entry,
    read_index,
)
from harness.api.scoring import CORRECTED
from harness.errors import HarnessError, JournalError
from harness.runs.about import RunInfo, run_info
from harness.runs.attribution import ATTRIBUTION_NAME
from harness.runs.episode import Episode, RunFiles
from harness.runs.notes import surplus_notes
from harness.runs.results import Result, is_selected, results_of
from harness.runs.statistics import Statistics, beside, beside_files, statistics_of
from harness.runs.verified import VERIFIED_NAME

_ABOUT = ("run.json", "summary.json", VERIFIED_NAME, ATTRIBUTION_NAME)
"""What the first lines of a run are read from."""
Stamp = tuple[int, int]
"""Size and modification time of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """A run as it is known at one moment."""

    about: RunInfo
    outcomes: tuple[EpisodeResult, ...]
    """Of the tasks and trials that the run is about."""
    rows: tuple[Result, ...]
    """What they come to in the scoring of the run."""
    view: Statistics
    damaged: tuple[str, ...]
    unread: int
    version: int
    changed_at: float
    """When its newest journal was written to; 0 = never."""
    _others: dict[str, tuple[Result, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def rows_in(self, scoring: str) -> tuple[Result, ...]:
        """The rows in another scoring than that of the run; made once."""
        if scoring == self.about.dialect:
            return self.rows
        if scoring not in self._others:
            self._others[scoring] = _rows(self.outcomes, replace(self.about, dialect=scoring), self.unread)
        return self._others[scoring]


class RunWatcher:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = 0
        self._entries: dict[str, IndexEntry] = {}
        self._damaged: dict[str, tuple[Stamp, str]] = {}
        self._empty: dict[str, Stamp] = {}
        self._listed = 0
        self._work: Iterator[None] | None = None
        self._guard = threading.Lock()
        self._standing: RunStatus | None = None
        self._notes: tuple[Stamp | None, ...] = ()
        """Of the files beside the journals that `_standing` was made with."""
        self._beside: dict[str, str] = {}
        """What is wrong with the files beside its journals, by who reads them."""
        self._known: tuple[tuple[Stamp | None, ...], RunInfo] | None = None
        self.pass_s = 0.0
        """How long the last look at all journals took."""

    @property
    def unread(self) -> int:
        """Journals not looked at yet."""
        return max(0, self._listed - len(self._entries) - len(self._damaged) - len(self._empty))

    @property
    def agent(self) -> str:
        """Name of the agent of the run; "" = it is not known."""
        return self._about().agent

    def refresh(self, budget_s: float) -> int:
        """Look at journals for about `budget_s` seconds; gives the version, which grows with every change seen."""
        # Requests do not queue behind one that reads a large folder: after their budget they are answered with what is
        # known.
        if not self._guard.acquire(timeout=budget_s):
            return self.version  # another request is already scanning
        try:
            until = time.monotonic() + budget_s
            while time.monotonic() < until and self._advance():
                pass
        finally:
            self._guard.release()
        return self.version

    def _advance(self) -> bool:
        """Look at one more journal; False at the end of a look at all of them."""
        if self._work is None:
            self._work = self._look()
        if next(self._work, self) is not self:
            return True
        self._work = None
        return False

    def standing(self) -> RunStatus:
        """Rows and sums of what has been looked at."""
        known, unread, version = self._about(), self.unread, self.version
        last, notes = self._standing, tuple(map(stamp_of, beside_files(self.folder)))
        if last is None or notes != self._notes or (last.version, last.about, last.unread) != (version, known, unread):
            self._notes = notes
            entries, damaged = tuple(self._entries.values()), tuple(self._damaged.values())
            counts = is_selected(known)
            outcomes = tuple(one.outcome for one in entries if counts(one.outcome.task_id, one.outcome.trial))
            surplus = [one.outcome for one in entries if not counts(one.outcome.task_id, one.outcome.trial)]
            rows = _rows(outcomes, known, unread)
            last = self._standing = RunStatus(
                about=known,
                outcomes=outcomes,
                rows=rows,
                view=beside(statistics_of(rows, known.benchmarks, notes=surplus_notes(surplus)), self.folder, rows),
                damaged=(*self._beside.values(), *(sentence for _, sentence in damaged)),
                unread=unread,
                version=version,
                changed_at=max((entry.mtime_ns for entry in entries), default=0) / 1e9,
            )
        return last

    def episode(self, journal: str) -> Episode | None:
        """The episode of the journal of this file name, as it is now; None when it is not there or empty.

        Raises:
            JournalError: It cannot be read.
        """
        path = self.folder / journal
        try:
            # Not stat: a run folder may come from elsewhere, and a link in it could name any file of this machine.
            status = path.lstat()
        except OSError:
            return None
        known = self._entries.get(journal)
        entry = known if known is not None and known.holds(status) else read_entry(path, status)
        if entry is None:
            return None
        artifacts = ArtifactStore(self.folder / "artifacts")
        files = RunFiles(path=self.folder, scoring=self._about().dialect, artifacts=artifacts)
        return Episode(files, entry.outcome, stamp=(entry.size, entry.mtime_ns))

    def _about(self) -> RunInfo:
        stamps = tuple(stamp_of(self.folder / name) for name in _ABOUT)
        if self._known is None or self._known[0] != stamps:
            self._known = stamps, self._read_about()
        return self._known[1]

    def _read_about(self) -> RunInfo:
        self._beside.pop("about", None)
        try:
            return run_info(self.folder)
        except JournalError as exc:
            self._beside["about"] = str(exc)
            return RunInfo(name=self.folder.resolve().name, dialect=CORRECTED, model="", agent="", tasks=(), trials=1)

    def _look(self) -> Iterator[None]:
        """One look at all journals; pauses after each."""
        begun = time.monotonic()
        listed = {found.name: found for found in journals_in(self.folder)}
        self._listed = len(listed)
        self._forget(listed.keys())
        # It saves reading all journals at the first look; later it could only be older than what is known.
        if not self._entries:
            for entry in self._indexed():
                with suppress(OSError):
                    if (found := listed.get(entry.name)) is not None and entry.holds(found.stat(follow_symlinks=False)):
                        self._entries[entry.name] = entry
                        self.version += 1
                yield
        for name, found in listed.items():
            with suppress(OSError):
                self._update(name, found.stat(follow_symlinks=False))
            yield
        self.pass_s = time.monotonic() - begun

    def _indexed(self) -> Iterator[IndexEntry]:
        self._beside.pop("index", None)
        try:
            yield from read_index(self.folder)
        except JournalError as exc:
            self._beside["index"] = str(exc)
            self.version += 1

    def _update(self, name: str, status: os.stat_result) -> None:
        stamp = (status.st_size, status.st_mtime_ns)
        entry = self._entries.get(name)
        if (entry is not None and entry.holds(status)) or self._empty.get(name) == stamp:
            return
        if name in self._damaged and self._damaged[name][0] == stamp:
            return
        self.version += 1
        self._drop(name)
        try:
            entry = read_entry(self.folder / name, status)
        except HarnessError as exc:
            self._damaged[name] = stamp, str(exc)
            return
        if entry is None:
            self._empty[name] = stamp
        else:
            self._entries[name] = entry

    def _forget(self, listed: Container[str]) -> None:
        for name in [name for held in (self._entries, self._damaged, self._empty) for name in held]:
            if name not in listed:
                self._drop(name)
                self.version += 1

    def _drop(self, name: str) -> None:
        self._entries.pop(name, None)
        self._damaged.pop(name, None)
        self._empty.pop(name, None)


class ResultsWatcher:
    """All run folders under one results folder, or the one run folder given."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self._catalogues: dict[str, RunWatcher] = {}
        self._guard = threading.Lock()

    def runs(self) -> dict[str, RunWatcher]:
        """By name, the last written to first."""
        folders = {folder.name: folder for folder in _run_folders(self.results)}
        with self._guard:
            for name, folder in folders.items():
                if name not in self._catalogues:
                    self._catalogues[name] = RunWatcher(folder)
            return {name: self._catalogues[name] for name in folders}

    def run(self, name: str) -> RunWatcher | None:
        """The run of this name; names are looked up, never made into paths."""
        return self.runs().get(name)


def stamp_of(path: Path) -> Stamp | None:
    """Size and time of a file; None when there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _rows(outcomes: Iterable[EpisodeResult], known: RunInfo, unread: int) -> tuple[Result, ...]:
    # While journals are unread, a task without one is not known to be not begun.
    return results_of(outcomes, known if not unread else replace(known, tasks=()))


def _run_folders(results: Path) -> list[Path]:
    if _is_run(results):
        return [results.resolve()]
    folders = list[tuple[float, Path]]()
    with suppress(OSError), os.scandir(results) as found:
        for entry in found:
            with suppress(OSError):  # of this one alone, as a link to where one may not look
                if entry.is_dir():
                    folders.append((entry.stat().st_mtime, Path(entry.path)))
    return [folder for _, folder in sorted(folders, reverse=True) if _is_run(folder)]


def _is_run(folder: Path) -> bool:
    """Of a folder that cannot be listed, as a private one of another user, nothing could be shown: it is none."""
    try:
        with os.scandir(folder) as found:
            return any(entry.name == "run.json" or entry.name.endswith(JOURNAL_SUFFIX) for entry in found)
    except OSError:
        return False
