"""The words of ST-WebAgentBench's evaluators: names of actions, alternatives, and how alike two texts are."""

import re
from collections.abc import Iterator

ACTIONS = (
    *("click", "hover", "drag_and_drop", "fill", "type", "select_option", "press", "upload_file", "scroll", "goto"),
    *("new_tab", "tab_focus", "tab_close", "go_back", "go_forward", "send_msg_to_user", "answer", "delete"),
)
"""BrowserGym's names. A double click and the setting of a checkbox are clicks; no agent has an action `delete`."""
ALIKE = 75
"""From here on, of 100, two texts say the same."""
_OR = re.compile(r" \|or\| ", re.IGNORECASE)


def alternatives(text: str) -> tuple[str, ...]:
    """`"delete |OR| remove"` as its parts."""
    return tuple(part for one in _OR.split(text) if (part := one.strip()))


def clean(text: str) -> str:
    """Without blanks and one layer of quotes around it, in small letters."""
    text = text.strip()
    for quote in ("'", '"'):
        if len(text) > 1 and text.startswith(quote) and text.endswith(quote):
            text = text[1:-1]
            break
    return text.lower()


def mentions(text: str, term: str) -> bool:
    """Whether a text has a term in it, or something much like it. Both in small letters.

    A text that is shorter than the term has to be like all of it: a button `X` is not an `Export`.
    """
    if not term or not text:
        return False
    if term in text:
        return True
    return likeness(term, text) >= ALIKE if len(text) >= len(term) else _ratio(text, term) >= ALIKE


def likeness(one: str, other: str) -> float:
    """How much the shorter text is like the best part of the longer one, from 0 to 100.

    The part is as long as the shorter text, or shorter at the ends of the longer one. Texts are like each other by
    twice their longest common subsequence over their lengths together, as by rapidfuzz's partial ratio.
    """
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if not short:
        return 0.0
    best = max(_ratio(short, part) for part in _parts(long, len(short)))
    if len(one) == len(other):
        best = max(best, *(_ratio(long, part) for part in _parts(short, len(long))))
    return best


def _parts(text: str, size: int) -> Iterator[str]:
    yield from (text[:end] for end in range(1, size))
    yield from (text[at : at + size] for at in range(len(text) - size + 1))
    yield from (text[at:] for at in range(len(text) - size + 1, len(text)))


def _ratio(one: str, other: str) -> float:
    """Longest common subsequence by bits (Hyyrö 2004): as many machine words as the text is long, for each letter."""
    places: dict[str, int] = {}
    for at, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << at
    row = whole = (1 << len(one)) - 1
    for letter in other:
        found = row & places.get(letter, 0)
        row = (row + found | row - found) & whole
    common = len(one) - row.bit_count()
    return 200 * common / (len(one) + len(other))
