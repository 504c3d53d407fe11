"""How much of what a page says enters our records: no page decides how large a journal, a checkpoint or a message becomes.

What is longer is cut where it comes in, and the end of it says how much is missing. All of it is far above what sites have.
"""

from harness.actions.cutting import cut

MOST_OF_AN_ADDRESS = 16_000
"""Characters; so all below. Servers refuse longer ones."""
MOST_OF_A_TITLE = 1_000
MOST_OF_A_NAME = 10_000
"""A name or a value of an element, a piece of text included."""
MOST_OF_A_LINE = 30_000
"""One line of an observation, its details included."""
MOST_OF_A_TEXT = 1_000_000
"""An observation."""
MOST_OF_A_NOTICE = 2_000
MOST_NOTICES = 50
"""Of one observation."""
MOST_EFFECTS = 1_000
"""Of one record."""
MOST_STORED = 20_000_000
"""Characters of local storage in one checkpoint, of all origins together; Chromium lets an origin have five million."""
_CUT = " more characters)"


def address(url: str) -> str:
    return cut(url, MOST_OF_AN_ADDRESS)


def is_whole(url: str) -> bool:
    """Whether an address that was recorded can be opened again."""
    return len(url) < MOST_OF_AN_ADDRESS or not url.endswith(_CUT)


def text(lines: str) -> str:
    """An observation's text, its last lines left out where there are too many."""
    if len(lines) <= MOST_OF_A_TEXT:
        return lines
    kept = lines[: lines.rfind("\n", 0, MOST_OF_A_TEXT) + 1]
    missing = lines.count("\n", len(kept)) + 1
    return f"{kept}(the page goes on here: {missing} more line{'s' * (missing != 1)} were not recorded)"


class Notices:
    """What is to be told with the next observation; of very many, how many more there were."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._more = 0

    def add(self, notice: str) -> None:
        if len(self._first) < MOST_NOTICES:
            self._first.append(cut(notice, MOST_OF_A_NOTICE))
        else:
            self._more += 1

    def take(self) -> tuple[str, ...]:
        taken = (*self._first, *([f"({self._more} more notices)"] if self._more else ()))
        self._first, self._more = [], 0
        return taken
