"""Looks whether the sites that pending tasks need are there, before a browser starts and a model is paid.

A site where no web server can be reached is refused, unless something is about to start it: its reset hook. One that
is slow, or answers with a failure of its own, is said and played on: a run waits for it (docs/pages/resume.md).
Why: docs/decisions/sites.md#sites-are-looked-at-before-a-run
"""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness.browser.network.http import fetch, shown
from harness.browser.network.site_probe import Probed, probe
from harness.browser.network.system_proxy import SystemProxies
from harness.choices import ResetWhen, SiteLocking
from harness.config.deployment import UNUSED_LANE, lane_base
from harness.config.site_settings import DEMO_SERVER, URL, SitesSettings
from harness.embedded_server import KEY_HEADER, KEY_VARIABLE
from harness.errors import ConfigError, SiteUnavailable
from harness.evaluation.reset_hooks import why_foreign
from harness.records import Task
from harness.settings.sites import SiteSettings

_AT_ONCE = 32
# Said and not refused: the site may be starting. Without the look a wrong address costs three attempts of each task.
_FAILS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFindings:
    """What was seen, a sentence for each address that is not as it should be."""

    refused: tuple[str, ...] = ()
    """The run cannot begin."""
    doubtful: tuple[str, ...] = ()
    """It can, and may have to wait."""

    def check(self) -> None:
        """Raises: ConfigError: With all that is refused."""
        if self.refused:
            raise ConfigError("; ".join(self.refused))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """An address that is needed."""

    site: str
    setting: str
    url: str
    hook: str = ""
    """The setting of what may start the site; "" = nothing does."""


async def look_at_sites(sites: SitesSettings, tasks: Iterable[Task]) -> SiteFindings:
    """Ask all instances of the sites of these tasks at the same time; sites of the live web are left alone."""
    tasks = tuple(tasks)
    unplaced = tuple(
        f"site {name} has no address; set {name.upper()} in the environment, or sites.{name}.url"
        for name in without_address(sites, tasks)
    )
    places = list(_places(sites, tasks))
    if not places:
        return SiteFindings(refused=unplaced)
    proxies, free = SystemProxies.named(), asyncio.Semaphore(_AT_ONCE)

    async def look(place: _Place) -> Probed:
        async with free:
            return await probe(place.url, proxies)

    found = await asyncio.gather(*map(look, places))
    refused, doubtful = [], []
    if sites.port is not None and sites.embedded and not found[0].dead and (why := await _why_not_ours(sites)):
        refused.append(why)
    for place, seen in zip(places, found, strict=True):
        if seen.dead and not place.hook:
            refused.append(_refusal(place, seen.dead))
        elif seen.dead:
            doubtful.append(f"{place.site}: {seen.dead} at {shown(place.url)}; {place.hook} may start it")
        elif seen.status is None:
            doubtful.append(f"{place.site} is slow: {shown(place.url)} accepts connections, but has not answered yet")
        elif seen.status >= _FAILS:
            doubtful.append(f"{place.site} may be starting: {shown(place.url)} answers with status {seen.status}")
    return SiteFindings(refused=(*unplaced, *refused), doubtful=tuple(doubtful))


def without_address(sites: SitesSettings, tasks: Iterable[Task]) -> list[str]:
    """The names of sites of your own that these tasks need, and that are nowhere."""
    needed = set() if sites.embedded else {name for task in tasks for name in task.sites}
    return sorted(name for name in needed & sites.by_name.keys() if not sites.by_name[name].instances)


async def _why_not_ours(sites: SitesSettings) -> str:
    """Why the program on `sites.port` does not serve the embedded sites of this run; it resets what no run uses."""
    name = next(name for name, site in sites.by_name.items() if site.is_embedded)
    url, key = f"{lane_base(name, UNUSED_LANE)}:{sites.port}/__reset__", os.environ.get(KEY_VARIABLE, "")
    with suppress(SiteUnavailable):  # the run waits for it
        return why_foreign(sites.port, (await fetch(url, method="POST", headers={KEY_HEADER: key}, body=b"")).status)
    return ""


def _places(sites: SitesSettings, tasks: Sequence[Task]) -> Iterator[_Place]:
    needed = {name for task in tasks for name in task.sites}
    if sites.embedded:
        if sites.port is not None and needed & sites.by_name.keys():
            yield _Place(site="embedded sites", setting="sites.port", url=f"http://127.0.0.1:{sites.port}/__reset__")
        return
    for name in sorted(needed & sites.by_name.keys()):
        for url in sites.by_name[name].instances:
            hook = _hook(sites, sites.by_name[name], tasks)
            yield _Place(site=name, setting=_setting(sites, name, url), url=url, hook=hook)


def _setting(sites: SitesSettings, name: str, url: str) -> str:
    given = sites.given.get(name)
    tree: Mapping[str, object] = given if isinstance(given, Mapping) else {}
    if str(tree.get("url") or "").rstrip("/") != url:
        return f"sites.{name}.instances"
    variable = name.upper()
    if os.environ.get(variable, "").rstrip("/") == url:
        return f"{variable} in the environment, or sites.{name}.url"
    return f"sites.{name}.url"


def _hook(sites: SitesSettings, site: SiteSettings, tasks: Sequence[Task]) -> str:
    """The setting of what may start the site when it is reset, before its first task: a command, or an address that is
    not the site's own; "" = nothing does.
    """
    asked = sites.reset.when is ResetWhen.ASKED or sites.locks is SiteLocking.none
    if site.read_only or (asked and not any(task.require_reset and site.name in task.sites for task in tasks)):
        return ""
    own = f"sites.{site.name}.reset_"
    hooks = {f"{own}command": site.reset_command, f"{own}url": site.reset_url}
    if not any(hooks.values()):
        hooks = {"sites.reset.command": sites.reset.command, "sites.reset.url": sites.reset.url}
    there = {urlsplit(url).netloc for url in site.instances}
    for setting, hook in hooks.items():
        if hook and (setting.endswith("command") or (URL not in hook and urlsplit(hook).netloc not in there)):
            return setting
    return ""


def _refusal(place: _Place, why: str) -> str:
    if place.setting == "sites.port":
        return (
            f"the embedded sites are not on the port of sites.port={urlsplit(place.url).port}: {why}; start them there"
            f" (python -m {DEMO_SERVER} --port {urlsplit(place.url).port}, with {KEY_VARIABLE}), or set"
            " sites.port=null"
        )
    return (
        f"site {place.site} cannot be reached at {shown(place.url)}: {why}; start it, or correct its address with"
        f" {place.setting}"
    )
