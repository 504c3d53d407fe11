"""What an endpoint says is left of its limits, and when the next request fits in.

OpenAI's headers come with every answer: `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, the last one being the
time until the whole limit is there again. Limits are buckets that refill all the time (OpenAI's), or windows that begin
anew (many a proxy's); which one it is shows in the end of that time: a window's stays where it is.

Anthropic's are `anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}`, the last one a time of day.

Source: https://platform.openai.com/docs/guides/rate-limits (rate limits in headers);
https://docs.anthropic.com/en/api/rate-limits (response headers).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from harness.llm.retry_after import duration_s

SPARE = 0.01
"""Share of a limit that is left alone: others may ask the same endpoint, and answers overtake each other."""
SMALLEST = 8
"""A limit of fewer cannot be followed: answers come too late to say what is left of it."""
TELLING_S = 0.5
"""Answers nearer to each other than that do not tell a window from a bucket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderAllowance:
    """One limit, as the headers of one answer give it."""

    limit: float
    remaining: float
    reset_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitHeaders:
    """Both limits; None = the endpoint does not say."""

    requests: HeaderAllowance | None = None
    tokens: HeaderAllowance | None = None


def read_headers(headers: Mapping[str, str], now: float) -> RateLimitHeaders:
    """Read response headers (names in lower case); `now`: seconds since the epoch."""
    requests, tokens = (
        _allowance(headers, "x-ratelimit-{}-" + kind, None)
        or _allowance(headers, f"anthropic-ratelimit-{kind}-{{}}", now)
        for kind in ("requests", "tokens")
    )
    return RateLimitHeaders(requests=requests, tokens=tokens)


def _allowance(headers: Mapping[str, str], name: str, now: float | None) -> HeaderAllowance | None:
    """`now`: the reset is a time of day; None = it is a duration."""
    limit, remaining = (_number(headers.get(name.format(part), "")) for part in ("limit", "remaining"))
    reset = headers.get(name.format("reset"), "")
    reset_s = duration_s(reset) if now is None else _until(reset, now)
    if limit is None or limit < SMALLEST or remaining is None or reset_s is None:
        return None
    return HeaderAllowance(limit=limit, remaining=min(remaining, limit), reset_s=reset_s)


def _until(text: str, now: float) -> float | None:
    """Seconds until a time of day in RFC 3339."""
    try:
        at = datetime.fromisoformat(text[:40])
        return max(0.0, (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    # `isdigit` alone takes superscripts, too, which `float` refuses.
    return float(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


class HeaderBudget:
    """One limit of the endpoint, followed from answer to answer."""

    def __init__(self) -> None:
        self.spent = 0.0
        """All that was ever spent; what an answer says is as of its own request."""
        self._latest: HeaderAllowance | None = None
        self._at = 0.0
        self._spent_then = 0.0
        self._compared: tuple[HeaderAllowance, float] | None = None
        self._is_window = False

    def spend(self, cost: float) -> None:
        self.spent += cost

    def hear(self, allowance: HeaderAllowance, spent_then: float, sent_at: float) -> None:
        """Take over what an answer says, as of when its request went out: `spent_then` was `spent` just after."""
        if self._latest is not None and spent_then < self._spent_then:
            return
        before, at = self._compared or (allowance, sent_at)
        if sent_at - at >= TELLING_S:
            moved_s = sent_at + allowance.reset_s - (at + before.reset_s)
            self._is_window = allowance.remaining <= before.remaining and moved_s < (sent_at - at) / 2
            self._compared = None
        self._compared = self._compared or (allowance, sent_at)
        self._latest, self._at, self._spent_then = allowance, sent_at, spent_then

    def ready_at(self, cost: float, now: float) -> float:
        """When `cost` fits in; never later than the whole limit does."""
        latest = self._latest
        if latest is None:
            return now
        age_s = now - self._at
        if self._is_window:
            left = latest.remaining if age_s < latest.reset_s else latest.limit
            per_s = 0.0
        else:
            per_s = (latest.limit - latest.remaining) / latest.reset_s if latest.reset_s > 0 else float("inf")
            left = min(latest.limit, latest.remaining + (per_s * age_s if age_s else 0.0))
        lacking = min(cost + SPARE * latest.limit, latest.limit) - (left - (self.spent - self._spent_then))
        if lacking <= 0:
            return now
        whole_s = max(0.0, latest.reset_s - age_s)
        return now + (min(lacking / per_s, latest.reset_s) if per_s else whole_s)
