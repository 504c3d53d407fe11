"""Two names for every address: the canonical one everybody is shown, and the real one of this lane's deployment.

Pure. An address only matches whole: `http://a.test` is neither in `http://a.test.evil.org` nor in `http://a.test:8080`,
and `http://a.test/admin` is not in `http://a.test/administrator`. Longer addresses win over shorter ones.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlsplit

from harness.records import Site

_END = r"(?![A-Za-z0-9_@%-])(?![.:][A-Za-z0-9])"
"""Nothing may follow that would make the host, port or last path segment a longer one."""
_ENCODED_END = r"(?![A-Za-z0-9_@-])(?!(?:\.|%3A)[A-Za-z0-9])(?!%40)"
_START = r"(?<![A-Za-z0-9._@:-])"


class Addresses:
    """Maps between canonical and real addresses of one lane's sites."""

    def __init__(self, sites: tuple[Site, ...]) -> None:
        moved = [site for site in sites if site.url.rstrip("/") != site.canonical.rstrip("/")]
        self._to_real = _Mapper([(_bare(site.canonical), _bare(site.url)) for site in moved])
        self._to_canonical = _Mapper([(_bare(site.url), _bare(site.canonical)) for site in moved])
        self._hosts_to_real = _hosts(moved, lambda site: (site.canonical, site.url))
        self._hosts_to_canonical = _hosts(moved, lambda site: (site.url, site.canonical))

    def to_real(self, url: str) -> str:
        """The address to really ask for; one of no site stays as it is."""
        return self._to_real.url(url)

    def to_canonical(self, url: str) -> str:
        """The address to show for a real one."""
        return self._to_canonical.text(url)

    def to_canonical_text(self, text: str) -> str:
        """Text or HTML with every real address in it replaced, percent-encoded ones included."""
        return self._to_canonical.text(text)

    def to_real_text(self, text: str) -> str:
        """Text with every canonical address in it replaced."""
        return self._to_real.text(text)

    def host_to_real(self, host: str) -> str:
        """A cookie's domain, for this deployment; a leading dot stays."""
        return _swap(host, self._hosts_to_real)

    def host_to_canonical(self, host: str) -> str:
        return _swap(host, self._hosts_to_canonical)


class _Mapper:
    """Replaces whole addresses of one kind by those of the other."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        """`pairs` are (from, to), without a trailing slash."""
        self._table: dict[str, str] = {}
        parts: list[tuple[str, str]] = []
        for old, new in pairs:
            address = _address(old)
            for scheme in ("http://", "https://"):
                self._add(parts, scheme + address, new, end=_END)
                self._add(parts, quote(scheme + address, safe=""), quote(new, safe=""), end=_ENCODED_END)
            if "/" not in address + _address(new) and re.search("[.:]", address):
                self._add(parts, address, _address(new), end=_END)
        parts.sort(key=lambda part: len(part[0]), reverse=True)
        alternatives = "|".join(pattern for _, pattern in parts)
        self._pattern = re.compile(alternatives, re.IGNORECASE) if alternatives else None
        bases = sorted({_address(old): new for old, new in pairs}.items(), key=lambda item: len(item[0]), reverse=True)
        self._bases = [(re.compile(rf"https?://{re.escape(old)}{_END}", re.IGNORECASE), new) for old, new in bases]

    def _add(self, parts: list[tuple[str, str]], old: str, new: str, *, end: str) -> None:
        self._table[old.lower()] = new
        parts.append((old, _START + re.escape(old) + end))

    def text(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: self._table[found.group().lower()], text)

    def url(self, url: str) -> str:
        for pattern, new in self._bases:
            if found := pattern.match(url):
                return new + url[found.end() :]
        return url


def _bare(url: str) -> str:
    return url.rstrip("/")


def _address(url: str) -> str:
    return url.split("://", 1)[-1]


def _hosts(sites: list[Site], pair: Callable[[Site], tuple[str, str]]) -> Mapping[str, str]:
    return {urlsplit(old).hostname or "": urlsplit(new).hostname or "" for old, new in map(pair, sites)}


def _swap(host: str, table: Mapping[str, str]) -> str:
    bare = host.lstrip(".")
    return host[: len(host) - len(bare)] + table.get(bare, bare)
