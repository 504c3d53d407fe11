"""Distinguishes a site outage (infrastructure failure) from a bad URL (shown to the agent).

A page that cannot be loaded is shown to the agent as long as the front page of its site answers. If the site is down,
Cairn waits for it, so that a restart of the site does not use up the attempts of a task.
Why: docs/decisions/sites.md#a-site-is-down-if-its-front-page-does-not-answer
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from harness.browser.network.addresses import host_of
from harness.browser.network.http import is_up, shown
from harness.errors import SiteUnavailable
from harness.records import Site

_ASKED_EVERY_S = 0.5
_LONGEST_ANSWER_S = 30.0
"""A server that accepts connections and does not answer is asked again after this, so that its return is noticed."""
_TOLD_EVERY_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitPolicy:
    """How a site that is gone is waited for."""

    limit_s: float
    tell: Callable[[str], None] = lambda note: None
    """Hears what is waited for and for how long at most, now and then; and "" when what was waited for is there."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    # By the clock of the loop, which leaves out the time in which this process is frozen.
    monotonic: Callable[[], float] = lambda: asyncio.get_running_loop().time()

    def countdown(self) -> Callable[[str], None]:
        """What tells a reason together with the time that is left: at once, and then every half a minute."""
        begun, told_at = self.monotonic(), -math.inf

        def say(why: str) -> None:
            nonlocal told_at
            now = self.monotonic()
            left_s = begun + self.limit_s - now
            if now - told_at >= _TOLD_EVERY_S and left_s > 0:
                told_at = now
                self.tell(f"{why} {round(left_s, 0 if left_s >= 1 else 2):g} s")

        return say


async def check(failed: Iterable[str], sites: Iterable[Site], *, timeout_s: float, refused: Iterable[str] = ()) -> None:
    """Look after documents that could not be had, and changes that could not be sent.

    Args:
        failed: Real addresses of the documents.
        sites: Those of the lane; who is none of them may be gone.
        refused: Real addresses that found no connection. What was to be changed there is not, and the page may not
            show it: it does not matter that the site answers by now.
    Raises:
        SiteUnavailable: One of the sites is gone: it does not answer, or with a failure of its own (status 500 and
            above).
    """
    hosts, without = {host_of(url) for url in failed}, {host_of(url) for url in refused}
    for site in sites:
        why = f"{site.name} went down during the episode: {shown(site.url)}"
        if host_of(site.url) in without:
            raise SiteUnavailable(f"{why} accepted no connection")
        # An error at one address does not tell a wrong link from a stopped server; the front page does.
        if host_of(site.url) in hosts and not await is_up(site.url, timeout_s=timeout_s):
            raise SiteUnavailable(f"{why} does not answer")


async def wait(sites: Iterable[Site], patience: WaitPolicy) -> bool:
    """Until all of them answer, but no longer than so many seconds; whether they do."""
    say = patience.countdown()
    try:
        async with asyncio.timeout(patience.limit_s):
            for site in sites:
                while not await is_up(site.url, timeout_s=min(patience.limit_s, _LONGEST_ANSWER_S)):
                    say(f"{site.name} does not answer; waiting up to")
                    await patience.sleep(_ASKED_EVERY_S)
    except TimeoutError:
        return False
    return True
