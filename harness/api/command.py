"""What a command of `harness` and a format of `harness export` are."""

from abc import ABC, abstractmethod
from argparse import ArgumentParser, Namespace, _ArgumentGroup
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class Command(Protocol):
    """A command, usually a module; its imports at the top are light, so that `harness --help` is quick.

    Declared as an entry point of the group `cairn.commands` under the command's name.
    """

    HELP: str
    """One sentence."""
    EXAMPLE: str
    """One command line."""

    def arguments(self, parser: ArgumentParser, /) -> None:
        """Declare its arguments and options."""
        ...

    def run(self, options: Namespace, /) -> int:
        """Do it; gives the exit code (`harness.api.ExitCode`).

        `options.hosting` plays episodes that are asked for while the command runs, see `harness.api.hosting`.

        Raises:
            HarnessError: It cannot be done; the sentence is printed, and the exit code is 2.
        """
        ...


class Export(ABC):
    """Writes runs in another format, from their journals alone: `harness export NAME RUN`.

    Declared as an entry point of the group `cairn.exports` under the name of the format; the constructor takes no
    arguments.
    """

    def arguments(self, parser: _ArgumentGroup, /) -> None:
        """Declare options of its own, with names that no other format has."""
        return None

    @abstractmethod
    def write(self, run: Path, into: Path, options: Namespace, /) -> Iterable[Path]:
        """Write one run, and give the files, which the command prints.

        Args:
            run: Its folder.
            into: The folder for the files, which need not exist: below `--to`, or `export` in the run folder.
            options: Those of the command (`to`, `scoring`) and of this format.

        Raises:
            HarnessError: It cannot be written; the sentence is printed, and the exit code is 2.
        """
