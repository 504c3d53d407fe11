"""The addresses that a page, or the agent, may reach.

A context that may reach only its sites is given a proxy at a closed port, with those sites as exceptions: Chromium
itself refuses everything else, and an allowed request costs nothing extra (a route handler would cost a round trip per
request and disable the cache). One that may reach any host is given the proxy of `page_proxy`, which keeps pages from
this machine; sites are reached without it, on every port. WebRTC obeys no proxy; a flag of the browser restricts it
(`chromium_flags`). This keeps pages on their lane's deployment and off this machine; it is not a sandbox.
"""

import socket
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from playwright.async_api import ProxySettings

from harness.browser.network.addresses import has_port, host_of
from harness.browser.network.local_addresses import Address, host_of_page, literal, why_local, why_local_name
from harness.browser.visit_policy import NO_VISITS, VisitPolicy
from harness.errors import ActionFailed
from harness.records import Site

_NOBODY = "http://127.0.0.1:9"
"""The discard port: connections are refused at once."""
_ALSO_LOCAL = "<-loopback>"
"""Chromium asks no proxy for names and addresses of this machine unless this is among the exceptions. Playwright adds
it, but not when `localhost` is one of them.
"""
FAILED_BY_PROXY = frozenset(
    {
        *("net::ERR_PROXY_CONNECTION_FAILED", "net::ERR_SOCKS_CONNECTION_FAILED", "net::ERR_TUNNEL_CONNECTION_FAILED"),
        # A plain HTTP request that the proxy refuses is not answered at all.
        "net::ERR_EMPTY_RESPONSE",
    }
)
"""How a request ends that the proxy does not let through."""
_NET_ERRORS: Mapping[type[OSError], str] = {
    socket.gaierror: "net::ERR_NAME_NOT_RESOLVED",
    ConnectionRefusedError: "net::ERR_CONNECTION_REFUSED",
    ConnectionResetError: "net::ERR_CONNECTION_RESET",
    TimeoutError: "net::ERR_CONNECTION_TIMED_OUT",
}
_MOST_KEPT = 1000


class AddressRefused(ActionFailed):
    """An address that the agent must not open."""


class Allowlist:
    """The addresses that the pages of one lane may reach."""

    def __init__(self, sites: tuple[Site, ...], *, allowed: str, visits: VisitPolicy = NO_VISITS) -> None:
        """
        Args:
            allowed: `sites` or `any`.
            visits: Its local hosts may be reached, too.
        """
        self._names = ", ".join(site.canonical for site in sites)
        self._hosts = {host_of(site.url) for site in sites} if allowed == "sites" else None
        self._own = {host_of_page(url) for url in _pages_of(sites)} - {""}
        self._visits = visits
        self._refused: dict[str, str] = {}
        """Host to why it was not connected to."""
        self._unreachable: dict[str, str] = {}
        """Host to Chromium's name for why nobody can connect to it."""
        self.report: Callable[[str], None] = lambda what: None
        """Hears, in words, of what the agent tried on this machine in vain; only that of a process is recorded."""
        self.is_driven = False
        """Whether the agent's own scripts run in its pages, so that what these try is its doing."""

    @property
    def is_open(self) -> bool:
        """Whether pages may reach other hosts than their sites."""
        return self._hosts is None

    def proxy(self, server: str, goes_directly: Callable[[str], bool]) -> ProxySettings:
        """The proxy setting of the browser context.

        Args:
            server: Address of the proxy for pages that may reach any host.
            goes_directly: Whether this machine reaches a host without a proxy of its own.
        """
        if self._hosts is not None:
            # Chromium takes an exception without a port for all ports of its host.
            ports = [host if has_port(host) else f"{host}:80,{host}:443" for host in sorted(self._hosts)]
            return {"server": _NOBODY, "bypass": ",".join([_ALSO_LOCAL, *ports])}
        direct = sorted(host for host in self._exceptions() if goes_directly(host.removeprefix("*.")))
        # Chromium's own checks of local networks ask the person, and do not hold for navigations.
        return {"server": server, "bypass": ",".join([_ALSO_LOCAL, *direct])}

    def refusal(self, host: str, address: Address | None) -> str:
        """What a host is that pages must not reach, as far as its name says or because of an address; "" = they may.

        Called in the thread of the proxy, too.
        """
        if denial := self._visits.denial(host):
            return denial
        if host in self._own or (why_local_name(host) and self._visits.admits(host)):
            return ""
        return why_local_name(host) if address is None else why_local(address)

    def refused(self, host: str, port: int, error: Exception) -> None:
        """A page tried to reach it through the proxy, and must not; called in the loop that serves the episode."""
        _keep(self._refused, host, str(error))
        if self.is_driven:
            self.report(f"a page asked for {host}:{port}: {error}")

    def unreachable(self, host: str, port: int, error: OSError) -> None:
        """The same of what nobody can reach."""
        kinds = (name for kind, name in _NET_ERRORS.items() if isinstance(error, kind))
        _keep(self._unreachable, host, next(kinds, "net::ERR_ADDRESS_UNREACHABLE"))

    def reaches(self, url: str) -> bool:
        """Whether a page may ask for this real address, as far as it shows."""
        return self._hosts is None or host_of(url) in self._hosts

    def why_blocked(self, url: str) -> str:
        """Why a request to this real address, which failed, was not let through; "" = it was."""
        if not self.reaches(url):
            return "it is outside the sites of this task"
        return self._refused.get(host_of_page(url), "")

    def net_error(self, name: str, url: str) -> str:
        """Chromium's name for a failure, which only says of the proxy that it made no connection."""
        return self._unreachable.get(host_of_page(url), name) if name in FAILED_BY_PROXY else name

    def note_failed(self, url: str) -> None:
        """A request of a page failed: one for this machine is reported also if the browser did not ask the proxy."""
        host = host_of_page(url)
        if self.is_driven and self.is_open and (why := self.refusal(host, None)):
            self.report(f"a page asked for {url}: {host} is {why}")

    def check(self, url: str, *, shown: str) -> None:
        """Refuse an address the agent asks for.

        Args:
            url: Real address.
            shown: The same as the agent wrote it.
        Raises:
            AddressRefused: It is not a web page, not one of this lane's sites, or on this machine.
            ActionFailed: It is not an address.
        """
        if url == "about:blank":
            return
        try:
            scheme = urlsplit(url).scheme.lower()
        except ValueError as exc:
            raise ActionFailed(f"{shown} is not a valid address") from exc
        if scheme not in ("http", "https"):
            raise AddressRefused(f"{shown} cannot be opened: only http and https addresses are allowed")
        if not self.reaches(url):
            raise AddressRefused(f"{shown} is outside the sites of this task ({self._names})")
        if self.is_open and (why := self.refusal(host := host_of_page(url), None)):
            raise AddressRefused(f"{shown} cannot be opened: {host} is {why}; {self._visits.admission}")

    def _exceptions(self) -> Iterator[str]:
        """Hosts, as Chromium writes patterns of them, that are reached without the proxy."""
        yield from (f"[{host}]" if ":" in host else host for host in self._own)
        for pattern in self._visits.local_hosts:
            if why_local_name(pattern.removeprefix("*.")):
                yield pattern
                if not pattern.startswith("*.") and literal(pattern) is None:
                    yield f"*.{pattern}"


def _keep(known: dict[str, str], host: str, what: str) -> None:
    if len(known) >= _MOST_KEPT:
        known.clear()
    known[host] = what


def _pages_of(sites: tuple[Site, ...]) -> Iterator[str]:
    """Real addresses of the sites, and of login pages that are elsewhere."""
    canonical = {host_of_page(site.canonical) for site in sites}
    for site in sites:
        yield site.url
        if site.login is not None and host_of_page(site.login.url) not in canonical:
            yield site.login.url
