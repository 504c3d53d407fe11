"""What a context keeps between pages, cookies and local storage, followed so that a checkpoint costs next to nothing.

Local storage is mirrored from DevTools events; asking for it would mean opening hidden pages. A checkpoint is canonical:
another lane can begin with it. Session storage and databases are not in it. It holds cookies, so it is a secret.
"""

from collections.abc import Mapping
from typing import Any

from playwright.async_api import BrowserContext

from harness.browser.addresses import Addresses
from harness.codec import dumps, loads

Items = dict[str, dict[str, str]]


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
        self._cookies: list[dict[str, Any]] = []
        self._last: bytes | None = None

    async def refresh(self) -> None:
        """Ask for the cookies there are now."""
        self._cookies = [dict(cookie) for cookie in await self._context.cookies()]

    def checkpoint(self) -> bytes | None:
        """The canonical state as JSON, when it is another than the last time; expiry dates alone do not count."""
        cookies = sorted(
            ({**cookie, "domain": self._addresses.host_to_canonical(cookie["domain"])} for cookie in self._cookies),
            key=lambda cookie: (cookie["domain"], cookie["path"], cookie["name"]),
        )
        origins = [
            {
                "origin": self._addresses.to_canonical(origin),
                "localStorage": [{"name": name, "value": items[name]} for name in sorted(items)],
            }
            for origin, items in sorted(self._items.items())
            if items
        ]
        essence = dumps([[{**cookie, "expires": None} for cookie in cookies], origins])
        if essence == self._last:
            return None
        self._last = essence
        return dumps({"cookies": cookies, "origins": origins})

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


def real_state(checkpoint: bytes, addresses: Addresses) -> dict[str, Any]:
    """A checkpoint in playwright's shape, for the deployment of these addresses."""
    state: dict[str, Any] = loads(checkpoint)
    return {
        "cookies": [{**cookie, "domain": addresses.host_to_real(cookie["domain"])} for cookie in state["cookies"]],
        "origins": [{**origin, "origin": addresses.to_real(origin["origin"])} for origin in state["origins"]],
    }


def _origin(place: Mapping[str, Any]) -> str:
    return str(place.get("securityOrigin") or place.get("storageKey", "").split("^")[0]).rstrip("/")
