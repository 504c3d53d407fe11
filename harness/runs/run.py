"""A run folder, read: its episodes one at a time, its settings and what it says of itself."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from harness.codec import CodecError, JsonObject, loads
from harness.errors import ConfigError, JournalError
from harness.evaluators.result import DIALECTS
from harness.journal.index import EpisodeResult, IndexEntry, Scan, read_entry, scan
from harness.journal.names import can_name, is_run_folder, name_of
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from harness.runs.about import DESCRIPTION, RunInfo, run_info
from harness.runs.attribution import Attributions
from harness.runs.episode import Episode, RunFiles
from harness.runs.measures import Measured, measures_of
from harness.runs.notes import surplus_notes
from harness.runs.results import Result, is_selected, results_of
from harness.runs.statistics import Statistics, beside, statistics_of


class Run:
    """A run, read from its folder: never written, never played.

    A run is about the tasks and trials of its latest start: what earlier starts played besides is `surplus`, and in
    none of the figures.

    Small files may be missing, torn or of another version: they are {} then. A damaged journal is an error.

        run = Run("results/demo-prompt-scripted")
        for episode in run.episodes():
            for step in episode.steps:
                print(episode.task_id, step.number, step.text, step.outcome)
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        scoring: str | None = None,
        scanned: Scan | None = None,
        attributions: Attributions | None = None,
    ) -> None:
        """Open a run.

        Args:
            folder: The run folder; of a bundle, the folder it is unpacked to.
            scoring: `corrected` or `webarena`; None = the one that the run was scored in.
            scanned: What its journals say, where that is known already.
            attributions: Why its episodes did not pass; None = as `attribution.json` has it.

        Raises:
            ConfigError: There is no run, or no such scoring.
        """
        if scoring is not None and scoring not in DIALECTS:
            raise ConfigError(f"there is no scoring {scoring[:80]!r}; use {' or '.join(sorted(DIALECTS))}")
        self.folder = run_folder(Path(folder))
        self._given = scoring
        self._scanned = scanned
        self._attributions = attributions
        self._left_out: dict[str, JournalError] = {}

    @property
    def name(self) -> str:
        """Of the folder."""
        return self.folder.resolve().name

    @property
    def scoring(self) -> str:
        """The scoring of `Episode.score`."""
        return self.about.dialect

    @cached_property
    def description(self) -> JsonObject:
        """`run.json`: the tasks and trials of the run, model, agent, versions, machine."""
        return DESCRIPTION.find(self.folder) or {}

    @cached_property
    def settings(self) -> JsonObject:
        """The measured settings, by dotted key."""
        for result in self._scan.outcomes.values():
            try:
                found = loads(self.artifacts.read(result.config_digest))
            except (JournalError, CodecError):
                return {}
            return found if isinstance(found, dict) else {}
        return {}

    @cached_property
    def artifacts(self) -> ArtifactStore:
        """Screenshots, messages, answers and pages, by SHA-256."""
        return ArtifactStore(self.folder / "artifacts")

    def message(self, digest: str) -> JsonObject:
        """A message of `Request.prompt` by its hash, in the shape of chat completions, pictures as data URLs.

        Raises:
            JournalError: It is missing or damaged.
        """
        return read_message(digest, self.artifacts)

    @cached_property
    def about(self) -> RunInfo:
        """What its small files say: name, scoring, model, agent, tasks, trials.

        Raises:
            UnsafeFile: One of them is a link, a FIFO or a device.
        """
        known = run_info(self.folder, self._given)
        return known if self._attributions is None else replace(known, attributions=self._attributions)

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """One for each episode, in task order: those not begun included, those of damaged journals left out."""
        return results_of((one.outcome for one in self._entries), self.about)

    @cached_property
    def surplus(self) -> tuple[EpisodeResult, ...]:
        """Of other tasks and trials than the run is about; whatever earlier starts played stays in the folder."""
        counted = frozenset(one.name for one in self._entries)
        return tuple(one.outcome for one in self._scan.entries if one.name not in counted)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the folder says beside the results, a sentence each."""
        return (*surplus_notes(self.surplus), *(one.headline for one in self.measured))

    def statistics(self) -> Statistics:
        """What the run comes to, with what files beside the journals say of it.

        Raises:
            JournalError: A journal is damaged, see `damaged`.
        """
        if self.damaged:
            raise self.damaged[0]
        return self.statistics_of_readable()

    def statistics_of_readable(self) -> Statistics:
        """The same, without the episodes of damaged journals."""
        found = statistics_of(self.results, self.about.benchmarks, notes=self.notes)
        return beside(found, self.folder, self.results)

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """What plug-ins measure beside the rate, without damaged journals; () for most runs."""
        return measures_of(self)

    @property
    def damaged(self) -> tuple[JournalError, ...]:
        """One for each journal that cannot be read, `left_out` included."""
        return (*self._scan.damaged, *self.left_out)

    @property
    def left_out(self) -> tuple[JournalError, ...]:
        """Of `damaged`, those that only showed when an episode was read: the index still knows the journal as whole."""
        return tuple(self._left_out.values())

    def leave_out(self, error: JournalError) -> None:
        """Note that an episode of `readable` could not be read, by those who go on without it."""
        self._left_out.setdefault(str(error), error)

    def episodes(self) -> Iterator[Episode]:
        """Every episode of the run that has begun, by the name of its journal; one at a time is held.

        Raises:
            JournalError: A journal is damaged, see `damaged`.
        """
        if self.damaged:
            raise self.damaged[0]
        return self.readable()

    def readable(self) -> Iterator[Episode]:
        """Every episode of the run that has begun and whose journal is not known to be damaged."""
        files = self._files
        return (Episode(files, one.outcome, stamp=(one.size, one.mtime_ns)) for one in self._entries)

    def episode(self, task_id: str | int, trial: int = 0) -> Episode:
        """One episode; it may be of `surplus`.

        Raises:
            ConfigError: The folder has no journal of it.
            JournalError: Its journal is damaged.
        """
        path = self.folder / name_of(str(task_id), trial)
        # A link to nothing does not exist for Python, and has to be refused by name, not called missing.
        is_there = can_name(str(task_id)) and (path.exists() or path.is_symlink())
        entry = read_entry(path, path.lstat()) if is_there else None
        if entry is None:
            raise ConfigError(
                f"{self.folder} has no journal for task {str(task_id)[:80]}, trial {trial}; `harness show"
                f" {self.folder}` lists its tasks"
            )
        return Episode(self._files, entry.outcome, stamp=(entry.size, entry.mtime_ns))

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    @property
    def _files(self) -> RunFiles:
        return RunFiles(
            path=self.folder,
            scoring=self.scoring,
            artifacts=self.artifacts,
            attributions=self.about.attributions,
        )

    @cached_property
    def _entries(self) -> tuple[IndexEntry, ...]:
        """Those of the tasks and trials that the run is about."""
        counts = is_selected(self.about)
        return tuple(one for one in self._scan.entries if counts(one.outcome.task_id, one.outcome.trial))

    @cached_property
    def _scan(self) -> Scan:
        return self._scanned or scan(self.folder)


def run_folder(path: Path) -> Path:
    """`path`, when it is the folder of a run.

    Raises:
        ConfigError: It is not, with what it is.
    """
    if not path.is_dir():
        raise ConfigError(f"{path} is not a folder; give the folder of a run, like results/NAME")
    if not is_run_folder(path):
        raise ConfigError(f"{path} contains no run: neither run.json nor a journal (*.traj.jsonl); give results/NAME")
    return path
