"""Whether two observations show the same page. Pure.

Element ids say nothing about a page, so they are taken out first. Similarity is that of the two multisets of lines
(address, tabs and text, indent stripped): twice the common lines over all lines, in [0, 1]. It does not see the order.
"""

import hashlib
import re
from collections import Counter

from harness.records import Observation, Tab

_ID = re.compile(r"^(\t*)\[[^\]\s]*\] ", re.MULTILINE)


def without_ids(text: str) -> str:
    return _ID.sub(r"\1", text)


def fingerprint(url: str, tabs: tuple[Tab, ...], text: str) -> str:
    """sha256 hex over address, tabs and text without ids."""
    parts = [url, *(f"{tab.url}\x1f{tab.title}\x1f{tab.current}" for tab in tabs), without_ids(text)]
    return hashlib.sha256("\x1e".join(parts).encode("utf-8", "replace")).hexdigest()


def similarity(seen: Observation, recorded: Observation) -> float:
    """How much of the recorded page is there; 1.0 = identical text."""
    if seen.fingerprint == recorded.fingerprint:
        return 1.0
    one, other = _lines(seen), _lines(recorded)
    return round(2 * (one & other).total() / (one.total() + other.total()), 4)


def _lines(observation: Observation) -> Counter[str]:
    lines = Counter(line.strip() for line in without_ids(observation.text).splitlines())
    lines.update([observation.url, *(f"{tab.url} {tab.current}" for tab in observation.tabs)])
    return lines
