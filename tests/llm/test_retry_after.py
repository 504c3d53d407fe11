"""What the server asks us to wait, read from headers."""

import pytest

from harness.llm.retry_after import duration_s, retry_after_s

NOW = 1_600_000_000.0


@pytest.mark.parametrize(
    ("headers", "status", "wait"),
    [
        ({}, 429, None),
        ({"retry-after": "7"}, 503, 7.0),
        ({"retry-after": " 1.5 "}, 429, 1.5),
        ({"retry-after": "Sun, 13 Sep 2020 12:26:50 GMT"}, 429, 10.0),
        ({"retry-after": "Sun, 13 Sep 2020 12:26:30 GMT"}, 429, 0.0),
        ({"retry-after": "soon"}, 429, None),
        ({"retry-after": "-3"}, 429, None),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 500, 251802300799.0),
        ({"x-ratelimit-reset-requests": "9" * 400 + "d"}, 429, None),
        ({"retry-after-ms": "250", "retry-after": "7"}, 429, 0.25),
        ({"retry-after": "2", "x-ratelimit-reset-requests": "9s"}, 429, 2.0),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 429, 360.0),
        ({"x-ratelimit-reset-requests": "1s"}, 500, None),
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-tokens": "6m0s",
                "x-ratelimit-remaining-tokens": "900",
            },
            429,
            1.0,
        ),
    ],
)
def test_the_wait_asked_for(headers: dict[str, str], status: int, wait: float | None) -> None:
    assert retry_after_s(headers, status=status, now=NOW) == wait


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("1h2m3.5s", 3723.5),
        ("1d2h", 93600.0),
        ("3", 3.0),
        ("", None),
        ("s", None),
        ("1x", None),
        ("nan", None),
        ("1e9", None),
    ],
)
def test_durations_of_rate_limit_headers(text: str, seconds: float | None) -> None:
    assert duration_s(text) == (None if seconds is None else pytest.approx(seconds))
