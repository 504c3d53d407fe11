"""Limits on the text of a page that enters records, so that no page decides how large a journal, checkpoint or message
becomes.

Longer text is cut where it enters, and its end says how much is missing. All limits are far above what real sites
need.
"""

from harness.actions.truncate import cut

MAX_URL_CHARS = 16_000
"""Characters; so all below. Servers refuse longer ones."""
MAX_TITLE_CHARS = 1_000
MAX_NAME_CHARS = 10_000
"""A name or a value of an element, a piece of text included."""
MAX_LINE_CHARS = 30_000
"""One line of an observation, its details included."""
MAX_OBSERVATION_CHARS = 1_000_000
"""An observation."""
MAX_HTML_CHARS = 20_000_000
"""HTML of the page at one step."""
MAX_NOTICE_CHARS = 2_000
MAX_NOTICES = 50
"""Limit for one observation."""
MAX_EFFECTS = 1_000
"""Limit for one record."""
MAX_STORAGE_CHARS = 20_000_000
"""Characters of local storage in one checkpoint, of all origins together; Chromium lets an origin have five million."""
_CUT = " more characters)"


def truncate_url(url: str) -> str:
    return cut(url, MAX_URL_CHARS)


def is_complete_url(url: str) -> bool:
    """Whether an address that was recorded can be opened again."""
    return len(url) < MAX_URL_CHARS or not url.endswith(_CUT)


def truncate_observation(lines: str) -> str:
    """An observation's text, its last lines left out where there are too many."""
    if len(lines) <= MAX_OBSERVATION_CHARS:
        return lines
    kept = lines[: lines.rfind("\n", 0, MAX_OBSERVATION_CHARS) + 1]
    missing = lines.count("\n", len(kept)) + 1
    return f"{kept}(cut here: {missing} more line{'s' * (missing != 1)} not recorded)"


class Notices:
    """Notices for the next observation; of too many, the number of the rest."""

    def __init__(self) -> None:
        self._first: list[str] = []
        self._more = 0

    def add(self, notice: str) -> None:
        if len(self._first) < MAX_NOTICES:
            self._first.append(cut(notice, MAX_NOTICE_CHARS))
        else:
            self._more += 1

    def take(self) -> tuple[str, ...]:
        taken = (*self._first, *([f"({self._more} more notices)"] if self._more else ()))
        self._first, self._more = [], 0
        return taken


def well_formed(text: str) -> str:
    """The text without lone surrogates, which a script can put into a page and which no encoder takes."""
    return text.encode("utf-8", "replace").decode()
