"""Reads robots.txt, and asks for it. What the rules say of an address is protego's business (RFC 9309).

A file that there is not (4xx) allows all; one that cannot be had (5xx, no answer) disallows all, until it is asked for
again.
"""

import re
import time
from collections.abc import Callable
from urllib.parse import urlsplit

from protego import Protego

from harness.api.site_requests import fetch
from harness.errors import SiteUnavailable

MAX_BYTES = 500 * 1024
_MAX_WILDCARDS = 20
_FETCH_S = 10.0
_KEPT_S = 3600.0
_GONE_S = 60.0
_AGENT = re.compile(r"\s*user(?:-|\s*)agent\b\s*:?\s*([^#]*)", re.IGNORECASE)
_OTHERS = "others"
ALL_ALLOWED = Protego.parse("")
NOTHING_ALLOWED = Protego.parse("User-agent: *\nDisallow: /")


def parse(text: str, agent: str) -> Protego:
    """The rules for `agent` and for `*`. Lines with very many wildcards are left out."""
    # A byte order mark is not part of the first line, and a comment not of its rule.
    rules = (line.partition("#")[0] for line in text.removeprefix("\ufeff").splitlines())
    lines = (line for line in rules if line.count("*") <= _MAX_WILDCARDS)
    return Protego.parse("\n".join(_with_one_name_for_others(line, agent) for line in lines))


def _with_one_name_for_others(line: str, agent: str) -> str:
    """protego keeps a copy of each rule for every agent of its group: a file that names ten thousand agents before ten
    thousand rules would take gigabytes. It also takes `c` for the beginning of `cairn`.
    """
    found = _AGENT.match(line)
    if found is None or found[1].strip().lower() in (agent, "*"):
        return line
    return line[: found.start(1)] + _OTHERS


class RobotsCache:
    """Asks each host once an hour."""

    def __init__(self, agent: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._agent = agent
        self._clock = clock
        self._known: dict[str, tuple[float, Protego]] = {}

    async def refusal(self, url: str) -> str:
        """Why robots.txt does not let this address be opened; "" = it does."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        until, robots = self._known.get(origin, (0.0, ALL_ALLOWED))
        if until <= self._clock():
            robots, kept_s = await self._ask(origin)
            self._known[origin] = self._clock() + kept_s, robots
        if robots.can_fetch(url, self._agent):
            return ""
        return f"robots.txt of {parts.hostname} does not allow it (sites.live.robots)"

    async def _ask(self, origin: str) -> tuple[Protego, float]:
        try:
            answer = await fetch(
                f"{origin}/robots.txt", timeout_s=_FETCH_S, headers={"User-Agent": self._agent, "Accept": "text/plain"}
            )
        except SiteUnavailable:
            return NOTHING_ALLOWED, _GONE_S
        if answer.status >= 500:
            return NOTHING_ALLOWED, _GONE_S
        if answer.status >= 400:
            return ALL_ALLOWED, _KEPT_S
        return parse(answer.body[:MAX_BYTES].decode("utf-8", "replace"), self._agent), _KEPT_S
