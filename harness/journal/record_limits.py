"""Which numbers a record of ours can hold: what lies beyond is damage, or made up, and nothing is reckoned with it.

Far above anything a run measures, and low enough that sums over a whole run folder stay finite numbers of 64 bits.
Pure.
"""

from harness.records import Acted, Decided, Episode, Judged, Record, Resumed, Scored, Usage

MAX_TIMESTAMP_S = 253_402_300_800.0
"""The year 10000, in seconds since the epoch; no calendar goes beyond."""
MAX_DURATION_MS = 1e12
"""Some thirty years."""
MAX_TOKENS = 1 << 46
"""Of one record; an endpoint is believed up to 2^40 for one reply."""
MAX_TOTAL_TOKENS = 1 << 52
"""Of one journal."""
MAX_COST_USD = 1e12
"""Of one record."""
MAX_TOTAL_COST_USD = 1e15


def invalid_record(record: Record) -> str | None:
    """What in `record` no run can have measured; None when it is sound."""
    if not 0.0 <= record.at < MAX_TIMESTAMP_S:
        return f"at={record.at:g} is no time"
    match record:
        case Acted() | Decided() | Resumed() if not 0.0 <= record.elapsed_ms <= MAX_DURATION_MS:
            return f"elapsed_ms={record.elapsed_ms:g} is no duration"
        case Decided() | Judged():
            return invalid_usage(record.usage)
        case Scored():
            return next((why for one in record.verdicts if (why := invalid_usage(one.usage))), None)
    return None


def invalid_totals(episode: Episode) -> str | None:
    """The same of what the records of a journal add up to."""
    for usage in (episode.total_usage, episode.total_judge_usage):
        if why := invalid_total(usage):
            return why
    return None


def invalid_total(usage: Usage) -> str | None:
    return invalid_usage(usage, most=MAX_TOTAL_TOKENS, dearest=MAX_TOTAL_COST_USD)


def invalid_usage(usage: Usage, *, most: int = MAX_TOKENS, dearest: float = MAX_COST_USD) -> str | None:
    for name in ("prompt_tokens", "completion_tokens", "requests"):
        if not 0 <= (count := getattr(usage, name)) <= most:
            return f"{name}={count} is no count"
    return None if 0.0 <= usage.cost_usd <= dearest else f"cost_usd={usage.cost_usd:g} is no cost"
