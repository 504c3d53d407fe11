"""WebArena's searches for an argument, in time proportional to the text.

Its patterns ask for a call, anything at all and what ends it, `press ?\\[(.+)\\]`, anywhere in a line. Where the end is
missing, `re` looks for it once for each call in the line. It need not: an end after a later call is after the first
one, too. What is found is what WebArena's patterns find.
"""

import re
from collections import deque
from collections.abc import Iterator


def up_to_last(text: str, opening: re.Pattern[str], closing: str, *, least: int = 1) -> str | None:
    """What `opening(.+)closing` captures: between the first call and the last end in its line.

    Args:
        text: As the model wrote it.
        opening: Of the call; cannot match a line end.
        closing: Of the argument.
        least: Characters of an argument; with 0 as `opening(.*)closing`.
    Returns:
        None when no line holds both.
    """
    for line, found in _calls(text, opening):
        end = line.rfind(closing, found.end() + least)
        if end >= 0:
            return line[found.end() : end]
    return None


def up_to_first(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str | None:
    """What `opening(.+?)closing` captures: between the first call and the first end in its line; None when there is
    none.
    """
    for line, found in _calls(text, opening):
        if (end := closing.search(line, found.end() + 1)) is not None:
            return line[found.end() : end.start()]
    return None


def typed(text: str) -> tuple[str, str, str] | None:
    """What `type ?\\[(\\d+)\\] ?\\[(.+)\\] ?\\[(\\d+)\\]` captures: element, text and flag."""
    for line, found in _calls(text, _TYPE):
        for end in deque(_FLAG.finditer(line, found.end() + 1), maxlen=1):
            return found[1], line[found.end() : end.start()], end[1]
    return None


def _calls(text: str, opening: re.Pattern[str]) -> Iterator[tuple[str, re.Match[str]]]:
    """Every line with such a call, and the first one in it."""
    for line in text.split("\n"):  # and not `splitlines`: a dot of a pattern stops nowhere else
        if (found := opening.search(line)) is not None:
            yield line, found


_TYPE = re.compile(r"type ?\[(\d+)\] ?\[")
_FLAG = re.compile(r"\](?= ?\[(\d+)\])")
