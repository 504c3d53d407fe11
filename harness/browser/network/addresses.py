"""Translates between canonical addresses, which agents and records contain, and those of this lane's deployment.

Pure. Only complete addresses match: `http://a.test` is neither in `http://a.test.evil.org` nor in `http://a.test:8080`,
and `http://a.test/admin` is not in `http://a.test/administrator`. Longer addresses win over shorter ones.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from urllib.parse import quote, urlsplit

from harness.errors import ActionFailed
from harness.records import Site

# WebArena itself maps substrings, and so also the beginning of a longer address.
_END = r"(?![A-Za-z0-9_@%-])(?![.:][A-Za-z0-9])"
"""Nothing may follow that would make the host, port or last path segment a longer one."""
_ENCODED_END = r"(?![A-Za-z0-9_@-])(?!(?:\.|%3A)[A-Za-z0-9])(?!%40)"
_START = r"(?<![A-Za-z0-9._@:-])"
_START_OF_URL = rf"(?:{_START}|(?<=blob:))"
_WEB = re.compile(r"(https?):[/\\]*", re.IGNORECASE)
"""Browsers take any number of slashes."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)
"""Of an address with another one: what a number follows is a host with its port."""
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
"""Ports that browsers leave out of an address with this scheme."""
_ANY_CASE = re.IGNORECASE | re.ASCII
"""Of letters a host can have: without ASCII a long s is an s, which no address means, and a pattern takes ten times as
long.
"""


# Records have canonical addresses, so that digests are the same on another port, lane or machine.
class Addresses:
    """Maps between canonical and real addresses of one lane's sites."""

    def __init__(self, sites: tuple[Site, ...]) -> None:
        moved = [site for site in sites if _bare(site.url) != _bare(site.canonical)]
        self._to_real = _Mapper([(_bare(site.canonical), _bare(site.url)) for site in moved])
        self._to_canonical = _Mapper([(_bare(site.url), _bare(site.canonical)) for site in moved])
        self._hosts_to_real = _hosts(moved, lambda site: (site.canonical, site.url))
        self._hosts_to_canonical = _hosts(moved, lambda site: (site.url, site.canonical))

    def to_real(self, url: str) -> str:
        """The address to really ask for; one of no site stays as it is."""
        return self._to_real.url(url)

    def to_canonical(self, text: str) -> str:
        """An address, text or HTML with every real address in it replaced, percent-encoded ones included."""
        return self._to_canonical.text(text)

    def to_real_text(self, text: str) -> str:
        """Text with every canonical address in it replaced."""
        return self._to_real.text(text)

    def host_to_real(self, host: str) -> str:
        """A cookie's domain, for this deployment; a leading dot stays."""
        return _swap(host, self._hosts_to_real)

    def host_to_canonical(self, host: str) -> str:
        return _swap(host, self._hosts_to_canonical)


def as_address(written: str) -> str:
    """The address that somebody means who leaves out `http://` or some of its slashes.

    Raises:
        ActionFailed: It is a path, which a browser would take for a host.
    """
    written = written.strip()
    if found := _WEB.match(written):
        return f"{found[1]}://{written[found.end() :]}"
    if written.startswith("/") and not written.startswith("//"):
        raise ActionFailed(f"{written} is a path; give a whole address, with http:// and the host")
    return written if _SCHEME.match(written) else f"http://{written}"


def host_of(url: str) -> str:
    """Host and port of an address, in small letters, without the user and password before them, and without the port
    that browsers leave out.

    Raises:
        ValueError: It is not an address.
    """
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2].lower().removesuffix(_DEFAULT_PORTS.get(parts.scheme, ""))


def has_port(host: str) -> bool:
    """Whether it is a host with its port, as `host_of` gives it."""
    return re.search(r":\d+\Z", host) is not None


def site_address(url: str) -> str:
    """The http(s) address that says which site a document is of; "" = its address does not say it.

    `blob:http://a.test/…` is of the page that made it. `about:blank`, `data:` and Chromium's own pages name no site,
    although a page of any site may have opened and written an `about:blank`.
    """
    address = url.removeprefix("blob:")
    return address if address.lower().startswith(("http://", "https://")) else ""


class SiteFinder:
    """Which site an address is on: of those at its host and port, the one with the longest path before it."""

    def __init__(self, bases: Iterable[tuple[str, str]]) -> None:
        """`bases`: site name and base URL; a site may have several."""
        self._bases: dict[str, list[tuple[str, str]]] = {}
        """Host and port to path and site, the longest path first."""
        for name, url in bases:
            parts = urlsplit(url)
            self._bases.setdefault(host_of(url), []).append((parts.path.rstrip("/"), name))
        for found in self._bases.values():
            found.sort(key=lambda base: len(base[0]), reverse=True)

    def __call__(self, url: str) -> str | None:
        """Name of the site; None = it is on none of them."""
        address = site_address(url)
        try:
            parts = urlsplit(address)
        except ValueError:  # an address a page made up
            return None
        found = self._bases.get(host_of(address), [])
        under = (name for path, name in found if f"{parts.path}/".startswith(f"{path}/"))
        return next(under, found[-1][1] if found else None)


class _Mapper:
    """Replaces whole addresses of one kind by those of the other."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        """`pairs` are (from, to), without a trailing slash."""
        self._pairs = pairs
        self._marks = {_mark(old) for old, _ in pairs}

    def text(self, text: str) -> str:
        lowered = text.lower()
        if not any(mark in lowered for mark in self._marks):
            return text  # as nearly all are, and a search for plain words costs nothing beside the pattern
        pattern, table = self._in_text
        return pattern.sub(lambda found: table[found.group().lower()], text)

    def url(self, url: str) -> str:
        for pattern, new in self._bases:
            if found := pattern.match(url):
                return new + url[found.end() :]
        return url

    @cached_property
    def _in_text(self) -> tuple[re.Pattern[str], Mapping[str, str]]:
        """What finds an address, and by what each is replaced, in small letters."""
        table: dict[str, str] = {}
        parts: list[tuple[str, str]] = []

        def add(old: str, new: str, end: str, *, start: str = _START) -> None:
            table[old.lower()] = new
            parts.append((old, start + re.escape(old) + end))

        for old, new in self._pairs:
            address = _address(old)
            for url in _spellings(address):
                add(url, new, _END, start=_START_OF_URL)
                add(quote(url, safe=""), quote(new, safe=""), _ENCODED_END)
            if "/" not in address + _address(new) and re.search("[.:]", address):
                add(address, _address(new), _END)
        parts.sort(key=lambda part: len(part[0]), reverse=True)
        return re.compile("|".join(pattern for _, pattern in parts), _ANY_CASE), table

    @cached_property
    def _bases(self) -> list[tuple[re.Pattern[str], str]]:
        """What finds an address at the beginning of another, the longest first."""
        bases = sorted({_address(old): new for old, new in self._pairs}.items(), key=lambda item: -len(item[0]))
        spelled = [("|".join(map(re.escape, _spellings(old))), new) for old, new in bases]
        return [(re.compile(f"(?:{urls}){_END}", _ANY_CASE), new) for urls, new in spelled]


def _mark(url: str) -> str:
    """The longest part of an address that every spelling of it contains, in lower case."""
    return max(re.findall("[a-z0-9.-]+", _address(url).lower()), key=len, default="")


def _bare(url: str) -> str:
    """As browsers write it, which leave out some ports, without the final slash."""
    scheme, mark, address = url.rstrip("/").partition("://")
    host, slash, path = address.partition("/")
    return scheme + mark + host.removesuffix(_DEFAULT_PORTS.get(scheme.lower(), "")) + slash + path


def _spellings(address: str) -> Iterator[str]:
    """The addresses with a scheme that mean this one: text may name a port that browsers leave out."""
    host, slash, path = address.partition("/")
    for scheme, port in _DEFAULT_PORTS.items():
        yield f"{scheme}://{address}"
        if not has_port(host):
            yield f"{scheme}://{host}{port}{slash}{path}"


def _address(url: str) -> str:
    return url.split("://", 1)[-1]


def _hosts(sites: list[Site], pair: Callable[[Site], tuple[str, str]]) -> Mapping[str, str]:
    return {urlsplit(old).hostname or "": urlsplit(new).hostname or "" for old, new in map(pair, sites)}


def _swap(host: str, table: Mapping[str, str]) -> str:
    bare = host.lstrip(".")
    return host[: len(host) - len(bare)] + table.get(bare, bare)
