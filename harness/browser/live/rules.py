"""The rules of a run on the live web as plain values, and which hosts they speak of. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from harness.choices import ValueRange

_PATTERN = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9])?|\[[0-9a-f:.]+\]|\*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRules:
    """`sites.live`: what pages of live sites may be opened, and how fast."""

    allow: tuple[str, ...] = ()
    """Hosts whose pages may be opened, each with its subdomains; () = all public ones. `*.name` = subdomains only."""
    deny: tuple[str, ...] = ()
    """Hosts that nothing is asked of, not even a picture; these win."""
    pages_per_minute: float = field(default=12.0, metadata={"bounds": ValueRange(0, 6000, above=True)})
    """Pages opened on one host, over all episodes on this machine."""
    pages_per_host: int = field(default=200, metadata={"bounds": ValueRange(0, 1_000_000, above=True)})
    """Pages that one episode may open on one host."""
    robots: bool = True
    """Whether robots.txt is honoured."""
    agent: str = "cairn"
    """Product token that robots.txt knows us by; without rules for it, those for `*` count."""

    @property
    def spacing_s(self) -> float:
        """Between two pages of one host."""
        return 60.0 / self.pages_per_minute

    def refusal(self, url: str) -> str:
        """Why no page may be opened at this address; "" = it may."""
        host = host_name(url)
        if covers(self.deny, host):
            return f"{host} is denied (sites.live.deny)"
        if self.allow and not covers(self.allow, host):
            return f"{host} is not among the allowed hosts (sites.live.allow)"
        if not self.allow and is_private(host):
            return f"{host} is an address of this machine or network; only sites.live.allow admits it"
        return ""

    @property
    def resolver_rules(self) -> str:
        """For Chromium: denied hosts are never found."""
        names = [name for host in self.deny for name in ([host] if host.startswith("*.") else [host, f"*.{host}"])]
        return ", ".join(f"MAP {name} ~NOTFOUND" for name in names)


def host_name(url: str) -> str:
    """The host of an address in small letters, without port; "" where there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def covers(patterns: Sequence[str], host: str) -> bool:
    """Whether one of them means this host: `a.com` is also `www.a.com`, `*.a.com` only the latter, `*` any."""
    return any(
        pattern == "*"
        or (host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern or host.endswith(f".{pattern}"))
        for pattern in patterns
    )


def is_pattern(text: str) -> bool:
    """Whether it can be meant as a host."""
    return _PATTERN.fullmatch(text) is not None


def is_private(host: str) -> bool:
    """Whether a host is, by its name, on this machine or in this network; what a name resolves to is not asked."""
    if host in ("", "localhost") or host.endswith((".localhost", ".local", ".internal")) or "." not in host.strip("[]"):
        return ":" not in host or not _is_global(host)
    return _is_numeric(host) and not _is_global(host)


def _is_numeric(host: str) -> bool:
    return ":" in host or bool(re.fullmatch(r"[0-9.]+|0x[0-9a-fx.]*", host))


def _is_global(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_global
    except ValueError:
        return False
