"""Whether two observations show the same page. Pure.

Element ids say nothing about a page, so they are taken out first. Similarity is that of the two multisets of lines
(address, tabs and text, indent stripped): twice the common lines over all lines, in [0, 1]. It does not see the order.

A page that is much alike may still lack the one field that matters. `difference` compares what an agent can act on,
line by line, and what form fields hold, exactly.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeVar

from harness.records import Observation, TabRecord

T = TypeVar("T")
_LINE = re.compile(r"^\t*\[([^\]\s]*)\] (.*)$", re.MULTILINE)
_ID = re.compile(r"^(\t*)\[([^\]\s]*)\] ", re.MULTILINE)
# Left out of comparisons, as a checkpoint cannot restore the focus.
_FOCUS = re.compile(r" focused: (True|true)\b")
_ACTED_ON = re.compile(
    r"<?(?:DisclosureTriangle(?:Grouped)?|button|checkbox|combobox|link|listbox|menuitem\w*|option|radio|scrollbar|"
    r"searchbox|slider|spinbutton|switch|tab|textbox|treeitem|ComboBoxGrouping|ComboBoxMenuButton|ComboBoxSelect|"
    r"Date|DateTime|ColorWell|"
    r"InputTime|PopUpButton|a|input|textarea|select|summary)\b",
    re.IGNORECASE,
)
"""What the line of an element begins with that can be clicked or filled in: its role, or its tag in a DOM text."""

_HIDDEN = 'type="hidden"'
"""In a DOM text: a field that holds a token, as a rule, which differs with every visit."""


def without_ids(text: str) -> str:
    return _ID.sub(r"\1", text)


def entries(text: str) -> Iterator[tuple[str, str]]:
    """Element id and line (without indent and id) of every element that a text shows, from top to bottom."""
    for found in _LINE.finditer(text.partition("\n\n")[2]):
        yield found[1], found[2]


def renamed(text: str, became: Mapping[str, str]) -> str:
    """The text with other element ids."""
    head, gap, body = text.partition("\n\n")
    return f"{head}{gap}{_ID.sub(lambda found: f'{found[1]}[{became.get(found[2], found[2])}] ', body)}"


def with_ids(table: Mapping[str, T], became: Mapping[str, str]) -> dict[str, T]:
    """A table by element id, under other ids."""
    return {became.get(id, id): value for id, value in table.items()}


def fingerprint(url: str, tabs: tuple[TabRecord, ...], text: str) -> str:
    """sha256 hex over address, tabs and text without ids."""
    parts = [url, *(f"{tab.url}\x1f{tab.title}\x1f{tab.current}" for tab in tabs), without_ids(text)]
    return hashlib.sha256("\x1e".join(parts).encode("utf-8", "replace")).hexdigest()


def is_actionable(line: str) -> bool:
    """Whether a line is that of an element that can be clicked or filled in, and that is not hidden."""
    return _ACTED_ON.match(line) is not None and _HIDDEN not in line


def similarity(seen: Observation, recorded: Observation) -> float:
    """How much of the recorded page is there; 1.0 = identical text."""
    if seen.fingerprint == recorded.fingerprint:
        return 1.0
    one, other = _lines(seen), _lines(recorded)
    return round(2 * (one & other).total() / (one.total() + other.total()), 4)


def difference(seen: Observation, recorded: Observation) -> str | None:
    """What an agent could act on differently, in words; None = nothing.

    Which element has the focus does not count: it is seen in the text, and every action but a key brings its own.
    """
    # Exactly: a similarity of 0.9 let an emptied field pass.
    if seen.fields and recorded.fields and seen.fields != recorded.fields:
        return "form fields have other values than recorded"
    if seen.fingerprint == recorded.fingerprint:
        return None
    now, then = _acted_on(seen), _acted_on(recorded)
    if gone := then - now:
        return f"{next(iter(gone))!r} is missing"
    if new := now - then:
        return f"{next(iter(new))!r} is new"
    return None


def _acted_on(observation: Observation) -> Counter[str]:
    lines = (line for _, line in entries(observation.text) if is_actionable(line))
    return Counter(_FOCUS.sub("", line) for line in lines)


def _lines(observation: Observation) -> Counter[str]:
    lines = Counter(line.strip() for line in without_ids(observation.text).splitlines())
    lines.update([observation.url, *(f"{tab.url} {tab.current}" for tab in observation.tabs)])
    return lines
