"""Runs that a recording is made of, each in a folder of its own: one that was interrupted goes on."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api.command_line import quoted
from harness.api.journals import is_run_folder
from harness.api.terminal import Terminal
from harness.errors import ConfigError, ExitCode, HarnessError
from harness.runs import Episode, Run

_PERSONS = ("agent.", "agent=", "observation.", "limits.", "run.")
"""Settings that are meant for the person's own session."""


_ADDRESS = "play here:"
"""Begins the sentence with which `agent=human` tells its address."""


_WAITS = "lane "
"""Begins a line that says what a lane waits for, or tries again."""


class _Sayings(Terminal):
    """Prints what a run says before a person plays, where they play, and what it waits for meanwhile; its table would
    be about a draft."""

    def __init__(self, shown: Terminal | None) -> None:
        super().__init__(highlight=False)
        self.quiet = True
        self._shown = shown
        self._begun = False

    def print(self, *objects: Any, **how: Any) -> None:
        """See `rich`."""
        said = str(objects[0] if objects else "")
        is_address = said.startswith(_ADDRESS)
        if self._shown is not None and (is_address or said.startswith(_WAITS) or not self._begun):
            self._shown.print(*objects, **how)
        self._begun |= is_address


class Stopped(Exception):
    """The person asked to stop; the same command goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """Where runs are kept, and with which settings they are made."""

    folder: Path
    overrides: tuple[str, ...]
    """The person's."""
    config_dir: Path | None

    def session(self, tasks: Path) -> Episode:
        """The person plays; what the run says is printed.

        Raises:
            Stopped: The run was interrupted.
            ConfigError: The session cannot be played to its end.
        """
        folder = self.folder / "session"
        is_over = is_run_folder(folder) and any(one.record.closed for one in Run(folder).episodes())
        console = _Sayings(None if is_over else Terminal(highlight=False))
        mine = (*_on(tasks), "agent=human", "run.display=plain")
        (one,) = _ended(self._played("session", mine, self.overrides, console), folder)
        return one

    def play(self, name: str, tasks: Path, agent: Sequence[str], trials: int = 1) -> tuple[Episode, ...]:
        """Another agent plays, quietly.

        Raises:
            Stopped: The run was interrupted.
        """
        overrides = (*_on(tasks), *agent, f"trials={trials}")
        return self._played(name, overrides, self.deployment, _Sayings(None))

    @property
    def deployment(self) -> tuple[str, ...]:
        """Of the person's settings, those that hold for every agent."""
        return tuple(one for one in self.overrides if not one.lstrip("+~").startswith(_PERSONS))

    def probe(self, name: str, tasks: Path, agent: Sequence[str], trials: int = 1) -> tuple[Episode, ...]:
        """As `play`, of what has to be known to go on.

        Raises:
            ConfigError: An episode cannot be played to its end.
        """
        return _ended(self.play(name, tasks, agent, trials), self.folder / name)

    def _played(
        self, name: str, overrides: Sequence[str], further: Sequence[str], console: Terminal
    ) -> tuple[Episode, ...]:
        from harness.api.evaluation import configured, evaluate

        folder = self.folder / name
        where = (
            f"run.root={quoted(str(self.folder))}",
            f"run.id={name}",
            "run.report=false",
            "++sites.reset.when=dirty",
        )
        config = configured((*overrides, *further, *where), self.config_dir)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            code = asyncio.run(evaluate(config, folder, console))
        except ExceptionGroup as group:  # of the tasks that a run is made of: the first says why it ended
            raise next(_own(group), group) from group
        if code == ExitCode.INTERRUPTED:
            raise Stopped
        found = tuple(Run(folder, scoring="corrected").episodes())
        return found or _ended(found, folder)


def _on(tasks: Path) -> tuple[str, ...]:
    return (f"task.path={quoted(str(tasks.absolute()))}",)


def _own(error: Exception) -> Iterator[HarnessError]:
    """The errors of a group that are meant for a person."""
    if isinstance(error, ExceptionGroup):
        for one in error.exceptions:
            yield from _own(one)
    elif isinstance(error, HarnessError):
        yield error


def _ended(episodes: tuple[Episode, ...], folder: Path) -> tuple[Episode, ...]:
    """Raises: ConfigError: One has not ended, or there is none."""
    if not episodes or any(one.record.closed is None for one in episodes):
        raise ConfigError(
            f"the run in {folder} could not be played to its end; `harness show {folder}` says why, and the same"
            " command tries again"
        )
    return episodes
