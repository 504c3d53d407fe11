"""Asks sites whether anything happened on them (`sites.X.effects_url`)."""

import asyncio
from collections.abc import Collection, Iterable
from contextlib import suppress

from harness.browser.network.http import fetch
from harness.codec import digest
from harness.errors import SiteUnavailable
from harness.records import Site

_ASKED_WITHIN_S = 5.0


async def answers(sites: Iterable[Site], names: Collection[str]) -> dict[str, str]:
    """Site to a hash of what its `effects_url` answers, for those of the named sites that have one and answer."""
    found: dict[str, str] = {}

    async def ask(name: str, url: str) -> None:
        with suppress(SiteUnavailable):  # what cannot be asked is not known, and no reason to lose a decision
            answer = await fetch(url, timeout_s=_ASKED_WITHIN_S)
            found[name] = digest([answer.status, answer.text])

    await asyncio.gather(
        *(ask(site.name, site.effects_url) for site in sites if site.effects_url and site.name in names)
    )
    return found
