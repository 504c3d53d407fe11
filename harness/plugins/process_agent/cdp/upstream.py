"""The connection of one client of the relay to the browser."""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Protocol

from websockets.exceptions import ConnectionClosed

from harness.api import JsonObject, loads
from harness.api.agent_kinds import DevToolsConnection
from harness.plugins.process_agent.cdp.wire import OWN_IDS, CommandFailed, Request, error_of, head

Answered = Callable[[JsonObject], None]
"""Hears the browser's answer to a command of the client, before the client does."""


class Listener(Protocol):
    """What hears the browser."""

    async def pass_on(self, raw: bytes) -> None:
        """Pass a message on to the client unchanged."""
        ...

    async def hear(self, event: JsonObject, raw: bytes) -> None:
        """An event about targets."""
        ...


class Upstream:
    """The way from one client to the browser."""

    def __init__(self, browser: DevToolsConnection, gone: Callable[[], None]) -> None:
        """
        Args:
            gone: Called when the browser has hung up, before anything that waits for it hears that.
        """
        self._browser = browser
        self._gone = gone
        self._ids = count(OWN_IDS)
        self._own: dict[int, asyncio.Future[JsonObject]] = {}
        self._watched: dict[int, Answered] = {}

    async def call(self, method: str, params: JsonObject, *, session: str = "") -> JsonObject:
        """A command of the relay itself; its result.

        Raises:
            CommandFailed: The browser did not perform it, or is gone.
        """
        number = next(self._ids)
        answered = self._own[number] = asyncio.get_running_loop().create_future()
        try:
            await self._send(Request(number, method, params, session))
            answer = await answered
        finally:
            del self._own[number]
        if why := error_of(answer):
            raise CommandFailed(why)
        found: JsonObject = answer.get("result", {})
        return found

    async def send(self, request: Request, then: Answered | None = None) -> None:
        """Pass a command of the client on.

        Args:
            then: Hears the answer.
        Raises:
            CommandFailed: The browser is gone.
        """
        if then is not None:
            self._watched[request.id] = then
        await self._send(request)

    def is_waiting(self, number: int) -> bool:
        """Whether an answer with this id is awaited by anybody here."""
        return number in self._watched

    async def listen(self, listener: Listener) -> None:
        """Until the browser, or the client, is gone."""
        try:
            while await self._take(listener):
                pass
            self._gone()
        except ConnectionClosed:  # of the client
            pass
        finally:
            self._end()

    async def _take(self, listener: Listener) -> bool:
        """One message, which is not held while the next is waited for; False = there are no more."""
        if (raw := await self._browser.receive()) is None:
            return False
        number, domain = head(raw)
        if number is not None and number >= OWN_IDS:
            waiting = self._own.get(number)
            if waiting is not None and not waiting.done():
                waiting.set_result(loads(raw))
            return True
        if number is not None and (then := self._watched.pop(number, None)) is not None:
            then(loads(raw))
        if domain == "Target":
            await listener.hear(loads(raw), raw)
        else:
            await listener.pass_on(raw)
        return True

    async def _send(self, request: Request) -> None:
        try:
            await self._browser.send(request.id, request.method, request.params, session=request.session)
        except ConnectionError as error:
            self._gone()
            raise CommandFailed("the browser is gone") from error

    def _end(self) -> None:
        """Everything that waits hears that there will be no answer."""
        gone: JsonObject = {"error": {"message": "the browser is gone"}}
        for waiting in self._own.values():
            if not waiting.done():
                waiting.set_result(gone)
        watched, self._watched = self._watched, {}
        for then in watched.values():
            then(gone)
