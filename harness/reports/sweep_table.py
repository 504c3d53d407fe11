"""The table at the end of a sweep (`-m`): one row for each run, from its journals."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from harness.errors import ExitCode
from harness.escape import one_line
from harness.reports.console import Terminal
from harness.runs.figures import cells
from harness.runs.format import limits, precise_cost
from harness.runs.run import Run

_MEANING = {
    ExitCode.DONE: "done",
    ExitCode.BELOW: "below fail_under",
    ExitCode.USAGE: "refused",
    ExitCode.UNSCORED: "unscored tasks",
    ExitCode.UNFORESEEN: "internal error",
    ExitCode.INTERRUPTED: "interrupted",
}


@dataclass(frozen=True, slots=True)
class SweepRun:
    """One run of a sweep."""

    folder: Path
    code: ExitCode
    """The code with which it would have ended alone."""


def print_sweep(console: Terminal, runs: Sequence[SweepRun]) -> None:
    """Print a row for each run; one that was refused has no folder, and no figures."""
    table = Table(title=Text(f"sweep of {len(runs)} runs"), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("run", overflow="fold", min_width=20)
    for name in ("passed", "failed", "unscored", "rate", "95% interval", "tokens", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("ended", no_wrap=True)
    for run in runs:
        table.add_row(Text(one_line(run.folder.name)), *_figures(run.folder), _MEANING.get(run.code, str(run.code)))
    console.print(table)


def _figures(folder: Path) -> tuple[str, ...]:
    if not (folder / "run.json").is_file():
        return ("",) * 7
    whole = Run(folder).statistics_of_readable().all
    return (*cells(whole)[1:], limits(whole.rate), f"{whole.tokens:,}", precise_cost(whole.cost_usd, whole.priced))
