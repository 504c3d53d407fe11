"""The connection of one client to the relay, bounded: what it has sent and is not done yet is a share of the intake.

Bytes count from when they are received, before it is known whether they are a message.
"""

from collections.abc import Callable
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode
from websockets.protocol import State

from harness.plugins.process_agent.intake import Intake, Overload, Share

MOST_CONNECTIONS = 64
"""At the same time, with those that ask for no WebSocket."""
_LEAST = 1 << 10
"""Bytes that a command counts as: its objects take about that."""
_CLOSES_WITHIN_S = 1.0
_TOO_MANY = b"there are too many connections; close some of them\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (
    len(_TOO_MANY),
    _TOO_MANY,
)


class Client(ServerConnection):
    """One of a relay; see `bounded`."""

    share: Share

    def fail(self, error: Overload) -> None:
        """Hang up, and say why."""
        if self.protocol.state is State.OPEN:
            self.protocol.fail(CloseCode.TRY_AGAIN_LATER, str(error))
            self.send_data()
        self.transport.close()
        self.loop.call_later(_CLOSES_WITHIN_S, self.transport.abort)  # it may not read what we say

    def received(self, message: bytes) -> int:
        """What a message that was received counts as until it is done; see `done`."""
        size = len(message)
        head = 6 if size < 126 else 8 if size < 1 << 16 else 14
        more = max(0, _LEAST - size - head)
        self.share.take(more)
        return size + head + more

    def done(self, size: int) -> None:
        self.share.give(size)


def bounded(intake: Intake, refused: Callable[[str], None]) -> type[Client]:
    """The class of the connections of one relay.

    Args:
        intake: Of the process.
        refused: Hears of what is beyond a bound.
    """
    is_open: set[Client] = set()

    class Bounded(Client):
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.share = Share(intake)
            if len(is_open) >= MOST_CONNECTIONS:
                refused(f"more than {MOST_CONNECTIONS} connections at the same time")
                transport.write(_FULL)
                transport.close()
            is_open.add(self)

        def connection_lost(self, exc: Exception | None) -> None:
            is_open.discard(self)
            self.share.give(self.share.held)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            try:
                self.share.take(len(data))
            except Overload as error:
                refused(str(error))
                self.fail(error)
            else:
                super().data_received(data)

    return Bounded
