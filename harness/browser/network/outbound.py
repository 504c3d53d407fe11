"""Connects to hosts for pages: looks a name up, checks every address that it stands for, and connects to one of those.

A name that stands for another address a moment later (DNS rebinding) gains nothing: what was checked is connected to.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from threading import Thread
from typing import Any

from harness.browser.network.local_addresses import Address, literal

CONNECTS_WITHIN_S = 30.0
PART = 1 << 18
"""Bytes that are passed on at once."""
_HEAD_START_S = 0.25
"""Of each address of a host before the next one is tried beside it, as RFC 8305 recommends."""
_KNOWN_FOR_S = 60.0
"""A name is not looked up anew so soon, as in Chromium's own cache."""
_MOST_KNOWN = 1000
_LOOKUPS = 32
"""Names that are looked up at the same time."""

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Refusal = Callable[[str, Address | None], str]
"""What a host is that must not be reached, as far as its name says, or because of an address; "" = it may."""


class NotAllowed(Exception):
    """The host must not be reached; the message says why."""


class Outbound:
    """Outgoing connections of one event loop."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_LOOKUPS)
        self._known: dict[str, tuple[float, asyncio.Task[Sequence[str]]]] = {}

    async def connect(self, host: str, port: int, refusal: Refusal) -> Stream:
        """A connection to a host.

        Raises:
            NotAllowed: Its name, or one of its addresses, is refused.
            OSError: It cannot be reached.
        """
        return await _connected(await self.check(host, refusal), port)

    async def check(self, host: str, refusal: Refusal) -> Sequence[str]:
        """The addresses of a host, all of which may be reached. Raises as `connect`."""
        if why := refusal(host, None):
            raise NotAllowed(f"{host} is {why}")
        addresses = await self._addresses(host)
        # Each of them: a name may stand for a public address and for this machine.
        for address in addresses:
            if why := refusal(host, ip_address(address)):
                raise NotAllowed(f"{host} stands for {address}, {why}")
        return addresses

    async def _addresses(self, host: str) -> Sequence[str]:
        if (address := literal(host)) is not None:
            return (str(address),)
        now = asyncio.get_running_loop().time()
        until, asking = self._known.get(host, (0.0, None))
        if asking is None or until < now or (asking.done() and asking.exception() is not None):
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            asking = asyncio.create_task(self._asked(host))
            # Nobody may be waiting any more: then the loop would log an error that nothing depends on.
            asking.add_done_callback(lambda task: task.cancelled() or task.exception())
            self._known[host] = (now + _KNOWN_FOR_S, asking)
        return await asyncio.shield(asking)  # others may wait for the same look-up

    async def _asked(self, host: str) -> Sequence[str]:
        async with self._free:
            return await _system_addresses(host)


async def _system_addresses(host: str) -> Sequence[str]:
    """What the system's resolver says, asked in a thread that holds up nothing when the process ends."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Sequence[str]] = loop.create_future()

    def ask() -> None:
        found: Sequence[Any] = ()
        error = OSError(f"{host[:100]!r} is not a name")
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        except OSError as why:
            error = why
        except UnicodeError:  # a label that is too long
            pass
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(answer, found, error)

    def answer(found: Sequence[Any], error: OSError) -> None:
        if answered.done():
            return
        if found:
            answered.set_result(tuple(dict.fromkeys(str(one[-1][0]).partition("%")[0] for one in found)))
        else:
            answered.set_exception(error)

    Thread(target=ask, name="name", daemon=True).start()
    return await answered


async def _connected(addresses: Sequence[str], port: int) -> Stream:
    """A connection to the first address that answers. Raises OSError: None does."""
    left, trying = list(addresses), set[asyncio.Task[Stream]]()
    error: OSError = OSError("the name stands for no address")
    try:
        async with asyncio.timeout(CONNECTS_WITHIN_S):
            while left or trying:
                if left:
                    opening = asyncio.open_connection(left.pop(0), port, limit=PART)
                    trying.add(asyncio.create_task(opening))
                done, trying = await asyncio.wait(
                    trying, timeout=_HEAD_START_S if left else None, return_when=asyncio.FIRST_COMPLETED
                )
                for one in done:
                    if (failed := one.exception()) is None:
                        trying |= done - {one}
                        return one.result()
                    if isinstance(failed, OSError):
                        error = failed
    finally:
        for one in trying:
            one.add_done_callback(_unused)
            one.cancel()
    raise error


def _unused(trying: asyncio.Task[Stream]) -> None:
    if not trying.cancelled() and trying.exception() is None:
        trying.result()[1].close()


async def splice(ours: Stream, theirs: Stream, *, most: int | None = None) -> None:
    """Pass on what either side says, until both have ended.

    Args:
        most: Bytes that our side may say: both are cut off when it says more; None = any number.
    """
    ways = [asyncio.create_task(_pass(ours[0], theirs[1], most)), asyncio.create_task(_pass(theirs[0], ours[1], None))]
    try:
        await asyncio.wait(ways)
    finally:
        for way in ways:
            way.cancel()
        theirs[1].close()


async def _pass(source: asyncio.StreamReader, to: asyncio.StreamWriter, most: int | None) -> None:
    with suppress(OSError):
        while part := await source.read(PART):
            if most is not None and (most := most - len(part)) < 0:
                break
            to.write(part)
            await to.drain()
        else:
            if to.can_write_eof():
                to.write_eof()
            return
    to.transport.abort()
