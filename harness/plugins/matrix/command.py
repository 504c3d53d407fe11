"""`harness matrix`: agents and models over benchmarks, with paired differences; a sweep ends with it, too."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_scoring, open_in_one_scoring
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.plugins.matrix.matrix import Cell, Matrix, Row
    from harness.runs import Run

HELP = "put runs into a matrix of agents and models over benchmarks, with paired differences from the first"
EXAMPLE = "harness matrix results/* --html matrix"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="run folders or bundles; the first one is the reference"
    )
    parser.add_argument("--markdown", action="store_true", help="print tables in Markdown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--html", type=Path, metavar="DIR", help="also write a page, and the diffs of tasks that flipped, into a folder"
    )
    parser.add_argument(
        "--diffs", type=int, default=20, metavar="N", help="of --html: at most N diffs for each cell (default: 20)"
    )
    add_scoring(parser, "scoring to use for all runs (default: that of the first)")


def run(options: argparse.Namespace) -> int:
    from contextlib import ExitStack

    from harness.plugins.matrix.matrix import matrix_of

    if options.diffs < 0:
        raise ConfigError(f"--diffs {options.diffs} is not a number of diffs; give a number from 0")
    with ExitStack() as closing:
        runs = list(open_in_one_scoring(options.runs, closing, scoring=options.scoring))
        matrix = matrix_of(runs, _names(options.runs))
        if options.html:
            from harness.plugins.matrix.page import write_matrix

            write_matrix(options.html, matrix, options.diffs)
        sys.stdout.writelines(f"{line}\n" for line in _lines(options, matrix))
    return ExitCode.DONE


def of_sweep(runs: "Sequence[Run]") -> Iterator[str]:
    """The lines below the table of a sweep: its runs against the first one; none where there is nothing to compare.

    Raises:
        JournalError: A journal is damaged.
    """
    from harness.plugins.matrix.matrix import matrix_of

    known = [one for one in runs if one.results]
    if len(known) > 1:
        names = _names([one.folder for one in known])
        yield from _text(matrix_of(known, names), as_markdown=False)


def _names(paths: Sequence[Path]) -> list[str]:
    """Of the folders or bundles, with their paths where two have the same."""
    names = [path.resolve().name.removesuffix(".cairn") for path in paths]
    return [str(path) if names.count(name) > 1 else name for name, path in zip(names, paths, strict=True)]


def _lines(options: argparse.Namespace, matrix: "Matrix") -> Iterator[str]:
    if not options.json:
        yield from _text(matrix, as_markdown=options.markdown)
        return
    from harness.api import dumps
    from harness.runs import escaped

    yield escaped(dumps(_as_data(matrix), pretty=True).decode())


def _text(matrix: "Matrix", *, as_markdown: bool) -> Iterator[str]:
    from harness.api.text import markdown_cell, markdown_table
    from harness.runs import one_line
    from harness.runs.text_table import columns

    table, line = (markdown_table, markdown_cell) if as_markdown else (columns, one_line)
    heads = ("agent, model", *map(one_line, matrix.benchmarks))
    yield f"passed, with 95% intervals ({matrix.scoring} scoring)"
    yield ""
    yield from table(heads, [(row.name, *_cells(matrix, row, rate_said)) for row in matrix.rows])
    if not matrix.comparisons:
        return
    yield ""
    yield f"difference from {line(matrix.reference.name)} on the same tasks, with 95% intervals and exact p"
    yield ""
    yield from table(heads, [(row.name, *_cells(matrix, row, difference_said)) for row in matrix.rows[1:]])
    if matrix.comparisons > 1:
        yield ""
        yield many_said(matrix)


def _cells(matrix: "Matrix", row: "Row", said: "Callable[[Cell], str]") -> Iterator[str]:
    for name in matrix.benchmarks:
        cell = matrix.cells.get((row, name))
        yield "-" if cell is None else said(cell)


def rate_said(cell: "Cell") -> str:
    """`62.5% (47.0% to 75.8%)`, with what has no score."""
    from harness.runs.format import limits, percent

    rate, unscored = cell.group.rate, cell.group.unscored
    more = f", {unscored} unscored" if unscored else ""
    return f"{percent(rate.value)} ({limits(rate)}; {cell.group.counted}{more})"


def difference_said(cell: "Cell") -> str:
    """`+5.0 pp (−2.1 pp to +12.1 pp; p 0.21; 40 tasks, 3 gained, 1 lost)`."""
    from harness.runs.format import points
    from harness.runs.trials import amount

    found = cell.comparison
    if found is None:
        return "-"
    if not found.pairs:
        return "no task in common that both have a score for"
    one, left = found.difference, len(found.differing)
    more = f", {left} not the same task" if left else ""
    return (
        f"{points(one.value)} ({points(one.low)} to {points(one.high)}; p {found.p:.2g}; {amount(found.pairs, 'task')},"
        f" {len(found.gained)} gained, {len(found.lost)} lost{more})"
    )


def many_said(matrix: "Matrix") -> str:
    """What a reader of several differences has to know."""
    return f"{matrix.comparisons} differences; intervals and p are of each alone, not adjusted for their number"


def _as_data(matrix: "Matrix") -> dict[str, object]:
    from harness.runs import as_data

    return {
        "scoring": matrix.scoring,
        "reference": matrix.reference.name,
        "benchmarks": matrix.benchmarks,
        "cells": [
            {
                "agent": row.agent,
                "model": row.model,
                "benchmark": name,
                "run": cell.run.name,
                **as_data(cell.group),
                "comparison": _compared(cell),
            }
            for (row, name), cell in matrix.cells.items()
        ],
    }


def _compared(cell: "Cell") -> dict[str, object] | None:
    found = cell.comparison
    if found is None:
        return None
    return {
        "pairs": found.pairs,
        "difference": found.difference,
        "p": found.p,
        "gained": [pair.task_id for pair in found.gained],
        "lost": [pair.task_id for pair in found.lost],
        "not_the_same_task": found.differing,
        "unscored": found.unscored_after,
        # By the names that they have in `harness compare --json`.
        "only_before": found.only_before,
        "only_after": found.only_after,
        "unscored_before": found.unscored_before,
        "trials_unscored_before": found.trials_unscored_before,
        "trials_unscored_after": found.trials_unscored_after,
    }
