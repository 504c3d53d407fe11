"""The key by which a request of a resumed process is found among the recorded ones. Pure.

Two requests have the same key when they say the same in the same interface, however it is written, but for what the
settings declare volatile: time stamps and ids that a process makes anew each time it is started.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from harness.api import CodecError, loads
from harness.api.records import digest_tree
from harness.api.text import each_text
from harness.errors import ConfigError

_GONE = "[volatile]"


@dataclass(frozen=True, slots=True)
class Volatile:
    """What differs from one start of a process to the next and means nothing."""

    patterns: tuple[re.Pattern[str], ...] = ()
    """Looked for in every text."""
    pointers: tuple[tuple[str, ...], ...] = ()
    """Places in the body; `*` is any key or index."""

    @classmethod
    def of(cls, entries: Sequence[str]) -> Self:
        """Read `agent.volatile`: an entry that begins with `/` is a JSON pointer, any other a regular expression.

        Raises:
            ConfigError: A regular expression cannot be read.
        """
        patterns, pointers = [], []
        for entry in entries:
            if entry.startswith("/"):
                parts = entry[1:].split("/")
                pointers.append(tuple(part.replace("~1", "/").replace("~0", "~") for part in parts))
                continue
            try:
                patterns.append(re.compile(entry))
            except re.error as error:
                raise ConfigError(f"agent.volatile: {entry!r} is not a regular expression: {error}") from error
        return cls(patterns=tuple(patterns), pointers=tuple(pointers))

    def text(self, text: str) -> str:
        """`text` with what is volatile replaced."""
        for pattern in self.patterns:
            text = pattern.sub(_GONE, text)
        return text

    def key(self, interface: str, body: bytes) -> str:
        """Digest of a request, in hex."""
        try:
            return self.key_of(interface, loads(body))
        except CodecError:
            return self.key_of(interface, body.decode("utf-8", "replace"))

    def key_of(self, interface: str, tree: Any) -> str:
        """The key of a body that has been read.

        Raises:
            CodecError: It is nested too deeply.
        """
        return digest_tree([interface, self.without(tree)])

    def without(self, tree: Any) -> Any:
        """A tree without what is volatile. Raises: CodecError: It is nested too deeply."""
        for pointer in self.pointers:
            tree = _without(tree, pointer)
        try:
            return each_text(tree, self.text, keys=False) if self.patterns else tree
        except RecursionError as error:
            raise CodecError("nested too deeply") from error


def _without(tree: Any, pointer: tuple[str, ...]) -> Any:
    """The tree with what is at the pointer replaced."""
    if not pointer:
        return _GONE
    first, rest = pointer[0], pointer[1:]
    if isinstance(tree, dict):
        return {key: _without(value, rest) if first in ("*", key) else value for key, value in tree.items()}
    if isinstance(tree, list):
        return [_without(value, rest) if first in ("*", str(at)) else value for at, value in enumerate(tree)]
    return tree
