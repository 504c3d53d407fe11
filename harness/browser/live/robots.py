"""Reads robots.txt: the rules for us, and what they say of an address (RFC 9309). Pure but for `RobotsCache`.

The longest rule that matches decides, and at the same length the one that allows; `*` and `$` are what the RFC makes
of them. A file that there is not (4xx) allows all; one that cannot be had (5xx, no answer) disallows all, until it is
asked for again.
"""

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from harness.browser.network.http import fetch
from harness.errors import SiteUnavailable

MAX_BYTES = 500 * 1024
_MAX_RULES = 5000
_MAX_WILDCARDS = 20
_FETCH_S = 10.0
_KEPT_S = 3600.0
_GONE_S = 60.0


@dataclass(frozen=True, slots=True)
class Rule:
    allows: bool
    path: str

    def matches(self, path: str) -> bool:
        """By plain pieces between the wildcards: a pattern from outside is never run as a regular expression."""
        pattern, anchored = (self.path[:-1], True) if self.path.endswith("$") else (self.path, False)
        pieces = pattern.split("*")
        if not path.startswith(pieces[0]):
            return False
        at = len(pieces[0])
        for piece in pieces[1:]:
            found = path.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        if not anchored:
            return True
        return path.endswith(pieces[-1]) if len(pieces) > 1 else at == len(path)


Robots = tuple[Rule, ...]
NOTHING_ALLOWED: Robots = (Rule(False, "/"),)


def parse(text: str, agent: str) -> Robots:
    """The rules of the group for `agent`, else of that for `*`; () = everything is allowed."""
    ours: list[Rule] = []
    theirs: list[Rule] = []
    named, group = False, set[str]()
    in_rules = False
    for key, value in _lines(text):
        if key == "user-agent":
            group = {value.lower()} if in_rules else group | {value.lower()}
            in_rules = False
            named = named or agent in group
        elif key in ("allow", "disallow"):
            in_rules = True
            if not value or value.count("*") > _MAX_WILDCARDS:
                continue
            for wanted, rules in ((agent, ours), ("*", theirs)):
                if wanted in group and len(rules) < _MAX_RULES:
                    rules.append(Rule(key == "allow", value))
    return tuple(ours if named else theirs)


def _lines(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip().lower(), value.strip()


def allows(robots: Robots, url: str) -> bool:
    """What the rules say of an address."""
    parts = urlsplit(url)
    path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    if path == "/robots.txt":
        return True
    found = [(len(re.sub(r"\*+$", "", rule.path)), rule.allows) for rule in robots if rule.matches(path)]
    return max(found)[1] if found else True


class RobotsCache:
    """Asks each host once an hour."""

    def __init__(self, agent: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._agent = agent
        self._clock = clock
        self._known: dict[str, tuple[float, Robots]] = {}

    async def refusal(self, url: str) -> str:
        """Why robots.txt does not let this address be opened; "" = it does."""
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        until, robots = self._known.get(origin, (0.0, ()))
        if until <= self._clock():
            robots, kept_s = await self._ask(origin)
            self._known[origin] = self._clock() + kept_s, robots
        if allows(robots, url):
            return ""
        return f"robots.txt of {parts.hostname} does not allow it (sites.live.robots)"

    async def _ask(self, origin: str) -> tuple[Robots, float]:
        try:
            answer = await fetch(
                f"{origin}/robots.txt", timeout_s=_FETCH_S, headers={"User-Agent": self._agent, "Accept": "text/plain"}
            )
        except SiteUnavailable:
            return NOTHING_ALLOWED, _GONE_S
        if answer.status >= 500:
            return NOTHING_ALLOWED, _GONE_S
        if answer.status >= 400:
            return (), _KEPT_S
        return parse(answer.body[:MAX_BYTES].decode("utf-8", "replace"), self._agent), _KEPT_S
