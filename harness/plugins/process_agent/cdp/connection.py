"""One client of the relay: its commands, as far as they are allowed, and the browser's answers and events.

Each client has a separate connection to the browser, so that its sessions, and what it has enabled in them, are its
own. Every command is read and written anew: the browser sees nothing that was not understood here. What the browser
says is passed on as it is, but for events and answers about targets.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

from websockets.exceptions import ConnectionClosed

from harness.api import CodecError, JsonObject
from harness.errors import ActionFailed
from harness.plugins.process_agent.cdp import wire
from harness.plugins.process_agent.cdp.asking import Asking
from harness.plugins.process_agent.cdp.boundary import DrivenBrowser
from harness.plugins.process_agent.cdp.bursts import Sent, Ticket
from harness.plugins.process_agent.cdp.client import Client
from harness.plugins.process_agent.cdp.clipboard_commands import grants_clipboard, uses_clipboard
from harness.plugins.process_agent.cdp.command import recorded
from harness.plugins.process_agent.cdp.input_events import SCRIPT, read_event
from harness.plugins.process_agent.cdp.rules import Treatment, is_harmless, treatment
from harness.plugins.process_agent.cdp.scripts import clicks, disturbs
from harness.plugins.process_agent.cdp.target_commands import EVERYTHING, TargetCommands
from harness.plugins.process_agent.cdp.targets import Session, TabNumbers, Targets
from harness.plugins.process_agent.cdp.upstream import Upstream
from harness.plugins.process_agent.cdp.wire import CommandFailed, NotAllowed, Request
from harness.plugins.process_agent.events import SessionOver
from harness.plugins.process_agent.intake import Overload

MOST_QUEUED = 64 << 20
"""Bytes of commands that wait for their turn; a client that has sent more is not read on."""
_MOST_HANDLES = 1000
_ANSWERS_WITHIN_S = 5.0
_RUNS_WITHIN_S = 2.0
"""A script that writes: it is not waited for any longer."""
_SHOWN = 200
_OF_OUR_CONTEXT = frozenset({"Storage.setCookies", "Storage.clearCookies"})
_NAVIGATE = frozenset({"Page.navigate", "Target.createTarget"})
_OF_A_TARGET = frozenset({"Target.activateTarget", "Target.closeTarget"})
_AT_ONCE = frozenset({Treatment.RELEASE, Treatment.REPLY})


class Connection:
    """The connection of one client."""

    def __init__(
        self,
        client: Client,
        upstream: Upstream,
        driven: DrivenBrowser,
        numbers: TabNumbers,
        *,
        page: str = "",
    ) -> None:
        """
        Args:
            page: Target id of the page that it is a connection to; "" = to the browser.
        """
        self._client = client
        self._upstream = upstream
        self._driven = driven
        self._targets = Targets(driven.browser.context, numbers)
        self._target_commands = TargetCommands(upstream, self._targets, driven.browser, is_page=bool(page))
        self._is_page = bool(page)
        if page:
            self._targets.sessions[""] = Session(page, numbers.name(page, "page"))
        self._waiting: deque[tuple[Request, int]] = deque()
        self._queued = 0
        self._changed = asyncio.Event()
        self._asking = Asking(upstream)
        self._running: set[asyncio.Task[Any]] = set()
        """Scripts that the relay has sent for the client, and their answers."""
        self._handles: set[tuple[str, str]] = set()
        """Session and name of the streams that this client was given."""

    async def run(self) -> None:
        """Until the client, or the browser, is gone."""
        listening = asyncio.create_task(self._upstream.listen(self))
        tasks = [listening]
        try:
            if not self._is_page:
                await self._upstream.call("Target.setDiscoverTargets", EVERYTHING)
            tasks += [asyncio.create_task(self._read()), asyncio.create_task(self._work())]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except (ConnectionClosed, CommandFailed):
            pass
        except Overload as error:
            self._driven.refuse(str(error))
            self._client.fail(error)
        finally:
            self._target_commands.end()
            tasks += self._running
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def pass_on(self, raw: bytes) -> None:
        await self._client.send(raw, text=True)

    async def hear(self, event: JsonObject, raw: bytes) -> None:
        if (passed := await self._target_commands.hear(event, raw)) is not None:
            await self._client.send(passed, text=True)

    async def _read(self) -> None:
        """Take commands in; what a page may wait for does not wait behind others."""
        while True:
            await self._take()
            while self._queued > MOST_QUEUED:
                self._changed.clear()
                await self._changed.wait()

    async def _take(self) -> None:
        """Take one command in, which is not held while the next is waited for."""
        raw = await self._client.recv(decode=False)
        size = self._client.received(raw)
        try:
            request = wire.read(raw)
        except NotAllowed as error:
            self._driven.refuse(f"{error}")
            await self.pass_on(wire.failure(str(error), code=error.code))
            return self._client.done(size)
        kind = treatment(request.method, page=self._is_of_page(request))
        if kind in _AT_ONCE and request.session in self._targets.sessions:
            await self._perform(request)
            return self._client.done(size)
        self._waiting.append((request, size))
        self._queued += size
        self._changed.set()

    async def _work(self) -> None:
        """Perform commands, one after the other."""
        while True:
            while not self._waiting:
                self._changed.clear()
                await self._changed.wait()
            await self._perform_next()

    async def _perform_next(self) -> None:
        request, size = self._waiting.popleft()
        await self._perform(request)
        self._queued -= size
        self._client.done(size)
        self._changed.set()

    async def _perform(self, request: Request) -> None:
        try:
            await self._treat(request)
            if request.session and (repeated := self._target_commands.repeated_event(request.session)) is not None:
                await self.pass_on(repeated)
        except (NotAllowed, ActionFailed, CodecError) as error:
            if request.session or not is_harmless(request.method):
                self._driven.refuse(f"{request.method[:_SHOWN]}: {str(error)[:_SHOWN]}")
            code = error.code if isinstance(error, NotAllowed) else wire.SERVER_ERROR
            await self.pass_on(wire.failure(str(error), code=code, request=request))
        except (CommandFailed, SessionOver) as error:
            await self.pass_on(wire.failure(str(error), code=wire.SERVER_ERROR, request=request))

    async def _treat(self, request: Request) -> None:
        """Raises: NotAllowed, ActionFailed, CodecError: It is refused; SessionOver, CommandFailed: It failed."""
        match self._treatment(request):
            case Treatment.KEPT:
                await self.pass_on(wire.result(request, {}))
            case Treatment.CHANGE:
                await self._change(request)
            case Treatment.TARGETS:
                await self._about_targets(request)
            case Treatment.SCRIPT | Treatment.REPLY:
                await self._script(self._allowed(request))
            case Treatment.OURS:
                await self._upstream.send(self._in_our_context(request))
            case Treatment.STREAM:
                await self._upstream.send(request, partial(self._opened, request.session))
            case Treatment.HANDLE if (request.session, wire.text(request.params, "handle")) not in self._handles:
                raise NotAllowed("this client was not given such a stream")
            case _:
                await self._upstream.send(request)

    def _treatment(self, request: Request) -> Treatment:
        """Raises: NotAllowed: It is refused, whatever it says."""
        kind = treatment(request.method, page=self._is_of_page(request))
        if kind is None:
            raise NotAllowed(f"{request.method[:_SHOWN]} is not allowed here")
        if request.session and request.session not in self._targets.sessions:
            raise NotAllowed("Session with given id not found.", code=wire.NO_SESSION)
        if self._upstream.is_waiting(request.id):
            raise NotAllowed(f"the id {request.id} is in use")
        return kind

    async def _about_targets(self, request: Request) -> None:
        if request.method == "Target.createTarget" or request.method in _OF_A_TARGET:
            return await self._change(request)
        found = await self._target_commands.answer(request)
        if isinstance(found, Request):
            return await self._upstream.send(found)
        for message in found:
            await self.pass_on(message)

    async def _change(self, request: Request) -> None:
        """Let a command through that may change something, once it is recorded."""
        request = self._allowed(request)
        sent = await self._as_sent(request)
        ticket = await self._driven.admit(sent)
        with ExitStack() as undo:
            undo.callback(self._driven.landed, ticket, "it was not performed")
            await self._send_change(request, ticket)
            undo.pop_all()

    async def _as_sent(self, request: Request) -> Sent:
        target = self._target_of(request)
        name = self._name_of(request, target)
        command = recorded(request.method, request.params, target=name, canonical=self._driven.canonical)
        node = pages = 0
        if self._driven.has_caught_up:  # else what it does is recorded in words
            node = await self._asking.node(request)
            pages = await self._asking.pages(request)
        event = read_event(request.method, request.params, tab=name, pages=pages)
        return Sent(command=command, event=event, target=target, node=node)

    async def _script(self, request: Request) -> None:
        """Let a script run; one that changes a field is a step, or part of one."""
        node, before = 0, None
        if disturbs(request):
            node = await self._asking.written(request)
            before = await self._driven.disturbing(self._target_of(request), node)
        await self._driven.script()
        if before is None:
            return await self._upstream.send(request)
        running = asyncio.create_task(self._upstream.call(request.method, request.params, session=request.session))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        await asyncio.wait([running], timeout=_RUNS_WITHIN_S)
        if not running.done():  # nothing else waits for it
            late = asyncio.create_task(self._answer(request, running))
            self._running.add(late)
            return late.add_done_callback(self._running.discard)
        name = self._name_of(request, self._target_of(request))
        command = recorded(request.method, request.params, target=name, canonical=self._driven.canonical)
        command = replace(command, text=f"{request.method} in {name}")  # a script may hold a password
        sent = Sent(command=command, event=SCRIPT, target=self._target_of(request), node=node)
        await self._driven.written(sent, before, clicks=clicks(request))
        await self._answer(request, running)

    async def _answer(self, request: Request, running: "asyncio.Task[JsonObject]") -> None:
        """Give the client what a command led to that the relay has sent for it."""
        try:
            await self.pass_on(wire.result(request, await running))
        except CommandFailed as error:
            await self.pass_on(wire.failure(str(error), code=wire.SERVER_ERROR, request=request))

    async def _send_change(self, request: Request, ticket: Ticket) -> None:
        def landed(answer: JsonObject) -> None:
            self._driven.landed(ticket, wire.error_of(answer))

        if request.method == "Target.createTarget":
            async with self._driven.browser.opening_tab():  # else its step might be observed in the tab before
                answers = await self._target_commands.answer(request)
            assert not isinstance(answers, Request)
            landed({})
            for answer in answers:
                await self.pass_on(answer)
        elif uses_clipboard(request):
            with suppress(TimeoutError):  # the page may not answer before the client does
                async with self._driven.browser.clipboard():
                    await self._sent(request, landed)
        else:
            await self._upstream.send(request, landed)

    async def _sent(self, request: Request, landed: Callable[[JsonObject], None]) -> None:
        """Send it, and wait for its answer.

        Raises:
            TimeoutError: It does not come.
        """
        answered = asyncio.Event()

        def then(answer: JsonObject) -> None:
            landed(answer)
            answered.set()

        await self._upstream.send(request, then)
        async with asyncio.timeout(_ANSWERS_WITHIN_S):
            await answered.wait()

    def _allowed(self, request: Request) -> Request:
        """The command as the browser may perform it.

        Raises:
            NotAllowed, ActionFailed: It names an address, a file or a target that it must not.
        """
        params, method = request.params, request.method
        if method in _NAVIGATE or (method == "Fetch.continueRequest" and "url" in params):
            params = params | {"url": self._driven.browser.navigable(str(params.get("url", "")) or "about:blank")}
        elif method in _OF_A_TARGET and not self._targets.knows(params.get("targetId")):
            raise NotAllowed("No target with given id found")
        elif method == "DOM.setFileInputFiles":
            files = params.get("files") or []
            if not isinstance(files, list):
                raise NotAllowed("files must be a list")
            params = params | {"files": [self._driven.browser.upload(PurePath(str(one)).name) for one in files]}
        elif method == "Input.dispatchMouseEvent" and params.get("button") == "middle":
            raise NotAllowed("the middle button pastes what any page has selected; hold Control and click instead")
        elif method == "Input.dispatchDragEvent" and _files_in(params):
            raise NotAllowed("files of the host cannot be dragged into a page")
        elif method in _OF_OUR_CONTEXT:
            params = params | {"browserContextId": self._driven.browser.context}
        return Request(request.id, method, params, request.session)

    def _in_our_context(self, request: Request) -> Request:
        if grants_clipboard(request):
            raise NotAllowed("scripts cannot be given the clipboard, which is the browser's; press keys instead")
        params = request.params | {"browserContextId": self._driven.browser.context}
        return Request(request.id, request.method, params, request.session)

    def _target_of(self, request: Request) -> str:
        """Id of the target that a command is performed in."""
        if request.method in _OF_A_TARGET:
            return str(request.params["targetId"])
        session = self._targets.sessions.get(request.session)
        return session.target if session is not None else ""

    def _name_of(self, request: Request, target: str) -> str:
        """What it is performed in, as it is recorded."""
        if request.method not in _OF_A_TARGET and (session := self._targets.sessions.get(request.session)) is not None:
            return session.name
        return self._targets.name(target) if target else "the browser"

    def _is_of_page(self, request: Request) -> bool:
        """Whether it is sent in the session of a page, a frame or a worker."""
        return self._is_page or bool(request.session)

    def _opened(self, session: str, answer: JsonObject) -> None:
        """Keep the name of a stream that the client is given."""
        stream = answer.get("result", {}).get("stream")
        if isinstance(stream, str) and len(self._handles) < _MOST_HANDLES:
            self._handles.add((session, stream))


def _files_in(params: JsonObject) -> bool:
    data = params.get("data")
    return isinstance(data, dict) and bool(data.get("files"))
