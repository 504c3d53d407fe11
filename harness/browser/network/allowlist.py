"""The addresses that a page, or the agent, may reach.

A context that may reach only its sites is given a proxy at a closed port, with those sites as exceptions: Chromium
itself refuses everything else, and an allowed request costs nothing extra (a route handler would cost a round trip per
request and disable the cache). WebRTC does not use the proxy; a flag of the browser restricts it (`chromium_flags`).
This keeps pages on their lane's deployment; it is no sandbox.
"""

from urllib.parse import urlsplit

from playwright.async_api import ProxySettings

from harness.browser.network.addresses import host_of
from harness.errors import ActionFailed
from harness.records import Site

NOBODY = "http://127.0.0.1:9"
"""The discard port: connections are refused at once."""
BLOCKED = "net::ERR_PROXY_CONNECTION_FAILED"


class Allowlist:
    """Knows the hosts of one lane."""

    def __init__(self, sites: tuple[Site, ...], *, allowed: str) -> None:
        self._names = ", ".join(site.canonical for site in sites)
        self._hosts = {host_of(site.url) for site in sites} if allowed == "sites" else None

    @property
    def proxy(self) -> ProxySettings | None:
        """For the context; None = no limit."""
        if self._hosts is None:
            return None
        return {"server": NOBODY, "bypass": ",".join(sorted(self._hosts)) or "none.invalid"}

    def reaches(self, url: str) -> bool:
        """Whether a page may ask for this real address."""
        return self._hosts is None or host_of(url) in self._hosts

    def check(self, url: str, *, shown: str) -> None:
        """Refuse an address the agent asks for.

        Args:
            url: Real address.
            shown: The same as the agent wrote it.
        Raises:
            ActionFailed: It is no web page, or not one of this lane's sites.
        """
        if url == "about:blank":
            return
        try:
            scheme = urlsplit(url).scheme.lower()
        except ValueError as exc:
            raise ActionFailed(f"{shown} is not a valid address") from exc
        if scheme not in ("http", "https"):
            raise ActionFailed(f"{shown} cannot be opened: only http and https addresses are allowed")
        if not self.reaches(url):
            raise ActionFailed(f"{shown} is outside the sites of this task ({self._names})")
