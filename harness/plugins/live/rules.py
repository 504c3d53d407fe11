"""The rules of a run on the live web as plain values, and which hosts they speak of. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from harness.api.settings import ValueRange
from harness.errors import ConfigError

if TYPE_CHECKING:  # the settings are read by every start, which must not wait for playwright
    from playwright.async_api import Browser

    from harness.plugins.live.gate import LiveGate

_PATTERN = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9])?|\[[0-9a-f:.]+\]|\*", re.ASCII)
_ANY_HOST = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRules:
    """`sites.live`: what pages of live sites may be opened, and how fast. A `VisitPolicy`."""

    name: ClassVar[str] = "live"
    admission: ClassVar[str] = "only sites.live.allow admits it"
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

    @classmethod
    def read(cls, tree: object) -> Self:
        """See `VisitPolicy`."""
        known = {one.name: one.metadata.get("bounds") for one in fields(cls)}
        if not isinstance(tree, Mapping):
            raise ConfigError(f"sites.live must be a mapping, not {tree!r:.80}; known keys: {', '.join(sorted(known))}")
        if unknown := sorted(set(tree) - known.keys()):
            raise ConfigError(f"sites.live.{unknown[0]} is unknown; known keys: {', '.join(sorted(known))}")
        default = cls()
        agent, robots = tree.get("agent", default.agent), tree.get("robots", default.robots)
        if not isinstance(agent, str) or not agent.replace("-", "").replace("_", "").isalpha():
            raise ConfigError(f"sites.live.agent={agent!r:.80} is not a product token; give letters, `-` and `_`")
        if not isinstance(robots, bool):
            raise ConfigError(f"sites.live.robots={robots!r:.80} cannot be used; it is true or false")
        return cls(
            allow=_hosts(tree, "allow"),
            deny=_hosts(tree, "deny"),
            pages_per_minute=_number(tree, "pages_per_minute", default.pages_per_minute, known),
            pages_per_host=int(_number(tree, "pages_per_host", default.pages_per_host, known)),
            robots=robots,
            agent=agent.lower(),
        )

    @property
    def spacing_s(self) -> float:
        """Between two pages of one host."""
        return 60.0 / self.pages_per_minute

    def refusal(self, url: str) -> str:
        """Why no page may be opened at this address; "" = it may."""
        host = host_name(url)
        if denial := self.denial(host):
            return f"{host} is {denial}"
        if self.allow and not covers(self.allow, host):
            return f"{host} is not among the allowed hosts (sites.live.allow)"
        if not self.allow and is_private(host):
            return f"{host} is an address of this machine or network; only sites.live.allow admits it"
        return ""

    @property
    def resolver_rules(self) -> str:
        """Chromium's rules, by which denied hosts do not resolve."""
        names = [name for host in self.deny for name in ([host] if host.startswith("*.") else [host, f"*.{host}"])]
        return ", ".join(f"MAP {name} ~NOTFOUND" for name in names)

    @property
    def remarks(self) -> tuple[str, ...]:
        return () if self.robots else ("robots.txt was not honoured (sites.live.robots=false)",)

    @property
    def local_hosts(self) -> tuple[str, ...]:
        """Those of `allow` may be on this machine; that any host is allowed does not admit its own."""
        return tuple(pattern for pattern in self.allow if pattern != _ANY_HOST)

    def admits(self, host: str) -> bool:
        return covers(self.local_hosts, host)

    def denial(self, host: str) -> str:
        return "denied (sites.live.deny)" if covers(self.deny, host) else ""

    async def guard(self, browser: "Browser") -> "LiveGate":
        from harness.plugins.live.gate import LiveGate

        gate = LiveGate(self)
        await gate.attach(browser)
        return gate


def _hosts(tree: Mapping[str, Any], key: str) -> tuple[str, ...]:
    given = tree.get(key) or []
    if not isinstance(given, list | tuple):
        raise ConfigError(f"sites.live.{key} must be a list of hosts, not {given!r:.80}")
    hosts = tuple(str(one).lower().rstrip(".") for one in given)
    for host in hosts:
        if not _PATTERN.fullmatch(host):
            raise ConfigError(f"sites.live.{key}: {host!r:.80} is not a host; give names such as a.com or *.a.com")
    return hosts


def _number(tree: Mapping[str, Any], key: str, default: float, known: Mapping[str, Any]) -> float:
    value = tree.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not known[key].hold(value):
        raise ConfigError(f"sites.live.{key}={value!r:.80} cannot be used; give a number {known[key]}")
    return float(value)


def host_name(url: str) -> str:
    """The host of an address in small letters, without port; "" where there is none."""
    try:
        return (urlsplit(url).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def covers(patterns: Sequence[str], host: str) -> bool:
    """Whether one of them means this host: `a.com` is also `www.a.com`, `*.a.com` only the latter, `*` any."""
    return any(
        pattern == _ANY_HOST
        or (host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern or host.endswith(f".{pattern}"))
        for pattern in patterns
    )


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
