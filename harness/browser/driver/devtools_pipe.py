"""Shares the DevTools pipe of one Chromium between playwright and further clients; nothing listens anywhere.

Playwright's messages are passed on as they are. Each further client has a session of its own with the browser or with
one page (`Target.attachToBrowserTarget`, `attachToTarget`), so that its sessions, and what it enables in them, are its
own, as in a separate connection. Chromium says in each message which session it belongs to: a session belongs to
the client in whose session it was opened, and all others to playwright. Ids of commands are replaced, because an answer
to a session that has just ended names no session.
"""

import asyncio
import fcntl
import os
import re
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from harness.codec import JsonObject, dumps, loads

# With these limits a worker took 90 to 450 MB under each flood that was tried.
MOST_BYTES = 256 << 20
"""Limit for one message of the browser; a longer answer is replaced by an error, a longer event is left out."""
MOST_UNREAD = 64 << 20
"""Bytes of messages that a client has not taken: one that is further behind is cut off. One message may be larger."""
MOST_UNREAD_TOGETHER = 128 << 20
"""The same of all clients of one process, with the messages that they are being sent. One message may be larger."""
_FIRST_ID, _LAST_ID = 1 << 30, (1 << 31) - 1
"""Of the commands of clients; playwright counts from 1."""
_HEAD = re.compile(rb'\{"(?:id":(-?\d+)|method":"([\w.]+)"(?:,"params":\{"sessionId":"([0-9A-F]+)")?)')
"""How Chromium begins an answer, and an event; one about a session says next which."""
_SESSION = re.compile(rb',"sessionId":"([0-9A-F]+)"\}\Z')
"""How it ends what it says in a session. A page cannot have a message end like this: quotes are escaped, and what is
not said in a session ends with two braces, because parameters, results and errors are objects.
"""
_END = 80
"""Bytes that hold the head, or the session at the end."""
_BEGUN, _ENDED = b"Target.attachedToTarget", b"Target.detachedFromTarget"
_NO_SESSION = {"code": -32001, "message": "Session with given id not found."}
"""As Chromium says it."""
# The system gives a pipe 64 kB: a tree of a megabyte would take both ends sixteen turns.
_PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = 1031


class Backlog:
    """Bytes of messages that the clients of one process have not taken, together."""

    def __init__(self) -> None:
        self.size = 0


class BrowserConnection:
    """One client; fits `harness.protocols.DevToolsConnection`."""

    def __init__(self, pipe: "DevToolsPipe", backlog: Backlog) -> None:
        self.root = ""
        """Its session with the browser, or with its page."""
        self._pipe = pipe
        self._backlog = backlog
        self._taken = 0
        """Bytes of the message that was received last: it is passed on until the next is asked for."""
        self._is_open = True
        self._is_behind = False
        self._messages: deque[bytes] = deque()
        self._unread = 0
        self._changed = asyncio.Event()

    async def send(self, number: int, method: str, params: JsonObject, *, session: str = "") -> None:
        if not self._is_open:
            raise ConnectionResetError("the connection to the browser is closed")
        # Chromium itself would take the command in a session of playwright or of another client as well.
        if session and not self._pipe.belongs(session, self):
            return self.deliver(dumps({"id": number, "error": _NO_SESSION}))
        await self._pipe.command(self, number, {"method": method, "params": params, "sessionId": session or self.root})

    async def receive(self) -> bytes | None:
        self._give_back()
        while not self._messages:
            if self._is_behind:
                raise ConnectionAbortedError(
                    f"more than {MOST_UNREAD >> 20} MB of messages were not read, or {MOST_UNREAD_TOGETHER >> 20} MB"
                    " by all clients together"
                )
            if not self._is_open:
                return None
            self._changed.clear()
            await self._changed.wait()
        message = self._messages.popleft()
        self._taken = len(message)
        self._unread -= self._taken
        return message

    def close(self) -> None:
        self._give_back()
        self._leave()

    def _leave(self) -> None:
        # Also when it was cut off: its page may close before it has read everything.
        self._messages.clear()
        self._backlog.size -= self._unread
        self._unread = 0
        if self._is_open:
            self.cut_off()
            self._pipe.leave(self)

    def _give_back(self) -> None:
        self._backlog.size -= self._taken
        self._taken = 0

    def deliver(self, message: bytes) -> None:
        """A message of the browser for it."""
        if not self._is_open:
            return
        is_behind = self._messages and self._unread + len(message) > MOST_UNREAD
        held = self._backlog.size
        if is_behind or (held and held + len(message) > MOST_UNREAD_TOGETHER):
            self._is_behind = True
            return self._leave()
        self._messages.append(message)
        self._unread += len(message)
        self._backlog.size += len(message)
        self._changed.set()

    def cut_off(self) -> None:
        """There will be no more messages."""
        self._is_open = False
        self._changed.set()


# Not a part of playwright's transport, as this would depend on its inner parts; the price is a copy of each message.
class DevToolsPipe:
    """The pipe to one Chromium."""

    def __init__(self) -> None:
        self._is_open = True
        self._sessions: dict[str, BrowserConnection] = {}
        self._waiting: dict[int, _Waiting] = {}
        self._ids = count()
        self._control = ""
        """Our own session with the browser, in which clients are attached."""
        self._attaching = asyncio.Lock()
        self._newcomer: BrowserConnection | None = None
        """Whose first session is being opened."""
        self._to_chromium, self._to_playwright = _Writer(), _Writer()
        self._from_chromium = _Reader(self._said, self.close)
        self._from_playwright = _Reader(self._asked, self.close)

    async def begin(self, descriptors: Sequence[int]) -> None:
        """Take over the descriptors that `pipe_handover` sends: playwright's commands, and where they are answered;
        Chromium's pipe for commands, and the one in which it answers.
        """
        asked, answers, to_chromium, from_chromium = descriptors
        loop = asyncio.get_running_loop()
        for pipe in (to_chromium, from_chromium):
            with suppress(OSError):  # the system has no such call, or this user has many large pipes
                fcntl.fcntl(pipe, _F_SETPIPE_SZ, _PIPE_BYTES)
        # What one side does not take waits in the other process, and not in the memory of the worker.
        self._to_chromium.holds_up, self._to_playwright.holds_up = self._from_playwright, self._from_chromium
        await loop.connect_write_pipe(lambda: self._to_chromium, os.fdopen(to_chromium, "wb", buffering=0))
        await loop.connect_write_pipe(lambda: self._to_playwright, os.fdopen(answers, "wb", buffering=0))
        await loop.connect_read_pipe(lambda: self._from_chromium, os.fdopen(from_chromium, "rb", buffering=0))
        attached = await self._call("Target.attachToBrowserTarget", {})
        self._control = attached.get("result", {}).get("sessionId", "")
        # Only now: all that the browser has said so far is about our own session.
        await loop.connect_read_pipe(lambda: self._from_playwright, os.fdopen(asked, "rb", buffering=0))

    async def connect(self, target: str, backlog: Backlog) -> BrowserConnection:
        """A new client.

        Args:
            target: Id of the page that it is a connection to; "" = to the browser.
            backlog: Of the client's process.
        Raises:
            ConnectionError: The browser is gone, or has no such target.
        """
        client = BrowserConnection(self, backlog)
        attaching = asyncio.ensure_future(self._attach(client, target))
        try:
            # Attached in any case: a session that opens after its client has gone would be nobody's to close.
            answer = await asyncio.shield(attaching)
        except asyncio.CancelledError:
            attaching.add_done_callback(lambda _: client.close())
            raise
        if not client.root:
            raise ConnectionRefusedError(answer.get("error", {}).get("message", "the browser is gone"))
        return client

    def belongs(self, session: str, client: BrowserConnection) -> bool:
        return self._sessions.get(session) is client

    async def command(self, client: BrowserConnection, number: int, message: JsonObject) -> None:
        """Pass on a command of a client."""
        self._ask(_Waiting(client, number, message["sessionId"]), message)
        await self._to_chromium.drained()

    def leave(self, client: BrowserConnection) -> None:
        """A client goes, with its sessions; until Chromium has ended them, what it says in them is for nobody."""

        def gone(_: JsonObject) -> None:
            self._forget({session for session, owner in self._sessions.items() if owner is client})

        if self._is_open and client.root:
            ended: JsonObject = {"method": "Target.detachFromTarget", "params": {"sessionId": client.root}}
            self._ask(_Waiting(gone), ended | {"sessionId": self._control})

    async def _attach(self, client: BrowserConnection, target: str) -> JsonObject:
        async with self._attaching:
            self._newcomer = client
            try:
                if target:
                    return await self._call("Target.attachToTarget", {"targetId": target, "flatten": True})
                return await self._call("Target.attachToBrowserTarget", {})
            finally:
                self._newcomer = None

    async def _call(self, method: str, params: JsonObject) -> JsonObject:
        """The answer to a command of our own; {} = the browser is gone."""
        if not self._is_open:
            return {}
        answered: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()

        def answer(found: JsonObject) -> None:
            if not answered.done():
                answered.set_result(found)

        session = {"sessionId": self._control} if self._control else {}
        self._ask(_Waiting(answer), {"method": method, "params": params, **session})
        return await answered

    def _ask(self, waiting: "_Waiting", message: JsonObject) -> None:
        number = _FIRST_ID + next(self._ids) % (_LAST_ID - _FIRST_ID)
        self._waiting[number] = waiting
        self._to_chromium.write(dumps({"id": number} | message) + b"\0")

    def _asked(self, messages: list[bytes]) -> None:
        """Playwright has."""
        self._to_chromium.write(b"\0".join([*messages, b""]))

    def _said(self, messages: list[bytes]) -> None:
        """Chromium has."""
        if passed := [message for message in messages if not self._is_taken(message)]:
            self._to_playwright.write(b"\0".join([*passed, b""]))

    def _is_taken(self, message: bytes) -> bool:
        """Whether it is for a client, or for ourselves, and has gone there."""
        if (head := _HEAD.match(message)) is None:
            return False
        if head[1] is not None:
            return self._is_answered(int(head[1]), message, head.end(1))
        tail = _session_of(message)
        session = "" if tail is None else tail[1].decode()
        if head[2] in (_BEGUN, _ENDED):
            self._note(head[2], session, head[3].decode())
        if session == self._control:  # as long as there is none, nothing is said to playwright
            return True
        if (client := self._sessions.get(session)) is None:
            return False
        client.deliver(_without(tail, message, client))
        return True

    def _is_answered(self, number: int, message: bytes, end: int) -> bool:
        if number < _FIRST_ID:
            return False
        if (waiting := self._waiting.pop(number, None)) is None:
            return True
        if isinstance(waiting.asker, BrowserConnection):
            rest = _without(_session_of(message), message, waiting.asker)[end:]
            waiting.asker.deliver(b'{"id":%d%b' % (waiting.number, rest))
        else:
            waiting.asker(loads(message))
        return True

    def _note(self, event: bytes, parent: str, session: str) -> None:
        """A session was opened in another one, or has ended there."""
        if event == _BEGUN:
            owner = self._newcomer if parent == self._control else self._sessions.get(parent)
            if owner is not None:
                self._sessions[session] = owner
                owner.root = owner.root or session
        elif (owner := self._sessions.get(session)) is not None:
            self._forget({session})
            if session == owner.root:
                owner.cut_off()

    def _forget(self, sessions: set[str]) -> None:
        """They have ended: nothing is said in them any more."""
        for session in sessions:
            self._sessions.pop(session, None)
        for number in [number for number, one in self._waiting.items() if one.session in sessions]:
            del self._waiting[number]

    def close(self) -> None:
        """Also called when Chromium or playwright hangs up: the other one hears that, and all clients."""
        if not self._is_open:
            return
        self._is_open = False
        for client in {*self._sessions.values()}:
            client.cut_off()
        waiting, self._waiting = self._waiting, {}
        for one in waiting.values():
            if not isinstance(one.asker, BrowserConnection):
                one.asker({})
        for end in (self._to_chromium, self._to_playwright, self._from_chromium, self._from_playwright):
            end.close()


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Who waits for an answer."""

    asker: BrowserConnection | Callable[[JsonObject], None]
    number: int = 0
    """The id under which a client does."""
    session: str = ""


def _session_of(message: bytes) -> re.Match[bytes] | None:
    return _SESSION.search(message, max(0, len(message) - _END))


def _without(tail: re.Match[bytes] | None, message: bytes, client: BrowserConnection) -> bytes:
    """The message as in a separate connection: without the session that stands for the connection."""
    if tail is None or tail[1].decode() != client.root:
        return message
    return message[: tail.start()] + b"}"


class _Writer(asyncio.Protocol):
    """An end that is written to."""

    def __init__(self) -> None:
        self.holds_up: _Reader | None = None
        """What is not read on while this end takes nothing."""
        self._transport: asyncio.WriteTransport | None = None
        self._is_free = asyncio.Event()
        self._is_free.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    async def drained(self) -> None:
        await self._is_free.wait()

    def pause_writing(self) -> None:
        self._is_free.clear()
        if self.holds_up is not None:
            self.holds_up.pause()

    def resume_writing(self) -> None:
        self._is_free.set()
        if self.holds_up is not None:
            self.holds_up.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_free.set()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class _Reader(asyncio.Protocol):
    """An end that is read from: messages, each ended by a zero byte."""

    def __init__(self, take: Callable[[list[bytes]], None], gone: Callable[[], None]) -> None:
        self._take = take
        self._gone = gone
        self._parts: list[bytes] = []
        """Of the message that is still to end."""
        self._size = 0
        self._transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        first, *further = data.split(b"\0")
        self._add(first)
        if further:
            *whole, rest = [self._ended(), *further]
            self._add(rest)
            self._take([message for message in whole if message])

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)
        if self._size > MOST_BYTES:  # from here on, only both ends are kept
            held = b"".join(self._parts)
            self._parts = [held[:_END], held[-_END:]]

    def _ended(self) -> bytes:
        parts, size = self._parts, self._size
        self._parts, self._size = [], 0
        return b"".join(parts) if size <= MOST_BYTES else _too_long(*parts)

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


def _too_long(begin: bytes, end: bytes) -> bytes:
    """What takes the place of a message that is too long; b"" = nothing does."""
    head, tail = _HEAD.match(begin), _SESSION.search(end)
    if head is None or head[1] is None:
        return b""
    why = b"the answer has more than %d MB" % (MOST_BYTES >> 20)
    session = tail[0] if tail is not None else b"}"
    return b'{"id":%b,"error":{"code":-32000,"message":"%b"}%b' % (head[1], why, session)
