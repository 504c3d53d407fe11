"""The commands and events about targets, for the targets of one episode.

Chromium attaches a client to the targets of all contexts at once, so the relay attaches it to each of its own. A page
that opens is therefore not held up until the client is ready for it, as `waitForDebuggerOnStart` asks.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from harness.api import JsonObject
from harness.api.agent_kinds import SharedBrowser
from harness.plugins.process_agent.cdp import wire
from harness.plugins.process_agent.cdp.targets import Filter, Targets, filter_of, fits
from harness.plugins.process_agent.cdp.upstream import Upstream
from harness.plugins.process_agent.cdp.wire import CommandFailed, NotAllowed, Request

EVERYTHING: JsonObject = {"discover": True, "filter": [{}]}
_CREATED_WITH = ("url", "width", "height", "newWindow", "background", "forTab", "focus", "left", "top", "windowState")
_NOT_FOUND = "No target with given id found"
_FIRST_COMMANDS = 4
"""Of a new session: after each of them the client gets the changes since it was attached once more."""


@dataclass(slots=True)
class _NewSession:
    """A session in which the client has sent few commands."""

    info: JsonObject
    """Info of its target when it was attached."""
    commands: int = 0


class TargetCommands:
    """Answers the commands of one client about targets."""

    def __init__(self, upstream: Upstream, targets: Targets, browser: SharedBrowser, *, is_page: bool) -> None:
        self._upstream = upstream
        self._targets = targets
        self._browser = browser
        self._is_page = is_page
        self._discovering: Filter | None = None
        self._attaching_to: Filter | None = None
        self._attached: dict[str, asyncio.Task[None]] = {}
        """Targets that the client is, or is being, attached to automatically."""
        self._new: dict[str, _NewSession] = {}

    async def answer(  # noqa: PLR0911 (one case per command)
        self, request: Request
    ) -> list[bytes] | Request:
        """What the client is sent; or the command to pass on, limited to the episode.

        Raises:
            NotAllowed: It names a target of another episode, or what an episode cannot have.
            CommandFailed: The browser did not perform it.
        """
        params = request.params
        match request.method:
            case "Target.getTargets":
                return [wire.result(request, {"targetInfos": self._targets.listed(filter_of(params))})]
            case "Target.getBrowserContexts":
                return [wire.result(request, {"browserContextIds": [self._browser.context]})]
            case "Target.setDiscoverTargets":
                return self._discover(request)
            case "Target.setAutoAttach":
                return await self._attach_by_itself(request)
            case "Target.createTarget":
                return [wire.result(request, await self._create(params))]
            case "Target.detachFromTarget":
                if (session := wire.text(params, "sessionId")) not in self._targets.sessions:
                    raise NotAllowed("No session with given id", code=wire.NO_SESSION)
                return Request(request.id, request.method, {"sessionId": session}, request.session)
        return self._of_one(request)

    async def hear(self, event: JsonObject, raw: bytes) -> bytes | None:
        """What the client is sent for an event of the browser; None = nothing."""
        params, session = event.get("params", {}), event.get("sessionId", "")
        match event["method"]:
            case "Target.attachedToTarget":
                info = params["targetInfo"]
                if not session and not self._targets.is_ours(info):
                    return None
                self._targets.attached(params["sessionId"], info, session)
                if not session:
                    self._new[params["sessionId"]] = _NewSession(info)
                return raw
            case "Target.detachedFromTarget":
                self._new.pop(params["sessionId"], None)
                return raw if self._targets.detached(params["sessionId"]) else None
            case "Target.targetCreated" | "Target.targetInfoChanged":
                return self._changed(event["method"], params["targetInfo"], raw)
            case "Target.targetDestroyed" | "Target.targetCrashed":
                return self._gone(event["method"], params["targetId"], raw)
        return raw if session else None

    def repeated_event(self, session: str) -> bytes | None:
        """The event to repeat after a command in a session: one that came before the client was ready for it."""
        if (new := self._new.get(session)) is None:
            return None
        new.commands += 1
        if new.commands == _FIRST_COMMANDS:
            del self._new[session]
        target = new.info["targetId"]
        if self._discovering is None or not self._targets.knows(target) or self._targets.info(target) == new.info:
            return None
        return wire.event("Target.targetInfoChanged", {"targetInfo": self._targets.info(target)})

    def end(self) -> None:
        """Nothing is attached to any more."""
        for task in self._attached.values():
            task.cancel()

    def _of_one(self, request: Request) -> Request:
        """A command about one target, which may be that of the session."""
        target = request.params.get("targetId")
        if target is None and (request.session or self._is_page or request.method == "Target.getTargetInfo"):
            return request
        if not self._targets.knows(target):
            raise NotAllowed(_NOT_FOUND)
        if request.method == "Target.attachToTarget":
            return Request(request.id, request.method, {"targetId": target, "flatten": True}, request.session)
        return Request(request.id, request.method, {"targetId": target}, request.session)

    def _discover(self, request: Request) -> list[bytes]:
        was = self._discovering
        self._discovering = filter_of(request.params) if request.params.get("discover") is True else None
        messages = []
        if was is None and self._discovering is not None:
            known = self._targets.listed(self._discovering)
            messages = [wire.event("Target.targetCreated", {"targetInfo": info}) for info in known]
        return [*messages, wire.result(request, {})]

    async def _attach_by_itself(self, request: Request) -> list[bytes] | Request:
        if request.session or self._is_page:  # frames and workers of one page
            return Request(request.id, request.method, {**request.params, "flatten": True}, request.session)
        if request.params.get("autoAttach") is not True:
            self._attaching_to = None
            return [wire.result(request, {})]
        self._attaching_to = filter_of(request.params)
        for info in self._targets.listed(self._attaching_to):
            await self._attach(info["targetId"])
        return [wire.result(request, {})]

    async def _create(self, params: JsonObject) -> JsonObject:
        given = {name: params[name] for name in _CREATED_WITH if name in params}
        created = await self._upstream.call("Target.createTarget", given | {"browserContextId": self._browser.context})
        target = created["targetId"]
        if self._attaching_to is not None and self._targets.knows(target):
            if fits(self._targets.info(target), self._attaching_to):
                await self._attach(target)  # clients look for it as soon as they have the answer
        return created

    async def _attach(self, target: str) -> None:
        """Attach the client to a target, once."""
        if (task := self._attached.get(target)) is None:
            task = self._attached[target] = asyncio.create_task(self._attached_to(target))
        await asyncio.wait([task])

    async def _attached_to(self, target: str) -> None:
        with suppress(CommandFailed):  # it is gone already
            await self._upstream.call("Target.attachToTarget", {"targetId": target, "flatten": True})

    def _changed(self, method: str, info: JsonObject, raw: bytes) -> bytes | None:
        if not self._targets.is_ours(info):
            return None
        is_new = not self._targets.knows(info["targetId"])
        self._targets.learn(info)
        if is_new and self._attaching_to is not None and fits(info, self._attaching_to):
            target = info["targetId"]
            self._attached.setdefault(target, asyncio.create_task(self._attached_to(target)))
        return raw if self._discovering is not None and fits(info, self._discovering) else None

    def _gone(self, method: str, target: str, raw: bytes) -> bytes | None:
        if not self._targets.knows(target):
            return None
        is_shown = self._discovering is not None and fits(self._targets.info(target), self._discovering)
        if method == "Target.targetDestroyed":
            self._targets.forget(target)
            self._attached.pop(target, None)
        return raw if is_shown else None
