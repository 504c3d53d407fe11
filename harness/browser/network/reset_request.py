"""Asks a reset hook to reset a site, and waits for a hook that is not up yet.

If the hook does not answer, or answers with a server error, it is asked again with growing intervals: its site may be
starting or busy. If it rejects the request, the settings are wrong and no retry helps.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from harness.browser.network.http import fetch, shown
from harness.browser.network.site_health import WaitPolicy
from harness.errors import ConfigError, SiteUnavailable

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 8.0
_PASSWORD = re.compile(rb"""type=["']?password\b""", re.IGNORECASE)
"""A field of a login form."""


@dataclass(frozen=True, slots=True)
class Hook:
    """An address that puts a site back when it is POSTed to."""

    url: str
    name: str
    """What the person calls it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    foreign: Callable[[int], str] = lambda status: ""
    """Why an answer with this status is none of the site, for the person; "" = it may be."""


async def post_until_ok(hook: Hook, *, timeout_s: float, patience: WaitPolicy) -> None:
    """POST to the hook until it was done.

    Args:
        timeout_s: Of one try.
        patience: No try begins later after the first failure than its limit.
    Raises:
        ConfigError: It answers 4xx, or leads to a login.
        SiteUnavailable: It failed all the time.
    """
    await retry_until_ok(partial(_failure, hook, timeout_s=timeout_s), hook=hook.name, patience=patience)


async def retry_until_ok(attempt: Callable[[], Awaitable[str | None]], *, hook: str, patience: WaitPolicy) -> None:
    """Try until it worked, ever more slowly.

    Args:
        attempt: Why it has to be tried again; None = it was done.
        hook: What the person calls it.
        patience: No try begins later after the first failure than its limit.
    Raises:
        SiteUnavailable: It failed all the time.
    """
    begun = patience.monotonic()
    failed_at: float | None = None
    pause_s = _FIRST_PAUSE_S
    while (why := await attempt()) is not None:
        now = patience.monotonic()
        if failed_at is None:
            failed_at, say = now, patience.countdown()  # it counts from the first failure
        say(f"{hook}: {why}; retrying for up to")
        if (left_s := failed_at + patience.limit_s - now) <= 0:
            raise SiteUnavailable(f"{hook}: {why}; gave up after {now - begun:.0f} s")
        await patience.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
    if failed_at is not None:
        patience.tell("")


async def _failure(hook: Hook, *, timeout_s: float) -> str | None:
    """Try once; why it has to be tried again, None when it was done."""
    try:
        answer = await fetch(hook.url, method="POST", headers=hook.headers, body=b"", timeout_s=timeout_s)
    except SiteUnavailable as error:
        return f"{shown(hook.url)} does not answer ({error.__cause__ or error})"
    if why := hook.foreign(answer.status):
        raise ConfigError(why)
    if 400 <= answer.status < 500:
        raise ConfigError(
            f"{hook.name}: {shown(hook.url)} answers {answer.status}; fix it and run the same command to continue"
        )
    if answer.url != hook.url and _PASSWORD.search(answer.body):  # with 200, while nothing was reset
        raise ConfigError(
            f"{hook.name}: {shown(hook.url)} leads to a login, {shown(answer.url)}; use an address that needs none,"
            " or a reset_command that logs in"
        )
    return f"{shown(hook.url)} answers {answer.status}" if answer.status >= 500 else None
