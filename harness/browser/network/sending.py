"""Whether the requests of an action were given to a connection. Bookkeeping on events only.

The name of an error does not tell: Chromium writes a request to a kept connection, the site reads it and ends, and
Chromium repeats the request on a new connection, which is refused. The event with the headers as they were written
does.
Why: docs/decisions/resume.md#an-action-that-was-not-sent-is-not-in-doubt
"""

from playwright.async_api import CDPSession

from harness.browser.driver.cdp_receive import fast_listener
from harness.codec import JsonObject

NO_CONNECTION = frozenset(
    {
        "net::ERR_ADDRESS_INVALID",
        "net::ERR_ADDRESS_UNREACHABLE",
        "net::ERR_CONNECTION_REFUSED",
        "net::ERR_INTERNET_DISCONNECTED",
        "net::ERR_NAME_NOT_RESOLVED",
        "net::ERR_NAME_RESOLUTION_FAILED",
        "net::ERR_PROXY_CONNECTION_FAILED",
    }
)
"""Errors of attempts to connect. Others, as ERR_CONNECTION_RESET, ERR_EMPTY_RESPONSE and all timeouts, also occur after
a request was written.
Source: https://source.chromium.org/chromium/chromium/src/+/main:net/base/net_error_list.h
"""
_HTTP = ("http:", "https:")


class SendingWatch:
    """What the tabs of one context have sent since the current action began."""

    def __init__(self) -> None:
        self._errors: dict[str, str] = {}
        """Id of a request to how it failed; "" = it did not, or not yet."""
        self._written: set[str] = set()
        self._has_spoken = False
        """Whether a page wrote to a WebSocket, which is not a request."""

    async def attach(self, cdp: CDPSession) -> None:
        """Listen to the tab of this session, too."""
        cdp.on("Network.requestWillBeSent", fast_listener(self._begun))
        cdp.on("Network.requestWillBeSentExtraInfo", fast_listener(self._wrote))
        cdp.on("Network.loadingFailed", fast_listener(self._failed))
        cdp.on("Network.webSocketFrameSent", fast_listener(self._spoke))
        # Chromium would keep the bodies of all answers, for somebody to ask for them.
        no_bodies = {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0}
        await cdp.send("Network.enable", no_bodies)

    def action_begins(self) -> None:
        """Forget what was before."""
        self._errors.clear()
        self._written.clear()
        self._has_spoken = False

    def sent_nothing(self, requests: int) -> bool:
        """Whether all requests failed before they were written to a connection, and there were some.

        Args:
            requests: How many the whole context has begun meanwhile; of those of other processes and of tabs that are
                not attached yet nothing is known here.
        """
        if not requests or requests != len(self._errors) or self._has_spoken:
            return False
        return all(error in NO_CONNECTION and id not in self._written for id, error in self._errors.items())

    def _begun(self, event: JsonObject) -> None:
        if event["request"]["url"].startswith(_HTTP):
            self._errors.setdefault(event["requestId"], "")
        # What was redirected was answered, and so had been written to a connection.
        if "redirectResponse" in event:
            self._written.add(event["requestId"])

    def _wrote(self, event: JsonObject) -> None:
        self._written.add(event["requestId"])

    def _failed(self, event: JsonObject) -> None:
        if event["requestId"] in self._errors:
            self._errors[event["requestId"]] = event["errorText"]

    def _spoke(self, _: JsonObject) -> None:
        self._has_spoken = True
