"""The matrix as a page, with a diff of each task that flipped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from harness.api.command_line import FURTHER_PAGES, TASK_DIFFS
from harness.errors import StorageError
from harness.plugins.matrix.command import difference_said, many_said
from harness.plugins.matrix.matrix import Cell, Matrix, Row, trial_of
from harness.runs import FAILED, PASSED
from harness.runs.comparison import Pair

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flip:
    """A task on which a row and the reference differ."""

    pair: Pair
    is_gained: bool
    diff: str
    """Address of its diff; "" = there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """A cell of the page."""

    benchmark: str
    cell: Cell
    difference: str
    anchor: str
    """Of its list of flips; "" = nothing flipped."""
    flips: tuple[_Flip, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlippedSides:
    """The two episodes of a task that flipped."""

    task: str
    both: tuple[tuple[Row, Cell, int], ...]
    """Row, cell and trial of the reference, and of the other."""


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
        writes = TASK_DIFFS.find("html") if "html" in TASK_DIFFS.names() else None

        def written(place: int, sides: FlippedSides) -> str:
            if writes is None or place >= most_diffs:
                return ""
            name = f"diff-{next(numbers)}.html"
            named = [(row.name, cell.run.episode(sides.task, trial)) for row, cell, trial in sides.both]
            writes(folder / name, named)
            return name

        text = FURTHER_PAGES.find("html")(TEMPLATES, "matrix.html", **values_of(matrix, written))
        (folder / "index.html").write_text(text, "utf-8")
    except OSError as error:
        raise StorageError(f"{folder} cannot be written to ({error.strerror}); give a folder of yours") from error


def values_of(matrix: Matrix, diff_of: Callable[[int, FlippedSides], str]) -> dict[str, object]:
    """What the templates are given.

    Args:
        matrix: What is shown.
        diff_of: Gives the address of the diff of a task, by its place among those of its cell; "" = there is none.
    """
    return {
        "matrix": matrix,
        "rows": [(row, [_shown(matrix, (row, name), diff_of) for name in matrix.benchmarks]) for row in matrix.rows],
        "many": many_said(matrix) if matrix.comparisons > 1 else "",
    }


def _shown(matrix: Matrix, key: tuple[Row, str], diff_of: Callable[[int, FlippedSides], str]) -> _Shown | None:
    cell = matrix.cells.get(key)
    if cell is None:
        return None
    flips = tuple(_flips(matrix, key, diff_of))
    place = list(matrix.cells).index(key)
    return _Shown(
        benchmark=key[1],
        cell=cell,
        difference="" if cell.comparison is None else difference_said(cell),
        anchor=f"cell-{place}" if flips else "",
        flips=flips,
    )


def _flips(matrix: Matrix, key: tuple[Row, str], diff_of: Callable[[int, FlippedSides], str]) -> Iterator[_Flip]:
    cell = matrix.cells[key]
    if cell.comparison is None:
        return
    row, name = key
    reference = matrix.cells[matrix.reference, name]
    flipped: Sequence[tuple[bool, Pair]] = (
        *((False, pair) for pair in cell.comparison.lost),
        *((True, pair) for pair in cell.comparison.gained),
    )
    for place, (is_gained, pair) in enumerate(flipped):
        before = trial_of(reference.side.rows, pair.task_id, FAILED if is_gained else PASSED)
        after = trial_of(cell.side.rows, pair.task_id, PASSED if is_gained else FAILED)
        sides = FlippedSides(task=pair.task_id, both=((matrix.reference, reference, before), (row, cell, after)))
        yield _Flip(pair=pair, is_gained=is_gained, diff=diff_of(place, sides))
