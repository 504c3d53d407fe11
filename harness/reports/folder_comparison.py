"""Run folders in, comparisons out; and their page. Only reads the folders."""

from collections.abc import Sequence
from pathlib import Path

from harness.journal.disk import write_atomic
from harness.journal.index import scan
from harness.reports.comparison import Comparison, Side, compare
from harness.reports.pages import Pages
from harness.reports.rows import rows_of, run_info
from harness.runs.run import run_folder


def compare_folders(before: Path, after: Sequence[Path], dialect: str | None = None) -> tuple[Comparison, ...]:
    """Hold each of `after` against `before`.

    Args:
        before: A run folder.
        after: Others.
        dialect: Scoring of all of them; None = the one `before` was scored in.

    Raises:
        ConfigError: One of them is no run.
        JournalError: A journal is damaged.
    """
    first = side(before, dialect)
    return tuple(compare(first, side(folder, first.about.dialect)) for folder in after)


def side(folder: Path, dialect: str | None) -> Side:
    """A run's rows; a damaged journal stops, because a comparison must not leave out what it cannot read."""
    found = scan(run_folder(folder))
    if found.damaged:
        raise found.damaged[0]
    known = run_info(folder, dialect)
    return Side(about=known, rows=rows_of(found.entries, known), folder=folder)


def write_page(path: Path, comparisons: Sequence[Comparison]) -> None:
    """Write one page that shows all of them."""
    write_atomic(path, Pages().render("compare.html", comparisons=comparisons, events="").encode(), durable=False)
