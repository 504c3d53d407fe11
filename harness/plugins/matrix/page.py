"""The matrix as a page, with a diff of each task that flipped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from harness.api.command_line import FURTHER_PAGES, TASK_DIFFS
from harness.errors import StorageError
from harness.plugins.matrix.command import difference_said, many_said
from harness.plugins.matrix.matrix import Cell, Matrix, Row, trial_of
from harness.runs import FAILED, PASSED
from harness.runs.comparison import Pair

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flip:
    """A task on which a row and the reference differ."""

    pair: Pair
    is_gained: bool
    diff: str
    """File name of its diff; "" = none was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A cell of the page."""

    benchmark: str
    cell: Cell
    difference: str
    anchor: str
    """Of its list of flips; "" = nothing flipped."""
    flips: tuple[_Flip, ...]


def write_matrix(folder: Path, matrix: Matrix, most_diffs: int) -> None:
    """Write `index.html`, and `diff-1.html` and so on, which it links to.

    Args:
        folder: Is made.
        matrix: What is shown.
        most_diffs: For each cell.

    Raises:
        StorageError: The disk refuses.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        numbers = count(1)
        rows = [
            (row, [_shown(folder, matrix, (row, name), (most_diffs, numbers)) for name in matrix.benchmarks])
            for row in matrix.rows
        ]
        text = FURTHER_PAGES.find("html")(
            _TEMPLATES,
            "matrix.html",
            matrix=matrix,
            rows=rows,
            many=many_said(matrix) if matrix.comparisons > 1 else "",
        )
        (folder / "index.html").write_text(text, "utf-8")
    except OSError as error:
        raise StorageError(f"{folder} cannot be written to ({error.strerror}); give a folder of yours") from error


def _shown(folder: Path, matrix: Matrix, key: tuple[Row, str], diffs: tuple[int, Iterator[int]]) -> _Shown | None:
    cell = matrix.cells.get(key)
    if cell is None:
        return None
    flips = tuple(_flips(folder, matrix, key, diffs))
    place = list(matrix.cells).index(key)
    return _Shown(
        benchmark=key[1],
        cell=cell,
        difference="" if cell.comparison is None else difference_said(cell),
        anchor=f"cell-{place}" if flips else "",
        flips=flips,
    )


def _flips(folder: Path, matrix: Matrix, key: tuple[Row, str], diffs: tuple[int, Iterator[int]]) -> Iterator[_Flip]:
    cell, (most, numbers) = matrix.cells[key], diffs
    if cell.comparison is None:
        return
    row, name = key
    reference = matrix.cells[matrix.reference, name]
    writes = TASK_DIFFS.find("html") if "html" in TASK_DIFFS.names() else None
    flipped: Sequence[tuple[bool, Pair]] = (
        *((False, pair) for pair in cell.comparison.lost),
        *((True, pair) for pair in cell.comparison.gained),
    )
    for place, (is_gained, pair) in enumerate(flipped):
        diff = ""
        if writes is not None and place < most:
            diff = f"diff-{next(numbers)}.html"
            before = trial_of(reference.side.rows, pair.task_id, FAILED if is_gained else PASSED)
            after = trial_of(cell.side.rows, pair.task_id, PASSED if is_gained else FAILED)
            named = (
                (matrix.reference.name, reference.run.episode(pair.task_id, before)),
                (row.name, cell.run.episode(pair.task_id, after)),
            )
            writes(folder / diff, named)
        yield _Flip(pair=pair, is_gained=is_gained, diff=diff)
