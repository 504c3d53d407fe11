"""A run folder, read: its episodes one at a time, its settings and what it says of itself."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from harness import safe_files
from harness.codec import CodecError, JsonObject, loads
from harness.errors import ConfigError, JournalError
from harness.evaluators.result import CORRECTED, DIALECTS
from harness.journal.index import Scan, scan
from harness.journal.names import is_run_folder
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from harness.runs.episode import Episode, RunFiles


class Run:
    """A run, read from its folder: never written, never played.

    Small files may be missing, torn or of another version: they are {} then. A damaged journal is an error.

        run = Run("results/demo-prompt-scripted")
        for episode in run.episodes():
            for step in episode.steps:
                print(episode.task_id, step.number, step.text, step.outcome)
    """

    def __init__(self, folder: Path | str, *, scoring: str | None = None) -> None:
        """Open a run.

        Args:
            folder: The run folder; of a bundle, see `harness.runs.opened`.
            scoring: `corrected` or `webarena`; None = the one that the run was scored in.

        Raises:
            ConfigError: There is no run, or no such scoring.
        """
        if scoring is not None and scoring not in DIALECTS:
            raise ConfigError(f"there is no scoring {scoring[:80]!r}; use {' or '.join(sorted(DIALECTS))}")
        self.folder = run_folder(Path(folder))
        self._given = scoring

    @property
    def name(self) -> str:
        """Of the folder."""
        return self.folder.resolve().name

    @cached_property
    def scoring(self) -> str:
        """The scoring of `Episode.score`."""
        if self._given is not None:
            return self._given
        return recorded_scoring(side_file(self.folder / "summary.json"), self.description)

    @cached_property
    def description(self) -> JsonObject:
        """`run.json`: the tasks and trials of the run, model, agent, versions, machine."""
        return side_file(self.folder / "run.json")

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

    @property
    def damaged(self) -> tuple[JournalError, ...]:
        """One for each journal that cannot be read."""
        return self._scan.damaged

    def episodes(self) -> Iterator[Episode]:
        """Every episode that has begun, by the name of its journal; one at a time is held.

        Raises:
            JournalError: A journal is damaged, see `damaged`.
        """
        if self.damaged:
            raise self.damaged[0]
        files = self._files
        return (Episode(files, entry.outcome) for entry in self._scan.entries)

    def episode(self, task_id: str | int, trial: int = 0) -> Episode:
        """One episode.

        Raises:
            ConfigError: It has not begun, or is not of this run.
            JournalError: Its journal is damaged.
        """
        result = self._scan.outcomes.get((str(task_id), trial))
        if result is None:
            raise ConfigError(f"{self.folder} has no episode of task {str(task_id)[:80]}, trial {trial}")
        return Episode(self._files, result)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    @property
    def _files(self) -> RunFiles:
        return RunFiles(path=self.folder, scoring=self.scoring, artifacts=self.artifacts)

    @cached_property
    def _scan(self) -> Scan:
        return scan(self.folder)


def recorded_scoring(summary: JsonObject, description: JsonObject) -> str:
    """The scoring that a run was scored in last."""
    found = summary.get("scoring") or description.get("scoring")
    return found if isinstance(found, str) and found in DIALECTS else CORRECTED


def side_file(path: Path) -> JsonObject:
    """A small JSON object of a run folder; {} when it is missing or none.

    Raises:
        UnsafeFile: It is a link, a FIFO or a device.
    """
    try:
        found = loads(safe_files.read(path, most=safe_files.MAX_SIDE_FILE_BYTES))
    except (OSError, CodecError):
        return {}
    return found if isinstance(found, dict) else {}


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
