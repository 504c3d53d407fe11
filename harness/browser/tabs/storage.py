"""What a context keeps between pages, cookies and local storage, followed so that a checkpoint costs next to nothing.

Local storage is mirrored from DevTools events; asking for it would mean opening hidden pages. A page that writes
without end is not listened to any more: its tab is asked for what it holds (`Feed`). A checkpoint is canonical: another
lane can begin with it. Session storage and databases are not in it. It holds cookies, so it is a secret.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from playwright.async_api import BrowserContext, CDPSession, Cookie, Error, StorageState

from harness.browser.driver.cdp_receive import fast_listener
from harness.browser.network.addresses import Addresses
from harness.browser.text_limits import MAX_STORAGE_CHARS
from harness.codec import dumps, loads
from harness.errors import EnvironmentDiverged

Items = dict[str, dict[str, str]]
_EVENTS = ("domStorageItemAdded", "domStorageItemUpdated", "domStorageItemRemoved", "domStorageItemsCleared")
_MOST_EVENTS = 2_000
"""Between two looks; a tab that writes more, or more characters, is not listened to any more."""
_MOST_CHARACTERS = 8_000_000
_PARTIAL = "partial"
"""Key of a checkpoint that does not hold all there was."""


class Storage:
    """The mirror of one context."""

    def __init__(self, context: BrowserContext, addresses: Addresses, *, initial: Mapping[str, Any] | None) -> None:
        """`initial`: the state the context began with, in playwright's shape, real addresses."""
        self._context = context
        self._addresses = addresses
        self._items: Items = {
            origin["origin"]: {item["name"]: item["value"] for item in origin.get("localStorage", [])}
            for origin in (initial or {}).get("origins", [])
        }
        self._cookies: list[Cookie] = []
        self._last: bytes | None = None

    async def refresh(self) -> None:
        """Ask for the cookies there are now."""
        self._cookies = await self._context.cookies()

    def checkpoint(self) -> bytes | None:
        """The canonical state as JSON, when it is another than the last time; expiry dates alone do not count."""
        cookies = sorted(
            ({**cookie, "domain": self._addresses.host_to_canonical(cookie["domain"])} for cookie in self._cookies),
            key=lambda cookie: (cookie["domain"], cookie["path"], cookie["name"]),
        )
        # An episode whose storage does not fit is begun again, and never continued with a part of it.
        kept, whole = self._kept()
        origins = [
            {
                "origin": self._addresses.to_canonical(origin),
                "localStorage": [{"name": name, "value": items[name]} for name in sorted(items)],
            }
            for origin, items in sorted(kept.items())
            if items
        ]
        essence = dumps([[{**cookie, "expires": None} for cookie in cookies], origins])
        if essence == self._last:
            return None
        self._last = essence
        return dumps({"cookies": cookies, "origins": origins, **({} if whole else {_PARTIAL: True})})

    def _kept(self) -> tuple[Items, bool]:
        """What fits into a checkpoint, and whether that is all."""
        left, kept = MAX_STORAGE_CHARS, Items()
        for origin, items in self._items.items():
            left -= sum(len(name) + len(value) for name, value in items.items())
            if left >= 0:
                kept[origin] = items
        return kept, left >= 0

    def hold(self, origin: str, items: Mapping[str, str]) -> None:
        """Take note of all that an origin holds."""
        self._items[origin] = dict(items)

    def event(self, name: str, event: Mapping[str, Any]) -> None:
        """Take note of a DOMStorage event."""
        place = event["storageId"]
        if not place["isLocalStorage"]:
            return
        items = self._items.setdefault(_origin(place), {})
        if name == "domStorageItemsCleared":
            items.clear()
        elif name == "domStorageItemRemoved":
            items.pop(event["key"], None)
        else:
            items[event["key"]] = event["newValue"]


class Feed:
    """What the pages of one tab store: heard event by event, and asked for once they write without end."""

    def __init__(self, cdp: CDPSession, storage: Storage) -> None:
        self._cdp = cdp
        self._storage = storage
        self._events = self._characters = 0
        """Since the last `refresh`."""
        self._muting: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        # Asked for at each look, it would lack what a page stores and then leaves within one step.
        for name in _EVENTS:
            self._cdp.on(f"DOMStorage.{name}", fast_listener(partial(self._hear, name)))
        await self._cdp.send("DOMStorage.enable")

    async def refresh(self) -> None:
        """Ask what the tab's origins hold now, where it is not listened to any more.

        Raises:
            playwright.async_api.Error: The page went elsewhere, or is gone.
        """
        self._events = self._characters = 0
        if self._muting is None:
            return
        await self._muting
        trees = [(await self._cdp.send("Page.getFrameTree"))["frameTree"]]
        origins = set[str]()
        while trees:
            tree = trees.pop()
            origins.add(tree["frame"]["securityOrigin"])
            trees.extend(tree.get("childFrames", ()))
        for origin in origins:
            await self._ask(origin)

    async def _ask(self, origin: str) -> None:
        place = {"securityOrigin": origin, "isLocalStorage": True}
        with suppress(Error):  # it has no storage, or is of another process; if the page is gone, others say so
            answer = await self._cdp.send("DOMStorage.getDOMStorageItems", {"storageId": place})
            self._storage.hold(origin, dict(answer["entries"]))

    def _hear(self, name: str, event: Mapping[str, Any]) -> None:
        if self._muting is not None:
            return
        self._events += 1
        self._characters += len(event.get("newValue", "")) + len(event.get("oldValue", ""))
        self._storage.event(name, event)
        # A page sent events faster than they were read: they took 4.8 GB in driver and worker.
        if self._events > _MOST_EVENTS or self._characters > _MOST_CHARACTERS:
            self._muting = asyncio.create_task(self._mute())

    async def _mute(self) -> None:
        with suppress(Error):
            await self._cdp.send("DOMStorage.disable")


def real_state(checkpoint: bytes, addresses: Addresses) -> StorageState:
    """A checkpoint in playwright's shape, for the deployment of these addresses.

    Raises:
        EnvironmentDiverged: It does not hold all there was.
    """
    state = loads(checkpoint)
    if state.get(_PARTIAL):
        raise EnvironmentDiverged("the pages had stored more than a checkpoint holds")
    for cookie in state["cookies"]:
        cookie["domain"] = addresses.host_to_real(cookie["domain"])
    for origin in state["origins"]:
        origin["origin"] = addresses.to_real(origin["origin"])
    return {"cookies": state["cookies"], "origins": state["origins"]}


def _origin(place: Mapping[str, Any]) -> str:
    return str(place.get("securityOrigin") or place.get("storageKey", "").split("^")[0]).rstrip("/")
