"""Makes foreign text harmless to look at: what would steer a terminal, an XML parser or the eye becomes visible.

Page text and model output may hold control characters (which command terminals and break XML) and direction overrides
(which show text in another order). Escaping markup is not done here: templates and writers do that.
"""

import logging
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from io import TextIOWrapper
from json import dumps

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufffe\uffff\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    """`text` with control and other invisible characters replaced by visible signs; line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub(_sign, text.replace("\r\n", "\n"))


def flat(text: str) -> str:
    """`visible(text)` on one line, so that it cannot forge a second line; a path keeps its blanks."""
    return visible(text).replace("\n", " ")


def one_line(text: str, limit: int = 0) -> str:
    """`visible(text)` on one line, cut to `limit` characters when that is not 0."""
    line = " ".join(visible(text).split())
    return line[: limit - 1] + "…" if limit and len(line) > limit else line


def listed(names: Sequence[str], most: int = 20) -> str:
    """`a, b and 3 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def print_any_character() -> None:
    """Let standard output show what its encoding lacks as an escape; that was an error in the middle of a table."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def escaped(json: str) -> str:
    """JSON with every character that acts instead of being seen as an escape, which means the same."""
    return _UNSEEN.sub(lambda found: dumps(found[0])[1:-1], json)


class VisibleFormatter(logging.Formatter):
    """Formats as another formatter does; a log is looked at in a terminal, and a message stays one line of it."""

    def __init__(self, inner: logging.Formatter) -> None:
        super().__init__()
        self._inner = inner

    def format(self, record: logging.LogRecord) -> str:
        shown = copy(record)
        shown.msg, shown.args = visible(record.getMessage()).replace("\n", "␊"), ()
        return visible(self._inner.format(shown))


def show_logs() -> None:
    """Let no handler of the root logger write what acts on a terminal."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(VisibleFormatter(handler.formatter or logging.Formatter()))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table; see `markdown_cell`."""
    yield f"| {' | '.join(map(markdown_cell, heads))} |"
    yield f"|{' --- |' * len(heads)}"
    yield from (f"| {' | '.join(map(markdown_cell, row))} |" for row in rows)


def markdown_cell(text: str, limit: int = 300) -> str:
    """Text in a table of Markdown, on one line and cut; its own markup is shown, not followed.

    Args:
        text: Anything.
        limit: Most characters, before markup is escaped.
    """
    text = one_line(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = "".join(f"\\{char}" if char in "\\`*_{}[]()#!|~" else char for char in text)
    return text.replace("@", "&#64;").replace("://", "&#58;//")
