"""Rate limits of the scripted endpoint, as endpoints have them: a bucket that refills, or a window that begins anew."""

import math
from dataclasses import dataclass

MINUTE_S = 60.0


@dataclass
class Bucket:
    """Holds up to `size` requests and refills all the time; full at the beginning."""

    per_minute: float
    size: float
    level: float = math.inf
    at: float = 0.0

    def admit(self, now: float) -> float:
        """Let one request in, or say after how many seconds there is room; 0 = it is in."""
        self._fill(now)
        if self.level < 1 - 1e-9:
            return (1 - self.level) * MINUTE_S / self.per_minute
        self.level -= 1
        return 0.0

    def headers(self, now: float) -> dict[str, str]:
        """What is left, as OpenAI tells it."""
        self._fill(now)
        return _headers(self.size, self.level, (self.size - self.level) * MINUTE_S / self.per_minute)

    def _fill(self, now: float) -> None:
        self.level = min(self.size, self.level + (now - self.at) * self.per_minute / MINUTE_S)
        self.at = now


@dataclass
class FixedWindow:
    """So many requests in a minute, and then in the next one."""

    per_minute: float
    began: float = -math.inf
    used: int = 0

    def admit(self, now: float) -> float:
        """See `Bucket.admit`."""
        self._turn(now)
        if self.used >= self.per_minute:
            return self.began + MINUTE_S - now
        self.used += 1
        return 0.0

    def headers(self, now: float) -> dict[str, str]:
        """See `Bucket.headers`."""
        self._turn(now)
        return _headers(self.per_minute, self.per_minute - self.used, self.began + MINUTE_S - now)

    def _turn(self, now: float) -> None:
        if now >= self.began + MINUTE_S:
            self.began, self.used = now, 0


Limit = Bucket | FixedWindow


def _headers(limit: float, left: float, reset_s: float) -> dict[str, str]:
    said = {"limit": f"{limit:.0f}", "remaining": f"{max(0.0, math.floor(left)):.0f}", "reset": f"{reset_s:.3f}s"}
    return {f"x-ratelimit-{name}-requests": value for name, value in said.items()}
