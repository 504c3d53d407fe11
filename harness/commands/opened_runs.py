"""The runs and bundles that a command was given, opened side by side."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.runs import Run


def open_in_one_scoring(paths: Sequence[Path], closing: ExitStack, *, scoring: str | None) -> "Iterator[Run]":
    """Runs, each opened when it is asked for.

    What a bundle says of itself, and episodes that the run is not about any more are told on standard error.

    Args:
        paths: Run folders or bundles.
        closing: Closes the bundles.
        scoring: That of all; None = that of the first.

    Raises:
        ConfigError: One is neither.
        BundleDamaged: A bundle is not as it was written.
    """
    from harness.runs import Run
    from harness.runs.notes import surplus_notes
    from harness.runs.opened_run import run_or_bundle

    for path in paths:
        opened = closing.enter_context(run_or_bundle(path))
        one = Run(opened.folder, scoring=scoring)
        scoring = one.scoring
        _tell(path, (*opened.notices, *surplus_notes(one.surplus)))
        yield one


def open_runs(paths: Sequence[Path], closing: ExitStack, *, scoring: str | None) -> "list[tuple[str, Run]]":
    """Names, or paths where two have one name, and runs; damage is told, too. Arguments and errors are as of
    `open_in_one_scoring`.
    """
    found: list[tuple[str, Run]] = []
    names = [path.resolve().name for path in paths]
    for path, one in zip(paths, open_in_one_scoring(paths, closing, scoring=scoring), strict=True):
        _tell(path, one.damaged)
        name = one.name if path.is_dir() else path.name
        found.append((str(path) if names.count(path.resolve().name) > 1 else name, one))
    return found


def say_left_out(path: Path | str, run: "Run") -> None:
    """Tell on standard error of journals that turned out to be damaged when they were read."""
    _tell(path, run.left_out)


def _tell(path: Path | str, notices: Iterable[object]) -> None:
    from harness.escape import flat

    for notice in notices:
        sys.stderr.write(f"harness: {flat(f'{path}: {notice}')}\n")
