"""Hidden secrets in texts that are compared: each stands as one letter, the same wherever its secret stood.

A marker could be cut in two, changed to lower case or read as an address of its own (`http://[redacted:…]/`); a letter
cannot, and has neither upper nor lower case. It is one of a script that no page is written in. Whether a secret was
escaped, or in upper case, is left out, so that it is the same letter in a page's HTML and in a task; what no evaluator
decodes has another.
"""

import re
from collections.abc import Callable

from harness.secrets.redaction import NO_SECRETS
from harness.secrets.spellings import is_encoded

_FIRST, _COUNT = 0x10600, 150
"""Linear A, in Unicode since 7.0."""


class Symbols:
    """Of one episode; a secret gets its letter where it is met first."""

    def __init__(self, *, missing: bool = False) -> None:
        """`missing`: of secrets that are not known; their letters are others than those of known ones."""
        self._letters: dict[tuple[str, str], str] = {}
        self._first = _FIRST + _COUNT * missing
        self._pattern = re.compile(f"[{chr(self._first)}-{chr(self._first + _COUNT - 1)}]")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the secrets that were met."""
        return tuple(dict.fromkeys(name for name, _ in self._letters))

    def __str__(self) -> str:
        """The secrets in words, by the names of their settings."""
        return f"a secret ({', '.join(sorted(self.names))})"

    def letter(self, name: str, way: str) -> str:
        """`way`: how it was spelled."""
        key = name, way if is_encoded(way) else ""
        return self._letters.setdefault(key, chr(self._first + min(len(self._letters), _COUNT - 1)))

    def text(self, stored: str) -> str:
        """A redacted text with letters for its markers."""
        return NO_SECRETS.reveal(stored, self.letter)

    def data(self, stored: bytes) -> bytes:
        """Redacted bytes with letters for their markers."""
        return NO_SECRETS.reveal_data(stored, self.letter)

    def put_back(self, text: str, write: Callable[[str], str]) -> str:
        """A text with `write(name)` for each letter."""
        names = {letter: name for (name, _), letter in self._letters.items()}
        return self._pattern.sub(lambda found: write(names[found[0]]) if found[0] in names else found[0], text)
