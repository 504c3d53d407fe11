"""Tables as plain text, for terminals and for Markdown; what cells hold may come from pages and models."""

from collections.abc import Iterable, Iterator, Sequence

from harness.escape import one_line


def columns(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of aligned columns below a line of heads; without rows there is none."""
    cells = [tuple(heads), *(tuple(map(one_line, row)) for row in rows)]
    if len(cells) > 1:
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lines of a table in Markdown, in which no cell is markup."""
    for row in (map(plain_markdown, heads), ["---"] * len(heads), *(map(plain_markdown, row) for row in rows)):
        yield f"| {' | '.join(row)} |"


def plain_markdown(text: str) -> str:
    """The text on one line of Markdown, in which nothing is markup."""
    return "".join(f"\\{one}" if one in r"\`*_{}[]<>()#+!|~&" else one for one in one_line(text))
