"""What the relay asks the browser about a command of its client, in the client's own session: handles mean nothing
elsewhere.
"""

import asyncio

from harness.plugins.process_agent.cdp.scripts import handles
from harness.plugins.process_agent.cdp.upstream import Upstream
from harness.plugins.process_agent.cdp.wire import CommandFailed, Request

_NAMES_NODE = frozenset({"DOM.focus", "DOM.setFileInputFiles"})
_BY = ("objectId", "backendNodeId", "nodeId")
_ELEMENT = 1
"""Type of a node."""


class Asking:
    """Asks the browser on behalf of one client. It never raises: what the browser does not say is unknown."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def node(self, request: Request) -> int:
        """backendDOMNodeId of the element that a command names; 0 = it names none."""
        if request.method not in _NAMES_NODE:
            return 0
        return await self._element({name: request.params[name] for name in _BY if name in request.params}, request)

    async def written(self, request: Request) -> int:
        """The same of the element that a script is called with; of several, the last."""
        found = await asyncio.gather(*(self._element({"objectId": one}, request) for one in handles(request)))
        return next(filter(None, reversed(found)), 0)

    async def pages(self, request: Request) -> int:
        """How far in its history a command brings a tab: negative = back, 0 = it is not known."""
        if request.method != "Page.navigateToHistoryEntry":
            return 0
        try:
            history = await self._upstream.call("Page.getNavigationHistory", {}, session=request.session)
        except CommandFailed:
            return 0
        wanted = request.params.get("entryId")
        at = next((at for at, entry in enumerate(history["entries"]) if entry["id"] == wanted), None)
        return 0 if at is None else at - int(history["currentIndex"])

    async def _element(self, which: dict[str, object], request: Request) -> int:
        try:
            found = await self._upstream.call("DOM.describeNode", which, session=request.session)
        except CommandFailed:
            return 0
        node = found["node"]
        return int(node["backendNodeId"]) if node["nodeType"] == _ELEMENT else 0
