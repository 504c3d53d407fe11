"""The console of every command. If its reader closes the pipe (`| head`, a closed window), the command continues.

Later output is dropped, and a callback is called once. A full disk ends it. Printed text may come from a page, a model
or an endpoint: none of its characters controls the terminal. Knows nothing of runs.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import IO, Any, Literal, cast

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from harness.escape import flat, one_line, visible
from harness.files.output import drop_output, output_error
from harness.reports.github import reads_annotations

_COMMAND = re.compile(r"^[ \t]*:(?=:)|##(?=\[)", re.MULTILINE)
"""How a workflow command begins for GitHub's runner: the first form in a line of its own, the second anywhere."""
_UNCUT = 10_000
"""Width of an output that is not a terminal, in characters: a log or another program must get whole rows."""


def say(console: Console, text: str) -> None:
    """One sentence, as it is, on one line."""
    console.print(flat(text), markup=False, highlight=False, soft_wrap=True)


class Terminal(Console):
    """Writes to stdout until it is closed."""

    def __init__(self, *, highlight: bool = True, soft_wrap: bool = False) -> None:
        self._output = _Output(sys.stdout, is_inert=reads_annotations(os.environ))
        super().__init__(
            file=cast("IO[str]", self._output),
            width=None if sys.stdout.isatty() else _UNCUT,
            highlight=highlight,
            soft_wrap=soft_wrap,
            # Else `:name:` in the text of a page becomes a picture.
            emoji=False,
        )
        self.is_tty = sys.stdout.isatty()
        """Whether a person looks at it; `is_terminal` is also true where FORCE_COLOR asks for colours in a log."""
        self.lost: Callable[[], object] = lambda: None
        """Called when stdout is closed; maybe in another thread."""

    def say(self, text: str) -> None:
        """See `harness.reports.console.say`."""
        say(self, text)

    def table(self, heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = ()) -> None:
        """Rows of texts, as they are, a line each; the columns in `right` are numbers."""
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for number, head in enumerate(heads):
            justify: Literal["left", "right"] = "right" if number in right else "left"
            table.add_column(Text(one_line(head)), justify=justify, overflow="fold")
        for row in rows:
            table.add_row(*(Text(one_line(cell)) for cell in row))
        self.print(table)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, but with control characters in texts shown."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))

    def exactly(self, text: str) -> None:
        """What a program reads: JSON, or workflow commands of our own."""
        was_inert, self._output.is_inert = self._output.is_inert, False
        self.out(text, highlight=False)
        self._output.is_inert = was_inert

    def on_broken_pipe(self) -> None:
        """Rich would end the process with code 1."""
        self.quiet = True
        drop_output()
        self.lost()


class _Output:
    """A stream on which a reader that is gone is a broken pipe, as it is for rich; a full disk is said."""

    def __init__(self, stream: IO[str], *, is_inert: bool) -> None:
        self._stream = stream
        self.is_inert = is_inert
        """Whether nothing that is written may be a workflow command."""

    def write(self, text: str) -> int:
        if self.is_inert:
            text = _COMMAND.sub(lambda found: found[0] + "\\", text)
        try:
            return self._stream.write(text)
        except OSError as exc:
            raise output_error(exc) from exc

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as exc:
            raise output_error(exc) from exc

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
