"""The endpoint's rate limits let in what they should, and say when there is room again."""

from typing import Any

import httpx
import pytest

from harness.errors import ConfigError
from harness.llm.rate_limit_headers import HeaderAllowance, read_headers
from harness.loopback_server import serving
from harness.plugins.demo.model.fault_injection import Injector, read_faults
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import Scripts


class Limited:
    """An injector with one rule and a clock of its own."""

    def __init__(self, **rule: Any) -> None:
        self.now = 1000.0
        self.injector = Injector(read_faults([{"do": "limit", **rule}]), lambda: self.now)

    def ask(self) -> float | None:
        """None = let in; else the wait that is asked for, -1 when none is said."""
        fault = self.injector.choose(task_id="1", step=1, digest="d")
        if fault is None:
            return None
        assert fault.status == 429
        return -1.0 if fault.retry_after is None else fault.retry_after


def test_a_bucket_lets_a_burst_in_and_then_what_refills() -> None:
    limit = Limited(rpm=60, burst=3)
    assert [limit.ask() for _ in range(5)] == [None, None, None, 1, 1]
    limit.now += 2.5
    assert [limit.ask() for _ in range(3)] == [None, None, 1]
    limit.now += 0.5
    assert limit.ask() is None
    limit.now += 3600
    assert [limit.ask() for _ in range(4)] == [None, None, None, 1], "it never holds more than its size"


def test_a_window_begins_anew_every_minute() -> None:
    limit = Limited(rpm=3, window="fixed")
    assert [limit.ask() for _ in range(4)] == [None, None, None, 60]
    limit.now += 45.2
    assert limit.ask() == 15
    limit.now += 14.8
    assert [limit.ask() for _ in range(4)] == [None, None, None, 60]


def test_without_hint_a_refusal_does_not_say_for_how_long() -> None:
    limit = Limited(rpm=1, hint=False)
    assert [limit.ask(), limit.ask()] == [None, -1]


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ({"rpm": 30, "burst": 10}, HeaderAllowance(limit=10, remaining=7, reset_s=6)),
        ({"rpm": 30, "window": "fixed"}, HeaderAllowance(limit=30, remaining=27, reset_s=60)),
    ],
)
def test_a_limit_that_tells_says_what_is_left_as_openai_does(rule: dict[str, Any], left: HeaderAllowance) -> None:
    limit = Limited(tell=True, **rule)
    assert [limit.ask() for _ in range(3)] == [None] * 3
    assert read_headers(limit.injector.headers(), 0.0).requests == left
    assert Limited(**rule).injector.headers() == {}


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"do": "limit"}, "with rpm"),
        ({"do": "limit", "rpm": 0}, "with rpm"),
        ({"do": "429", "rpm": 60}, "with rpm"),
        ({"do": "limit", "rpm": -1}, "rpm must be a number"),
        ({"do": "limit", "rpm": 60, "burst": 0.5}, "burst must be at least 1"),
        ({"do": "limit", "rpm": 60, "window": "minute"}, "window must be one of"),
        ({"do": "limit", "rpm": 60, "hint": 1}, "hint must be true or false"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(rule: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=f"rule 1: .*{says}"):
        read_faults([rule])


async def test_over_http_a_refusal_has_retry_after_and_every_answer_what_is_left() -> None:
    faults = read_faults([{"do": "limit", "rpm": 1, "burst": 10, "tell": True}])
    async with (
        serving(endpoint_app(Scripts(by_intent={}), faults)) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        answers = [await client.post("/v1/chat/completions", json={"messages": []}) for _ in range(12)]
        log = (await client.get("/__requests__")).json()
    assert [one.status_code for one in answers[:10]] == [200] * 10
    assert answers[-1].status_code == 429 and 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert answers[-1].json()["error"]["type"] == "rate_limit_exceeded"
    left = read_headers(answers[0].headers, 0.0).requests
    assert left is not None and (left.limit, left.remaining) == (10, 9)
    assert log[-1]["fault"] == "limit" and log[0]["at_s"] <= log[-1]["at_s"]
