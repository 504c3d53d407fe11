"""What a back end does for one instance of one service."""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.errors import HarnessError
from harness.plugins.site_sets.set_file import Service
from harness.plugins.site_sets.state import Unit

Say = Callable[[str], None]
_WORD = re.compile(r"\{([a-z]+(?:\.[a-z0-9_-]+)?)\}")


class SiteFailed(HarnessError):
    """A service did not come up, or a command of its set failed."""


class NotVerified(HarnessError):
    """The state of a service is not the one it has to be, or cannot be compared with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One instance of one service, with all that its commands name."""

    unit: Unit
    service: Service
    key: str
    """Of the state folder; in the mark of all that is started."""
    port: int
    words: Mapping[str, str]
    """What `{port}`, `{data}` and so on stand for."""
    folder: Path
    """The folder of the set file, where commands are run."""

    @property
    def name(self) -> str:
        return self.unit.name

    @property
    def image(self) -> str:
        """What its container is made of."""
        return self.unit.state().image or self.service.image

    @property
    def mark(self) -> str:
        return f"{self.key}/{self.unit.name}"

    def said(self, text: str) -> str:
        """A text of the set file with its words put in; unknown ones are left as they are."""
        return _WORD.sub(lambda found: self.words.get(found[1], found[0]), text)

    def shell(self, command: str) -> str:
        """The same for the shell, to which no word can say more than one argument."""
        return shell(command, self.words)


def shell(command: str, words: Mapping[str, str]) -> str:
    """A command with its words put in, each as one argument of the shell."""
    return _WORD.sub(lambda found: shlex.quote(words[found[1]]) if found[1] in words else found[0], command)


class Backend(Protocol):
    """Runs services; touches only what carries the mark of the instance."""

    def is_running(self, one: Instance) -> bool: ...

    def start(self, one: Instance) -> None:
        """Raises: SiteFailed: It cannot be started."""

    def stop(self, one: Instance) -> None:
        """End all of it, however often it is called; what runs of it without our knowing is found by its mark."""

    def fill(self, one: Instance, into: Path) -> None:
        """Put its first state into an empty folder."""

    def keep(self, one: Instance) -> str:
        """Stop it and keep what of it is in no folder of ours; the name of that, "" = nothing is."""

    def execute(self, one: Instance, command: str) -> tuple[int, str]:
        """Run a command of the set for a service that runs; its code and last line."""

    def log(self, one: Instance) -> str: ...

    def memory(self, one: Instance) -> str:
        """What it takes now, with a unit; "" = it does not run, or nobody can say."""

    def image(self, one: Instance) -> str:
        """What identifies its program beside its state; "" = nothing does."""


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
