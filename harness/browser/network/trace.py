"""The network trace of an episode as a HAR: the requests of its pages to their sites, for scorers that need them.

It begins after logins and ends before evidence is gathered, so it contains the traffic of neither. It can be stored and
shared: addresses are canonical; of cookies and of headers with credentials only the names are kept; static files,
bodies other than JSON (which no scorer reads) and very large bodies are left out.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import BrowserContext

from harness.browser.network.addresses import Addresses
from harness.codec import JsonObject, dumps, loads
from harness.trees import each_text

WANTED = re.compile(r"^https?://(?![^?#]*\.(?:css|js|png|jpg|jpeg|gif|svg|webp|ico|ttf|woff|woff2)(?:[?#]|$))")
"""Addresses in a trace: all but those of static files."""
HARMLESS = frozenset({"mage-messages", "_osm_directions_engine"})
"""Cookies that do not identify a user, and whose values the tasks of webarena-verified check."""
LARGEST = 1_000_000
"""Characters of a body that is kept."""
GONE = "[redacted]"
_KEPT = ("startedDateTime", "time", "request", "response", "cache", "timings")
_CREDENTIAL = re.compile(r"cookie|auth|token|key|secret", re.IGNORECASE)
"""Part of the name of a header that may carry one; as webarena-verified has it."""


class Trace:
    """One being recorded. The raw one, cookies and all, is in a folder only its owner can read, and not for long."""

    def __init__(self, context: BrowserContext) -> None:
        self.comment = ""
        """A note for readers of the trace; "" = none."""
        self._context = context
        self._folder = TemporaryDirectory(prefix="cairn-", ignore_cleanup_errors=True)
        self._path = Path(self._folder.name, "trace.har")

    @classmethod
    async def begin(cls, context: BrowserContext) -> "Trace":
        """Record from now on."""
        trace = cls(context)
        # Not a HAR of the context: it would hold the login and what evaluators open, with all cookies, on the disk. One
        # for the episode, as on slow sites an answer often comes in a later step than its request.
        await context.tracing.start_har(trace._path, content="embed", url_filter=WANTED)
        return trace

    async def end(self, addresses: Addresses) -> bytes:
        """The trace up to now, fit to be kept, as JSON."""
        await self._context.tracing.stop_har()
        return await asyncio.to_thread(self._read, addresses)

    def forget(self) -> None:
        """Leave nothing of the raw trace; for when the context is closed."""
        self._folder.cleanup()

    def _read(self, addresses: Addresses) -> bytes:
        log = loads(self._path.read_bytes())["log"]
        self.forget()
        entries = [cleaned(entry, addresses.to_canonical) for entry in log["entries"]]
        comment = {"comment": self.comment} if self.comment else {}
        return dumps({"log": {"version": log["version"], "creator": log["creator"], "entries": entries, **comment}})


def cleaned(entry: JsonObject, shown: Callable[[str], str]) -> JsonObject:
    """An entry of a HAR without anything that should not be kept.

    Args:
        shown: Real addresses in a text to canonical ones.
    """
    request, response = dict(entry["request"]), dict(entry["response"])
    for side in (request, response):
        side["headers"] = [_header(header) for header in side["headers"] if "cookie" not in header["name"].lower()]
        side["cookies"] = [_cookie(cookie) for cookie in side["cookies"]]
    content = response["content"]
    is_json = "json" in content.get("mimeType", "") and "encoding" not in content
    if not is_json or len(content.get("text", "")) > LARGEST:
        response["content"] = {key: content[key] for key in ("size", "mimeType") if key in content}
    whole = {**entry, "request": request, "response": response}
    return {key: each_text(whole[key], shown, keys=False) for key in _KEPT if key in whole}


def _header(header: Mapping[str, str]) -> dict[str, str]:
    is_secret = _CREDENTIAL.search(header["name"]) is not None
    return {"name": header["name"], "value": GONE if is_secret else header["value"]}


def _cookie(cookie: JsonObject) -> JsonObject:
    return {**cookie, "value": cookie["value"] if cookie["name"] in HARMLESS else GONE}
