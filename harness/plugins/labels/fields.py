"""Labels as fields of episodes: `harness export sft RUN --where label.success=yes`."""

from collections.abc import Sequence
from typing import ClassVar

from harness.errors import JournalError
from harness.plugins.labels.book import FIELDS, read_labels
from harness.runs import Episode, Run


class LabelFields:
    """Implements `harness.runs.episode_fields.EpisodeFields`: the word that all authors agree on, and the authors."""

    names: ClassVar[Sequence[str]] = (*FIELDS, "author")

    def __init__(self, run: Run, /) -> None:
        """Raises: JournalError: A line of `labels.jsonl` is damaged: what it said may have kept an episode out."""
        self._book = read_labels(run)
        if self._book.damaged:
            raise JournalError(self._book.damaged[0])

    def values(self, episode: Episode, name: str, /) -> Sequence[str]:
        """The one value that all who say something of it say; `disputed` where they differ; () where nobody does."""
        said = self._book.latest(episode.task_id, episode.trial, episode.attempt)
        if name == "author":
            return sorted(said)
        found = {values[name] for values in said.values() if name in values}
        return ("disputed",) if len(found) > 1 else tuple(found)
