"""The page of one task in the viewer; other pages of the viewer lead to it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from harness.api.command_line import PageAnswer, PageRequest
from harness.errors import ConfigError
from harness.plugins.diff.alignment import moves_of, parting_of
from harness.plugins.diff.command import MOST
from harness.plugins.diff.page import TEMPLATES, page_of
from harness.runs import Episode, Run


class DiffPage:
    """Implements `harness.api.command_line.ViewerPage`.

    Its fields are `task`, two to seven `episode`, each RUN:TRIAL, and `scoring` (without it, that of the first run).
    """

    title: ClassVar[str] = ""
    is_of_run: ClassVar[bool] = False
    templates: ClassVar[Path] = TEMPLATES
    saves: ClassVar[bool] = False

    def show(self, request: PageRequest, /) -> PageAnswer:
        """The episodes side by side.

        Raises:
            ConfigError: There is no such run, episode or scoring, or they are too many or too few.
            JournalError: A journal is damaged.
        """
        asked = request.fields.get("episode", ())
        if not 2 <= len(asked) <= MOST:
            raise ConfigError(f"{len(asked)} episodes are asked for; give 2 to {MOST}, each as episode=RUN:TRIAL")
        named = list(_episodes(request))
        moves = [moves_of(episode) for _, episode in named]
        return PageAnswer(template="diff.html", values=page_of(named, moves, parting_of(moves), ()))

    def save(self, request: PageRequest, /) -> Mapping[str, str]:
        """Never called."""
        raise ConfigError("this page takes no form; open it")


def _episodes(request: PageRequest) -> Iterator[tuple[str, Episode]]:
    scoring = request.field("scoring") or None
    for text in request.fields["episode"]:
        run, _, trial = text.rpartition(":")
        if run not in request.folders or not (trial.isascii() and trial.isdecimal() and len(trial) < 8):
            raise ConfigError(f"episode={text[:80]} is none; give RUN:TRIAL, with a run of this viewer")
        name = f"{run} trial {trial}" if int(trial) else run
        read = Run(request.folders[run], scoring=scoring)
        scoring = read.scoring
        yield name, read.episode(request.field("task"), int(trial))
