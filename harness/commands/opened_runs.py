"""The runs and bundles that a command was given, opened side by side."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.runs import Run


def open_runs(paths: Sequence[Path], closing: ExitStack, *, scoring: str | None) -> "list[tuple[str, Run]]":
    """Names, or paths where two have one name, and runs, all in one scoring.

    Damage, what a bundle says of itself, and episodes that the run is not about any more are told on standard error.

    Args:
        paths: Run folders or bundles.
        closing: Closes the bundles.
        scoring: That of all; None = that of the first.

    Raises:
        ConfigError: One is neither.
        BundleDamaged: A bundle is not as it was written.
    """
    from harness.escape import one_line
    from harness.runs import Run
    from harness.runs.notes import surplus_notes
    from harness.runs.opened_run import run_or_bundle

    found = list[tuple[str, Run]]()
    names = [path.resolve().name for path in paths]
    for path in paths:
        opened = closing.enter_context(run_or_bundle(path))
        one = Run(opened.folder, scoring=scoring)
        scoring = one.scoring
        for notice in (*opened.notices, *map(str, one.damaged), *surplus_notes(one.surplus)):
            sys.stderr.write(f"harness: {one_line(f'{path}: {notice}')}\n")
        name = one.name if path.is_dir() else path.name
        found.append((str(path) if names.count(path.resolve().name) > 1 else name, one))
    return found


def say_left_out(path: Path | str, run: "Run") -> None:
    """Tell on standard error of journals that turned out to be damaged when they were read."""
    from harness.escape import one_line

    for error in run.left_out:
        sys.stderr.write(f"harness: {one_line(f'{path}: {error}')}\n")
