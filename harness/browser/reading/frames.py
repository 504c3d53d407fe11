"""The documents of a page put together: each frame's tree hangs below the element that holds it.

A frame of the page's own process is read through the page's session, one of another process through its own. Rectangles
are those of the page's viewport; what the edge of a frame hides has none. A frame that is turned or scaled is taken for
an upright one in the same place.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from playwright.async_api import CDPSession, Error, Frame, Page

from harness.actions import Box
from harness.browser.ax_node import AXNode
from harness.browser.driver.cdp_send import sender
from harness.browser.reading.document_client import DocumentClient, together
from harness.browser.reading.document_snapshot import read_document

_DEEPEST = 8


class FrameDocument(NamedTuple):
    frame: str
    loader: str
    """Chromium's name for the document."""


class ReadHints(NamedTuple):
    """What is known of a page before it is read; nothing, unless a caller says so."""

    held: FrameDocument | None = None
    elements: int = 0
    """0 = not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    loader: str
    """Tells documents apart for ever, as node ids do not: another process gives the same ones."""
    session: CDPSession
    """Knows the document's nodes."""
    world: int = 0
    """Execution context of our world in it; 0 = not known yet."""
    corner: tuple[float, float] = (0.0, 0.0)
    """Where its client coordinates begin, in those of the page."""
    view: Box | None = None
    """What of it can be seen, in the page's coordinates; None = as much as the viewport holds."""
    holder: "Document | None" = None
    """The document whose frame it is in; None = it is the page's own."""
    owner: int = 0
    """backendDOMNodeId of that frame's element."""


@dataclass(slots=True, kw_only=True)
class PageSnapshot:
    """A page's documents as one tree, its root first; ids of nodes in frames are `FRAME.ID`."""

    title: str | None = ""
    """None = it was not looked for."""
    nodes: list[AXNode] = field(default_factory=list)
    rects: dict[str, Box] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    """Documents by frame; "" is the page's own document."""
    torn: list[str] = field(default_factory=list)
    """Frames whose document changed while it was read."""

    def document_of(self, node: AXNode) -> Document:
        return self.documents[node["nodeId"].rpartition(".")[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The position of a document in its page."""

    document: Document
    owner: AXNode | None = None
    """The node that holds it."""
    view: Box
    """What of it can be seen, in the page's coordinates."""
    depth: int = 0


class Collector:
    """Reads pages, and remembers the sessions of frames of other processes."""

    def __init__(self, *, as_webarena: bool) -> None:
        """`as_webarena`: frames are not looked into, and a checkbox has its own place, not that of its label."""
        self._as_webarena = as_webarena
        self._enabled: WeakSet[CDPSession] = WeakSet()
        self._sessions: dict[str, tuple[Frame, CDPSession]] = {}
        """Of frames of other processes that are open, by frame id."""
        self._ready: WeakKeyDictionary[CDPSession, tuple[FrameDocument, DocumentClient]] = WeakKeyDictionary()
        """By session, what was made ready to read what its outermost frame holds."""

    async def prepare(self, cdp: CDPSession, held: FrameDocument) -> None:
        """Make ready to read a document, while it still settles."""
        with suppress(Error):  # it is going elsewhere, which the next read shows
            await self._prepared(cdp, held)

    async def collect(self, page: Page, cdp: CDPSession, view: Box, *, hints: ReadHints) -> PageSnapshot:
        """Read a page.

        Args:
            view: What counts as in view, in client coordinates.

        Raises:
            playwright.async_api.Error: The page went elsewhere, or is gone.
        """
        held = hints.held or next(FrameDocument(*pair) for pair in (await self._loaders(cdp)).items())
        ask = await self._prepared(cdp, held)
        collected = PageSnapshot()
        place = _Place(document=Document(loader=held.loader, session=cdp), view=view)
        try:
            await self._read(page, collected, place, ask, elements=hints.elements)
        except Error:
            # What was prepared may be what failed: the next reading prepares anew.
            self._ready.pop(cdp, None)
            raise
        return collected

    async def _prepared(self, cdp: CDPSession, held: FrameDocument) -> DocumentClient:
        ready = self._ready.get(cdp)
        if ready is None or ready[0] != held:
            _, client = await together(self._enable(cdp), self._client(cdp, held.frame))
            ready = self._ready[cdp] = held, client
        return ready[1]

    async def _read(
        self, page: Page, collected: PageSnapshot, place: _Place, ask: DocumentClient, *, elements: int = 0
    ) -> None:
        place = replace(place, document=replace(place.document, world=ask.world))
        x, y = place.document.corner
        reading = await read_document(ask, view=_moved(place.view, -x, -y), elements=elements)
        frame = str(len(collected.documents)) if place.owner else ""
        collected.documents[frame] = place.document
        collected.title = collected.title if frame else reading.title
        if reading.changed:
            collected.torn.append(frame)
        nodes = [_renamed(node, frame) for node in reading.nodes] if frame else list(reading.nodes)
        collected.nodes.extend(nodes)
        collected.rects.update({_key(key, frame): _moved(box, x, y) for key, box in reading.rects.items()})
        if place.owner is not None:
            place.owner["childIds"] = [nodes[0]["nodeId"]]
        if self._as_webarena or place.depth == _DEEPEST:
            return
        owners = {node["nodeId"]: node for node in nodes}
        for inner in reading.frames:
            box = _moved(inner.box, x, y)
            view = _common(box, place.view)
            if view is not None:
                owner = owners[_key(inner.owner, frame)]
                await self._read_inner(page, collected, _Inner(inner.id, owner, box, view), place)

    async def _read_inner(self, page: Page, collected: PageSnapshot, inner: "_Inner", holder: _Place) -> None:
        try:
            document = await self._document(page, holder.document.session, inner.frame_id)
            place = _Place(
                document=replace(
                    document,
                    corner=inner.box[:2],
                    view=inner.view,
                    holder=holder.document,
                    owner=inner.owner.get("backendDOMNodeId", 0),
                ),
                owner=inner.owner,
                view=inner.view,
                depth=holder.depth + 1,
            )
            ask = await self._client(place.document.session, inner.frame_id)
            await self._read(page, collected, place, ask)
            await ask.forget()
        except Error:
            # The frame navigated; if its page is gone, the next call says so.
            collected.torn.append(inner.frame_id)

    async def _client(self, session: CDPSession, frame_id: str) -> DocumentClient:
        return await DocumentClient.about(session, frame_id, as_webarena=self._as_webarena)

    async def _document(self, page: Page, holder: CDPSession, frame_id: str) -> Document:
        loaders = await self._loaders(holder)
        if frame_id not in loaders:
            holder = await self._session(page, frame_id)
            loaders = await self._loaders(holder)
        return Document(loader=loaders[frame_id], session=holder)

    async def _session(self, page: Page, frame_id: str) -> CDPSession:
        """The session of a frame of another process."""
        known = {frame for frame, _ in self._sessions.values()}
        for frame in page.frames[1:] if frame_id not in self._sessions else ():
            if frame in known:
                continue
            try:
                session = await page.context.new_cdp_session(frame)
            except Error:
                continue  # it is of the page's own process
            info = await session.send("Target.getTargetInfo")
            found = info["targetInfo"]["targetId"]
            self._sessions[found] = frame, session
            # A frame that goes to its page's process and comes back has the same id, and another session.
            session.on("close", partial(self._forget, found))
        if frame_id not in self._sessions:
            raise Error(f"frame {frame_id} was detached")
        return self._sessions[frame_id][1]

    def _forget(self, frame_id: str, session: CDPSession) -> None:
        if frame_id in self._sessions and self._sessions[frame_id][1] is session:
            del self._sessions[frame_id]

    async def _enable(self, cdp: CDPSession) -> None:
        if cdp not in self._enabled:
            send = sender(cdp)
            await together(
                send("DOM.enable", includeWhitespace="all"),  # `walk.js` counts white space, too
                send("Accessibility.enable"),  # before the page is read: later it would crash
            )
            self._enabled.add(cdp)

    async def _loaders(self, cdp: CDPSession) -> dict[str, str]:
        """Frame id to loader id of the session's frames, the outermost first."""
        await self._enable(cdp)
        loaders: dict[str, str] = {}
        trees = [(await sender(cdp)("Page.getFrameTree"))["frameTree"]]
        while trees:
            tree = trees.pop()
            loaders[tree["frame"]["id"]] = tree["frame"]["loaderId"]
            trees.extend(tree.get("childFrames", ()))
        return loaders


class _Inner(NamedTuple):
    """A frame to be read, in the page's coordinates."""

    frame_id: str
    owner: AXNode
    box: Box
    view: Box


def _key(key: str, frame: str) -> str:
    return f"{frame}.{key}" if frame else key


def _renamed(node: AXNode, frame: str) -> AXNode:
    return {
        **node,
        "nodeId": _key(node["nodeId"], frame),
        "childIds": [_key(key, frame) for key in node["childIds"]],
    }


def _moved(box: Box, x: float, y: float) -> Box:
    return (box[0] + x, box[1] + y, box[2], box[3])


def _common(one: Box, other: Box) -> Box | None:
    """The part two rectangles share."""
    left, top = max(one[0], other[0]), max(one[1], other[1])
    right = min(one[0] + one[2], other[0] + other[2])
    bottom = min(one[1] + one[3], other[1] + other[3])
    return (left, top, right - left, bottom - top) if right > left and bottom > top else None
