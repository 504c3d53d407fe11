"""Tables as plain text; what cells hold may come from pages and models."""

from collections.abc import Iterable, Iterator, Sequence

from harness.escape import one_line


def columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of aligned columns below a line of heads; without rows there is none."""
    cells = [tuple(heads), *(tuple(map(one_line, row)) for row in rows)]
    if len(cells) > 1:
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
