"""The range of numbers that a record may contain; a number outside of it is damage or forged.

The limits are far above anything that a run measures, and low enough that sums over a run folder stay finite 64-bit
numbers. Pure.
"""

from harness.records import (
    Acted,
    Answered,
    Decided,
    Episode,
    Exited,
    Failed,
    Judged,
    Record,
    Replied,
    Resumed,
    Scored,
    Usage,
)

MAX_TIMESTAMP_S = 253_402_300_800.0
"""The year 10000, in seconds since the epoch; no calendar goes beyond."""
MAX_DURATION_MS = 1e12
"""Some thirty years."""
MAX_TOKENS = 1 << 46
"""Limit for one record; an endpoint is believed up to 2^40 for one reply."""
MAX_TOTAL_TOKENS = 1 << 52
"""Of one journal."""
MAX_COST_USD = 1e12
"""Of one record."""
MAX_TOTAL_COST_USD = 1e15
_COUNTS = (
    *("prompt_tokens", "completion_tokens", "requests"),
    *("cached_tokens", "cache_write_tokens", "reasoning_tokens", "from_cache"),
)


def invalid_record(record: Record) -> str | None:
    """What in `record` no run can have measured; None when it is sound."""
    if not 0.0 <= record.at < MAX_TIMESTAMP_S:
        return f"at={record.at:g} is not a time"
    match record:
        case Acted() | Decided() | Resumed() | Answered() | Exited() if not 0.0 <= record.elapsed_ms <= MAX_DURATION_MS:
            return f"elapsed_ms={record.elapsed_ms:g} is not a duration"
        case Decided() if why := invalid_usage(record.counted):
            return why
        case Decided() | Replied() | Failed() | Judged() | Answered():
            return invalid_usage(record.usage)
        case Scored():
            return next((why for one in record.verdicts if (why := invalid_usage(one.usage))), None)
    return None


def invalid_totals(episode: Episode, *, before: Episode) -> str | None:
    """What is impossible in the totals of a journal, as far as its last record changed them."""
    # By identity: most records leave the totals as they are, and a reading checks every line.
    if episode.total_usage is not before.total_usage and (why := invalid_total(episode.total_usage)):
        return why
    spent = episode.total_judge_usage
    return invalid_total(spent) if spent is not before.total_judge_usage else None


def invalid_total(usage: Usage) -> str | None:
    return invalid_usage(usage, most=MAX_TOTAL_TOKENS, dearest=MAX_TOTAL_COST_USD)


def invalid_usage(usage: Usage, *, most: int = MAX_TOKENS, dearest: float = MAX_COST_USD) -> str | None:
    for name in _COUNTS:
        if not 0 <= (count := getattr(usage, name)) <= most:
            return f"{name}={count} is not a count"
    if not 0.0 <= usage.cost_usd <= dearest:
        return f"cost_usd={usage.cost_usd:g} is not a cost"
    # Below 0 where writing into a provider's cache cost more than reading from it saved.
    return None if abs(usage.saved_usd) <= dearest else f"saved_usd={usage.saved_usd:g} is not a cost"
