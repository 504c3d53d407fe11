"""What an agent's process may have under way at its gateway and relay, so that it cannot fill the memory of its worker.

The worker plays other episodes, too. Bytes count from when they are received until what they asked for is answered;
each request counts as `LEAST` at least, which is about what its objects take.
"""

from collections.abc import Iterator
from contextlib import contextmanager

MOST_IN_FLIGHT = 128 << 20
"""Bytes of all requests and commands of one process together."""
MOST_BYTES = 64 << 20
"""Limit for one request, or one message of a CDP client: pictures in a conversation take most of it."""
MOST_VALUES = 1_000_000
"""Limit for the JSON of one of them; each value takes up to a hundred bytes when it is read."""
LEAST = 16 << 10
_MB = 1 << 20


class Overload(Exception):
    """There is too much of it; the message is a sentence."""


class TooLarge(Exception):
    """One request alone is too much; the message is a sentence."""


class Intake:
    """What one process has under way."""

    def __init__(self, most: int = MOST_IN_FLIGHT) -> None:
        self._most = most
        self._held = 0

    @contextmanager
    def share(self) -> Iterator["Share"]:
        """The part of one request, or of one connection; it is given back in the end."""
        share = Share(self)
        try:
            yield share
        finally:
            share.give(share.held)

    def take(self, size: int) -> None:
        """Raises: Overload: Then there would be too many."""
        if self._held + size > self._most:
            raise Overload(
                f"requests under way have more than {self._most // _MB} MB together;"
                " wait for their answers and try again"
            )
        self._held += size

    def give(self, size: int) -> None:
        self._held -= size


class Share:
    """What one holder has of an `Intake`."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self.held = 0
        """Bytes."""

    def take(self, size: int) -> None:
        """Raises: Overload: The process has too much under way."""
        self._intake.take(size)
        self.held += size

    def give(self, size: int) -> None:
        """Give back so much, as far as it is held."""
        size = min(size, self.held)
        self._intake.give(size)
        self.held -= size

    def handed_over(self) -> "Share":
        """Another share, with all that this one holds, for what goes on when its holder is gone."""
        other = Share(self._intake)
        other.held, self.held = self.held, 0
        return other


def check_values(content: bytes) -> None:
    """See that JSON of somebody else's can be read without taking many times its size.

    Raises:
        TooLarge: It has too many values.
    """
    if len(content) > MOST_VALUES and sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise TooLarge(f"the JSON has more than {MOST_VALUES:,} values")
