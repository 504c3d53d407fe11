"""The settings of the sites, read once into typed values.

`sites` holds its own settings beside the sites, whose names are free, so the schema cannot check it and this module
does. Where a lane reaches a site is in `deployment`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from enum import Enum
from typing import Any, TypeVar
from urllib.parse import urlsplit

from harness.actions.truncate import cut
from harness.browser import visit_policy
from harness.browser.visit_policy import NoVisits, VisitPolicy
from harness.choices import LONGEST_S, ResetScope, ResetWhen, SiteLocking, ValueRange
from harness.config.near_names import misspelt
from harness.errors import ConfigError
from harness.settings.fields import Tree, setting
from harness.settings.plugin import path_now
from harness.settings.sites import Login, ResetSettings, SiteSettings, derived
from harness.shelf import SHELF

URL = "{url}"
"""In a reset hook: the real base URL of the instance."""
DEMO_SERVER = SHELF["cairn.servers"]["demo"]
_OLD_NAME_OF_LOCKS = "leases"
"""Read until the next release; the changelog names the new key."""
_HTTP = ("http://", "https://")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_USER = re.compile(r"(?<=://)[^/?#]*@")
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection"})
_Word = TypeVar("_Word", bound=Enum)


@dataclass(frozen=True, slots=True, kw_only=True)
class SitesSettings:
    """The sites of the run, and what holds for all of them."""

    embedded: bool = False
    """The harness serves the sites itself, one for each lane."""
    server: str = DEMO_SERVER
    """Of embedded sites: the module that serves them, `python -m MODULE --port N --state DIR`."""
    port: int | None = setting(None, bounds=ValueRange(1, 65_535))
    """Of embedded sites that are already served; null = start them."""
    # The other default would let tasks see each other's changes without notice.
    locks: SiteLocking = SiteLocking.auto
    """Whether tasks lock the sites that they may change."""
    reset: ResetSettings = field(default_factory=ResetSettings)
    # A longer `browser.site_wait_s` would save the attempts, too, but would block the lanes.
    max_outage_s: float = setting(900.0, measured=False, bounds=ValueRange(0, LONGEST_S))
    """The tasks of a site that is down for all lanes are paused this long at most; 0 = they are not."""
    version: str | None = None
    """Version of the sites that declare none of their own."""
    visits: VisitPolicy = field(default_factory=NoVisits, metadata={"derived": True})
    """What pages may be opened beside the sites; it has a key of its own name, `live`."""
    by_name: Mapping[str, SiteSettings] = derived(default_factory=dict)
    given: Mapping[str, Any] = derived(default_factory=dict)
    """The tree this was read from, to be written down and handed to worker processes."""

    @property
    def canonical_bases(self) -> dict[str, str]:
        """Site name to its canonical address, which replaces the placeholders of tasks."""
        return {name: site.canonical for name, site in self.by_name.items()}

    @property
    def instances(self) -> dict[str, tuple[str, ...]]:
        """Site name to its real base URLs, of sites that lanes share; {} when every lane has its own."""
        if self.embedded:
            return {}
        return {name: site.instances for name, site in self.by_name.items() if site.instances}

    @property
    def servers(self) -> dict[str, tuple[str, ...]]:
        """Module to the names of the embedded sites that it serves."""
        found: dict[str, tuple[str, ...]] = {}
        for name, site in self.by_name.items():
            if site.is_embedded:
                module = site.server or self.server
                found[module] = (*found.get(module, ()), name)
        return found

    @property
    def read_only(self) -> frozenset[str]:
        return frozenset(name for name, site in self.by_name.items() if site.read_only)

    @property
    def safe_to_open(self) -> frozenset[str]:
        """Sites on which opening an address changes nothing."""
        return frozenset(name for name, site in self.by_name.items() if site.safe_get or site.read_only)


def keys_of(settings: type) -> set[str]:
    """The keys that stand in the settings for a class of this module."""
    return {one.name for one in fields(settings) if not one.metadata.get("derived")}


SITE_KEYS = keys_of(SiteSettings)
RESERVED = keys_of(SitesSettings) | set(visit_policy.POLICIES.names())
"""Settings of `sites` that are not a site."""


def keys_below(place: str) -> set[str]:
    """The keys of a group below `sites`, as of `sites.shop.login`; set() = they are free, or it is none."""
    match place.split("."):
        case ["sites", "reset"]:
            return keys_of(ResetSettings)
        case ["sites", policy] if policy in visit_policy.POLICIES.names():
            return keys_of(visit_policy.policy_class(policy))
        case ["sites", _]:
            return SITE_KEYS
        case ["sites", _, "login"]:
            return keys_of(Login)
    return set()


def read_sites(tree: Tree) -> SitesSettings:
    """The settings below `sites`.

    Raises:
        ConfigError: One of them is unknown, with the nearest that there is, or cannot be used.
    """
    if _OLD_NAME_OF_LOCKS in tree:
        tree = {"locks": tree[_OLD_NAME_OF_LOCKS], **tree}
        del tree[_OLD_NAME_OF_LOCKS]
    embedded, port = _flag(tree, "sites", "embedded"), tree.get("port")
    if port is not None and type(port) is not int:  # `isinstance` takes true for an int
        raise ConfigError(
            f"sites.port={cut(str(port), 80)} is not a port; give the port that serves the sites, or null"
        )
    server = _server(tree, "sites") or DEMO_SERVER
    by_name = {
        name: _site(name, _site_tree(name, site), embedded=embedded)
        for name, site in tree.items()
        if name not in RESERVED
    }
    _check_apart(by_name)
    reset = _reset(tree.get("reset"))
    _check_reset_urls(reset, by_name)
    return SitesSettings(
        embedded=embedded,
        server=server,
        port=port,
        locks=_word(tree, "sites", "locks", SiteLocking.auto),
        reset=reset,
        max_outage_s=_seconds(tree, "sites", "max_outage_s", SitesSettings().max_outage_s),
        visits=visit_policy.chosen(tree),
        version=_optional(tree, "sites", "version"),
        by_name=by_name,
        # As it was given: `config.yaml` would differ from it if it were written back from typed values.
        given=tree,
    )


def _check_apart(sites: Mapping[str, SiteSettings]) -> None:
    """By its canonical address alone it is known which site a page belongs to."""
    names: dict[str, str] = {}
    for name, site in sites.items():
        other = names.setdefault(site.canonical, name)
        if other != name:
            raise ConfigError(
                f"sites.{other} and sites.{name} are shown at the same address, {site.canonical}; set another"
                f" sites.{name}.canonical, or remove one of them"
            )


def _server(tree: Mapping[str, Any], place: str) -> str | None:
    server = _optional(tree, place, "server")
    if server is not None and not all(part.isidentifier() for part in server.split(".")):
        raise ConfigError(
            f"{place}.server={cut(server, 80)} is not a module; give its dotted name, as in my_package.server"
        )
    return server and path_now(server)


def _site_tree(name: str, tree: object) -> Mapping[str, Any]:
    place = f"sites.{name}"
    if tree is None:
        raise ConfigError(f"{place} is empty; a site is a mapping: give {place}.url, or remove it")
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{misspelt(place, map('sites.{}'.format, RESERVED))}; a site is a mapping, not {tree!r}")
    if not SITE_KEYS & set(tree) and (near := get_close_matches(name, RESERVED, 1, 0.75)):
        raise ConfigError(f"{place}: no such site; did you mean sites.{near[0]}")
    _check_keys(place, tree, SITE_KEYS, "a site")
    return tree


def _site(name: str, tree: Mapping[str, Any], *, embedded: bool) -> SiteSettings:
    place = f"sites.{name}"
    instances, canonical = _instances(place, tree), _optional(tree, place, "canonical")
    if embedded and tree.get("instances"):
        raise ConfigError(
            f"{place}.instances is only for your own sites; each lane has its own instance of the embedded sites"
        )
    if embedded and canonical is not None and instances:
        raise ConfigError(
            f"{place}.url is only for your own sites; set sites.embedded=false, or {place}.canonical=null for one of"
            " your own beside the embedded ones"
        )
    if canonical is not None:
        _address(f"{place}.canonical", canonical)
    if canonical is None and not instances:
        raise ConfigError(f"{place} has no address: set {place}.url, or {place}.canonical if it is embedded")
    return SiteSettings(
        name=name,
        url=instances[0] if instances else None,
        canonical=canonical or _USER.sub("", instances[0]),  # who may enter is the browser's business
        instances=instances,
        is_embedded=embedded and canonical is not None,
        server=_server(tree, place),
        read_only=_flag(tree, place, "read_only"),
        safe_get=_flag(tree, place, "safe_get"),
        reset_command=_hook(tree, place, "reset_command"),
        reset_url=_hook(tree, place, "reset_url"),
        effects_url=None if tree.get("effects_url") is None else _address(f"{place}.effects_url", tree["effects_url"]),
        login=_login(f"{place}.login", tree.get("login")),
        version=_optional(tree, place, "version"),
    )


def _instances(place: str, tree: Mapping[str, Any]) -> tuple[str, ...]:
    more = tree.get("instances") or []
    if not isinstance(more, Sequence) or isinstance(more, str):
        raise ConfigError(f"{place}.instances must be a list of addresses, not {more!r}")
    urls = [_address(f"{place}.instances[{number}]", url) for number, url in enumerate(more)]
    if (first := _optional(tree, place, "url")) is not None:
        _address(f"{place}.url", first)
    return tuple(dict.fromkeys(url.rstrip("/") for url in (*([] if first is None else [first]), *urls)))


def _address(place: str, url: object) -> str:
    if not isinstance(url, str) or not url.startswith(_HTTP) or not _has_host(url):
        raise ConfigError(f"{place} must be an address with http:// or https://, not {_USER.sub('', str(url))!r}")
    return url


def _has_host(url: str) -> bool:
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False


def _login(place: str, tree: object) -> Login | None:
    if tree is None:
        return None
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{place} must be a mapping, not {tree!r}")
    _check_keys(place, tree, keys_of(Login), "a login")
    inputs = tree.get("fields") or {}
    if not isinstance(inputs, Mapping):
        raise ConfigError(f"{place}.fields must be a mapping of inputs to their values")
    headers = _headers(f"{place}.headers", tree.get("headers"))
    read = _optional if headers else _text
    return Login(
        url=read(tree, place, "url") or "",
        fields={str(key): "" if value is None else str(value) for key, value in inputs.items()},
        submit=read(tree, place, "submit") or "",
        headers=headers,
        probe_url=_text(tree, place, "probe_url"),
        probe_text=tree.get("probe_text") or "",
    )


def _headers(place: str, tree: object) -> dict[str, str]:
    given = tree or {}
    if not isinstance(given, Mapping):
        raise ConfigError(f"{place} must be a mapping of names of headers to their values")
    found = {str(name): "" if value is None else str(value) for name, value in given.items()}
    for name, value in found.items():
        if not _TOKEN.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise ConfigError(
                f"{place}: {cut(repr(name), 80)} cannot be sent; name a header such as X-M2-Customer-Auto-Login"
            )
        if not value.isprintable() or not value.isascii():
            raise ConfigError(f"{place}.{name} holds characters that no header can; encode them, or remove them")
    return found


def _reset(tree: object) -> ResetSettings:
    keys = keys_of(ResetSettings)
    if tree is not None and not isinstance(tree, Mapping):
        raise ConfigError(
            f"sites.reset must be a mapping, not {cut(str(tree), 80)}; known keys: {', '.join(sorted(keys))}"
        )
    known: Mapping[str, Any] = tree or {}
    _check_keys("sites.reset", known, keys, "a reset")
    return ResetSettings(
        command=_hook(known, "sites.reset", "command"),
        url=_hook(known, "sites.reset", "url"),
        timeout_s=_seconds(known, "sites.reset", "timeout_s", ResetSettings().timeout_s, is_zero_one=False),
        when=_word(known, "sites.reset", "when", ResetWhen.DIRTY),
        scope=_word(known, "sites.reset", "scope", ResetScope.GIVEN),
    )


def _check_reset_urls(reset: ResetSettings, sites: Mapping[str, SiteSettings]) -> None:
    urls = {"sites.reset.url": reset.url} | {f"sites.{name}.reset_url": site.reset_url for name, site in sites.items()}
    for place, url in urls.items():
        if url is not None and not url.startswith((*_HTTP, URL)):
            raise ConfigError(f"{place} must be an address with http:// or https://, or begin with {URL}, not {url!r}")
    for name, site in sites.items():
        if len(site.instances) > 1 and site.reset_url is not None and URL not in site.reset_url:
            raise ConfigError(
                f"sites.{name}.reset_url must contain {URL}: the site has {len(site.instances)} instances"
            )


def _check_keys(place: str, tree: Iterable[str], known: set[str], what: str) -> None:
    if unknown := sorted(set(tree) - known):
        near = misspelt(f"{place}.{unknown[0]}", (f"{place}.{key}" for key in known))
        raise ConfigError(f"{near}; {what} has {', '.join(sorted(known))}")


def _flag(tree: Mapping[str, Any], place: str, key: str) -> bool:
    value = tree.get(key)
    if value is not None and not isinstance(value, bool):
        raise ConfigError(f"{place}.{key}={cut(str(value), 80)} cannot be used; it is true or false")
    return bool(value)


def _seconds(tree: Mapping[str, Any], place: str, key: str, default: float, *, is_zero_one: bool = True) -> float:
    value = tree.get(key, default)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= LONGEST_S or (value == 0 and not is_zero_one):
        raise ConfigError(f"{place}.{key}={cut(repr(value), 80)} is not a time; give seconds, {LONGEST_S} at most")
    return float(value)


def _word(tree: Mapping[str, Any], place: str, key: str, default: _Word) -> _Word:
    value, words = tree.get(key, default.value), {word.value: word for word in type(default)}
    if not isinstance(value, str) or value not in words:
        raise ConfigError(f"{place}.{key}={value!r} is unknown; choose one of {', '.join(words)}")
    return words[value]


def _optional(tree: Mapping[str, Any], place: str, key: str) -> str | None:
    return None if tree.get(key) is None else _text(tree, place, key)


def _text(tree: Mapping[str, Any], place: str, key: str) -> str:
    value = tree.get(key)
    if not isinstance(value, str) or not value:
        raise ConfigError(
            f"{place}.{key} must be a string, not {value!r}; set it on the command line or in configs/sites"
        )
    return value.rstrip("/")


def _hook(tree: Mapping[str, Any], place: str, key: str) -> str | None:
    value = tree.get(key)
    if value and (not isinstance(value, str) or not value.strip()):
        raise ConfigError(f"{place}.{key} must be a string, not {value!r}")
    return value or None
