"""How numbers are written for people: the same in pages and in terminals."""

from math import floor, log10

from harness.runs.intervals import Interval


def in_doubt(scores: int) -> str:
    """How many scores carry a doubt."""
    return f"{scores} score{'s carry' if scores != 1 else ' carries'} a doubt"


def percent(share: float) -> str:
    return f"{share:.1%}"


def graded(score: float) -> str:
    """A score in six digits; in all of them where six would make a failed episode look passed."""
    short = f"{score:g}"
    return repr(score) if short == "1" and score != 1.0 else short


def limits(found: Interval) -> str:
    """The ends of an interval of a share: `26.3% to 55.4%`."""
    return f"{percent(found.low)} to {percent(found.high)}"


def percent_within(share: float, low: float, high: float) -> str:
    """A share with its interval: `40.0% (26.3% to 55.4%)`."""
    return f"{percent(share)} ({percent(low)} to {percent(high)})"


def rate_within(found: Interval) -> str:
    """A rate with its interval; `-` where nothing was counted."""
    return "-" if found.is_of_nothing else percent_within(found.value, found.low, found.high)


def points(difference: float) -> str:
    """A difference of two shares, in percentage points."""
    return f"{difference * 100:+z.1f} pp".replace("-", "−")  # z: no difference is not −0.0


def measure(value: float, unit: str) -> str:
    """A number with its unit (`count`, `usd` or `seconds`), short enough for a table."""
    match unit:
        case "usd":
            return f"${value:,.2f}" if value >= 1 or value == 0 else _dollars(value)
        case "seconds":
            return duration(value)
        case _:
            return _count(value)


def cost(usd: float, priced: bool) -> str:
    """What was paid; without a price for any of it that is unknown, and never nothing."""
    if not priced and not usd:
        return "unknown"
    return f"{'' if priced else '≥ '}{measure(usd, 'usd')}"


def precise_cost(usd: float, priced: bool) -> str:
    """The same with four digits, for a column of costs and for a line in which it grows."""
    return f"{'' if priced else '≥ '}{_dollars(usd)}" if priced or usd else "unknown"


def duration(seconds: float) -> str:
    """`0.4 s`, `2:05 min` or `3:07 h`."""
    # From 59.5 on, "60 s" would be shown.
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, second = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{second:02d} min"
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d} h"


def ago(seconds: float) -> str:
    """How long ago something was, as a person says it: `just now`, `3 min ago`, `2 days ago`."""
    if seconds < 60:
        return "just now"
    for size, name in ((86_400, "day"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' * (name == 'day' and count > 1)} ago"
    raise AssertionError("a minute is the smallest")


def _dollars(usd: float) -> str:
    """Four digits; two that are not 0 where these would say that it was free."""
    digits = min(12, 1 - floor(log10(usd))) if 0 < usd < 0.00005 else 4
    return f"${usd:.{digits}f}"


def _count(value: float) -> str:
    if value < 10_000:
        return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.1f}"
    return f"{value / 1000:,.1f}k" if value < 1_000_000 else f"{value / 1_000_000:,.2f}M"
