"""Tells a site that is gone from an address that is no good: the world answers for the one, the agent for the other.

A page that could not be had is what the agent sees, as long as the site it belongs to still answers at its front. A site
that does not is waited for, so that the attempts of a task are not spent while it is being started again.
"""

import asyncio
from collections.abc import Iterable
from urllib.parse import urlsplit

from harness.browser.fetching import is_up
from harness.errors import SiteUnavailable
from harness.records import Site

_ASKED_EVERY_S = 0.5


async def check(failed: Iterable[str], sites: Iterable[Site], *, timeout_s: float) -> None:
    """Look after documents that could not be had.

    Args:
        failed: Their real addresses.
        sites: Those of the lane; who is none of them may be gone.
    Raises:
        SiteUnavailable: One of the sites is gone: it does not answer, or with a failure of its own (status 500 and above).
    """
    hosts = {_host(url) for url in failed}
    for site in sites:
        if _host(site.url) in hosts and not await is_up(site.url, timeout_s=timeout_s):
            raise SiteUnavailable(f"{site.name} went away in the middle of the episode: {site.url} does not answer")


async def wait(sites: Iterable[Site], *, limit_s: float) -> None:
    """Until all of them answer, but no longer than so many seconds."""
    try:
        async with asyncio.timeout(limit_s):
            for site in sites:
                while not await is_up(site.url, timeout_s=limit_s):  # noqa: ASYNC110 (a site tells nobody that it is back)
                    await asyncio.sleep(_ASKED_EVERY_S)
    except TimeoutError:
        return


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower()
