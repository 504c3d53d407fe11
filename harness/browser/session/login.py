"""Logs in to sites: a login is probed first, and performed with the site's recipe (a form, or headers) only if the
probe fails.

The name of a task's storage state file says which sites need a login (`code.forum_state.json`: the part before the last
`_`, split at dots), as in WebArena. The storage after a login is kept for the lane's next episode with the same sites;
lanes share no login, so that no episode can log out another one.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error, Locator, Page

from harness.browser.driver.playwright_errors import in_working_time
from harness.browser.network.http import fetch
from harness.browser.session.browser_session import BrowserSession, SiteBinding
from harness.browser.tabs.storage import real_state
from harness.errors import ActionFailed, ConfigError, SiteUnavailable
from harness.records import Login, Site, Task

logger = logging.getLogger(__name__)

_Place = tuple[int, tuple[tuple[str, str], ...]]
"""Lane, and the sites with the instances they were on."""


def wanted(task: Task, sites: tuple[Site, ...]) -> tuple[Site, ...]:
    """The sites whose visitors the task wants logged in, as far as they have a recipe.

    Raises:
        ConfigError: There is neither a storage state file nor a recipe.
    """
    if task.storage_state is None:
        return ()
    by_name = {site.name: site for site in sites}
    names = Path(task.storage_state).name.rpartition("_")[0].split(".")
    known = tuple(by_name[name] for name in names if name in by_name and by_name[name].login is not None)
    missing = [name for name in names if name not in {site.name for site in known}]
    if missing and state_file(task) is None:
        if not missing[0]:
            raise ConfigError(
                f"task {task.task_id}: storage_state: {task.storage_state} does not exist, and its name says no site to"
                " log in to; create the file, or name it after the site, as shop_state.json"
            )
        raise ConfigError(
            f"task {task.task_id} needs a login to {missing[0]}, but {task.storage_state} does not exist and"
            f" sites.{missing[0]}.login is not set; create the file, or configure the login"
        )
    return known


def state_file(task: Task) -> str | None:
    """The task's storage state file, if it exists."""
    return task.storage_state if task.storage_state is not None and Path(task.storage_state).is_file() else None


class LoginCache:
    """What logins of this worker left in the browser, by lane and combination of sites."""

    def __init__(self) -> None:
        self._states: dict[_Place, Mapping[str, Any]] = {}

    def state(self, lane: SiteBinding, sites: tuple[Site, ...]) -> Mapping[str, Any] | None:
        """Storage to begin with; whether it still holds is for the probe to say."""
        return self._states.get(_key(lane, sites))

    async def keep(self, window: BrowserSession, sites: tuple[Site, ...]) -> None:
        await window.storage.refresh()
        state = window.storage.checkpoint()
        if state is not None:
            self._states[_key(window.lane, sites)] = real_state(state, window.lane.addresses)


def _key(lane: SiteBinding, sites: tuple[Site, ...]) -> _Place:
    return lane.number, tuple((site.name, site.url) for site in sites)


async def ensure(window: BrowserSession, sites: tuple[Site, ...], *, aside: bool = False) -> bool:
    """Log in to each site whose probe finds no login.

    Args:
        aside: Do it in a tab that is gone afterwards, because the current one is in use.
    Returns:
        Whether any login was needed.
    Raises:
        SiteUnavailable: A login does not take.
    """
    needed = False
    for site in sites:
        assert site.login is not None
        if await _is_logged_in(window, site.login):
            continue
        needed = True
        if site.login.headers:
            await _log_in_by_headers(window, site.login)
        elif aside:
            async with _aside(window):
                await _log_in(window, site, site.login)
        else:
            await _log_in(window, site, site.login)
        if not await _is_logged_in(window, site.login):
            done = f"the login form at {site.login.url} was submitted"
            if site.login.headers:
                done = f"{', '.join(site.login.headers)} was sent to {site.login.probe_url}"
            raise SiteUnavailable(f"{site.name}: {done}, but the login failed")
    return needed


async def _is_logged_in(window: BrowserSession, login: Login) -> bool:
    url = window.lane.addresses.to_real(login.probe_url)
    cookies = await window.context.cookies(url)
    if not cookies:
        return False
    header = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in cookies)
    answer = await fetch(url, headers={"Cookie": header, "Accept": "text/html,*/*"})
    # Sites lead visitors who are not logged in to a form, which answers with 200.
    stayed = _bare(answer.url) == _bare(url)
    return answer.status < 400 and (stayed or bool(login.probe_text)) and login.probe_text in answer.text


async def _log_in_by_headers(window: BrowserSession, login: Login) -> None:
    """Keep the cookies of an answer to them. Pages of the episode never send them: who logs out is logged out."""
    url = window.lane.addresses.to_real(login.probe_url)
    # Not as headers of the context, which would be sent to every host that a page names.
    answer = await fetch(url, headers={**login.headers, "Accept": "text/html,*/*"})
    host, is_secure = urlsplit(url).hostname or "", urlsplit(url).scheme == "https"
    for line in answer.cookies:
        parsed = SimpleCookie()
        with suppress(CookieError):  # of a name that no browser takes either
            parsed.load(line)
        for name, found in parsed.items():
            if found.value and (is_secure or not found["secure"]):
                kept: Any = {"name": name, "value": found.value, "domain": host, "path": found["path"] or "/"}
                kept |= {"httpOnly": bool(found["httponly"]), "secure": is_secure}
                await window.context.add_cookies([kept])


async def _log_in(window: BrowserSession, site: Site, login: Login) -> None:
    page, limit_s = window.tabs.current.page, window.settings.action_timeout_s
    try:
        await window.actor.goto(login.url)
        await window.settler.settle()
        for place, value in login.fields.items():
            await in_working_time(partial(_fill, _field(page, place), value), limit_s)
        submit = _button(page, login.submit)
        await in_working_time(lambda timeout_ms: submit.click(timeout=timeout_ms), limit_s)
        await window.settler.settle()
    except ActionFailed as exc:
        raise SiteUnavailable(f"{site.name}: {exc}") from exc
    except Error as exc:
        if exc.name != "TimeoutError":
            raise
        raise SiteUnavailable(
            f"{site.name}: the login form at {login.url} does not match sites.{site.name}.login"
        ) from exc
    logger.debug("logged in to %s", site.name)


async def _fill(field: Locator, value: str, timeout_ms: float) -> None:
    await field.fill(value, timeout=timeout_ms)


@asynccontextmanager
async def _aside(window: BrowserSession) -> AsyncIterator[None]:
    before = window.tabs.current
    tab = await window.tabs.open()
    try:
        yield
    finally:
        if not tab.page.is_closed():
            await window.tabs.close(tab)
        await window.tabs.focus(before)


def _field(page: Page, place: str) -> Locator:
    kind, found, text = place.partition("=")
    match kind if found else "":
        case "label":
            return page.get_by_label(text, exact=True)
        case "placeholder":
            return page.get_by_placeholder(text, exact=True)
    return page.locator(place)


def _button(page: Page, submit: str) -> Locator:
    if submit.startswith("button="):
        return page.get_by_role("button", name=submit.removeprefix("button="), exact=True)
    return page.locator(submit)


def _bare(url: str) -> str:
    return url.split("#")[0].rstrip("/")
