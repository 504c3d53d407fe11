"""Faults the scripted endpoint injects, by rule, and the counting that some rules need.

A rule is data: `{"on": {"task_id": …, "step": …, "every": n, "first": n}, "do": …, "retry_after": s, "delay_ms": n}`.
All conditions under `on` must hold; without any, every request is hit. `task_id` and `step` are those of the decision
asked for; `every` hits each n-th of the requests that fit them; `first` hits the first n attempts at one and the same
request (recognized by its bytes), so that a retry gets through. The first rule that hits wins.

`do` is an HTTP status (`"429"`, `"503"`, `"401"`, …; in the error shape of the interface), `slow` (answer after
`delay_ms`), `hang` (never answer), `cut` (drop the connection within the answer), `malformed` (half a JSON object),
`empty` (no answer in it), `unparseable` (a reply without an action), `length` (a reply that was cut off at the limit of
tokens) or `refusal`. `retry_after` becomes the `Retry-After` header.

`limit` is not a fault but a rate limit, and refuses with 429 only what exceeds it: `{"do": "limit", "rpm": 60}`, with
`burst` (how many at once after a rest; all of `rpm`, if not said), `window` (`bucket`, which refills all the time, or
`fixed`, a minute that begins anew), `hint` (whether a refusal says in `Retry-After` when there is room) and `tell`
(whether every answer has OpenAI's `x-ratelimit-*-requests`).
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from harness.errors import ConfigError
from harness.plugins.demo.model.rate_limits import Bucket, FixedWindow, Limit

KINDS = ("slow", "hang", "cut", "malformed", "empty", "unparseable", "length", "refusal", "limit")
WINDOWS = ("bucket", "fixed")
_COUNTS = ("step", "every", "first")
_NUMBERS = ("retry_after", "delay_ms", "rpm", "burst")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    do: str
    task_id: str | None = None
    step: int | None = None
    every: int | None = None
    first: int | None = None
    retry_after: float | None = None
    """Seconds."""
    delay_ms: float = 1000.0
    """Of `slow` only."""
    rpm: float = 0.0
    """Of `limit` only; so the next four."""
    burst: float | None = None
    window: str = "bucket"
    hint: bool = True
    tell: bool = False

    @property
    def status(self) -> int | None:
        """The HTTP status to answer with; None = another kind of fault."""
        return 429 if self.do == "limit" else int(self.do) if self.do.isdigit() else None


def read_faults(data: Any) -> tuple[Fault, ...]:
    """Check fault rules given as plain data.

    Raises:
        ConfigError: A rule has a wrong or unknown field.
    """
    if not isinstance(data, list | tuple):
        raise ConfigError("llm.faults must be a list of rules")
    return tuple(_fault(rule, f"llm.faults, rule {number}") for number, rule in enumerate(data, start=1))


def _fault(rule: Any, place: str) -> Fault:
    if not isinstance(rule, dict):
        raise ConfigError(f"{place}: must be an object with do and on")
    conditions = {} if rule.get("on") is None else rule["on"]
    values = {name: value for name, value in rule.items() if name != "on"}
    if not isinstance(conditions, dict) or set(conditions) & set(values):
        raise ConfigError(f"{place}: on must be an object of conditions")
    known = {one.name for one in fields(Fault)}
    if unknown := sorted((set(values) | set(conditions)) - known):
        raise ConfigError(f"{place}: unknown field {unknown[0]}")
    do = str(values.get("do", ""))
    if do not in KINDS and not (len(do) == 3 and do.isascii() and do.isdigit() and 400 <= int(do) <= 599):
        raise ConfigError(f"{place}: do must be an HTTP status from 400 to 599 or one of {', '.join(KINDS)}")
    for name in _COUNTS:
        value = conditions.get(name)
        if value is not None and (type(value) is not int or value < 1):
            raise ConfigError(f"{place}: {name} must be a whole number of at least 1, not {value!r}")
    for name in _NUMBERS:
        value = values.get(name)
        if value is not None and (type(value) not in (int, float) or not 0 <= value < 1e9):
            raise ConfigError(f"{place}: {name} must be a number of at least 0, not {value!r}")
    _check_limit(do, values, place)
    task_id = conditions.get("task_id")
    merged = {**values, **conditions, "do": do, "task_id": None if task_id is None else str(task_id)}
    return Fault(**merged)


def _check_limit(do: str, values: Mapping[str, Any], place: str) -> None:
    if (do == "limit") != bool(values.get("rpm")):
        raise ConfigError(f"{place}: a limit is said as do: limit with rpm, a number above 0")
    if values.get("window", "bucket") not in WINDOWS:
        raise ConfigError(f"{place}: window must be one of {', '.join(WINDOWS)}")
    for name in ("hint", "tell"):
        if type(values.get(name, True)) is not bool:
            raise ConfigError(f"{place}: {name} must be true or false")
    if (burst := values.get("burst")) is not None and burst < 1:
        raise ConfigError(f"{place}: burst must be at least 1, or nothing is ever let in")


def _limit_of(fault: Fault) -> Limit:
    if fault.window == "fixed":
        return FixedWindow(per_minute=fault.rpm)
    return Bucket(per_minute=fault.rpm, size=fault.burst or max(1.0, fault.rpm))


class Injector:
    """Chooses the fault for each request; remembers only what `every`, `first` and limits need."""

    def __init__(self, faults: Sequence[Fault], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._faults = tuple(faults)
        self._limits = {number: _limit_of(fault) for number, fault in enumerate(self._faults) if fault.do == "limit"}
        self._monotonic = monotonic
        self._fitting: Counter[int] = Counter()
        self._attempts: Counter[tuple[int, str]] = Counter()

    def choose(self, *, task_id: str | None, step: int, digest: str) -> Fault | None:
        """The fault for this request, if any; every call counts as one request."""
        hits = [
            due
            for number, fault in enumerate(self._faults)
            if fault.task_id in (None, task_id) and fault.step in (None, step)
            if self._due(number, fault, digest) and (due := self._exceeded(number, fault))
        ]
        return hits[0] if hits else None

    def headers(self) -> dict[str, str]:
        """The headers of the first limit that sends any."""
        now = self._monotonic()
        given = [limit.headers(now) for number, limit in self._limits.items() if self._faults[number].tell]
        return given[0] if given else {}

    def _exceeded(self, number: int, fault: Fault) -> Fault | None:
        """The fault itself; of a limit only when it lets nothing in, with the wait it asks for."""
        if number not in self._limits:
            return fault
        wait_s = self._limits[number].admit(self._monotonic())
        return replace(fault, retry_after=math.ceil(wait_s) if fault.hint else None) if wait_s else None

    def _due(self, number: int, fault: Fault, digest: str) -> bool:
        self._fitting[number] += 1
        self._attempts[number, digest] += 1
        if fault.every is not None and self._fitting[number] % fault.every:
            return False
        return fault.first is None or self._attempts[number, digest] <= fault.first
