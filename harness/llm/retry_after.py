"""How long a server asks us to wait, read from its response headers.

Pure: headers and the time of day in, seconds out. Values that cannot be read count as absent.

Source: RFC 9110 section 10.2.3 (`Retry-After`); https://platform.openai.com/docs/guides/rate-limits (`x-ratelimit-*`).
"""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")


def retry_after_s(headers: Mapping[str, str], *, status: int, now: float) -> float | None:
    """Seconds until the server wants the next request; None when it does not say.

    Args:
        headers: Looked up in lower case.
        status: Rate-limit resets only mean something on a 429; they come with every answer.
        now: Seconds since the epoch, for the date form of `Retry-After`.
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("retry-after", "").strip()
    if after:
        seconds = _number(after)
        return seconds if seconds is not None else _until(after, now)
    return _reset_s(headers) if status == 429 else None


def _reset_s(headers: Mapping[str, str]) -> float | None:
    """The limit that is used up counts; when none says that it is, the later of both."""
    waits: dict[str, float] = {}
    for kind in ("requests", "tokens"):
        wait = duration_s(headers.get(f"x-ratelimit-reset-{kind}", ""))
        if wait is not None:
            waits[kind] = wait
    used_up = [wait for kind, wait in waits.items() if headers.get(f"x-ratelimit-remaining-{kind}") == "0"]
    return max(used_up or waits.values(), default=None)


def duration_s(text: str) -> float | None:
    """Seconds of `1s`, `6m0s`, `20ms`, `1d2h`; a bare number is seconds; None for anything else."""
    text = text.strip()
    if not _DURATION.fullmatch(text):
        return _number(text)
    return sum(float(number) * _UNIT_S[unit] for number, unit in _PART.findall(text))


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,9}(\.\d+)?\s*", text) else None


def _until(text: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None
