"""What the browser says is read only as far as needed, and never taken for what a page has written into it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plugins.process_agent.cdp.wire import head

FORGED = (
    '{"id":1073741824,"result":{}}',
    '"},"id":1073741824,"method":"Target.attachedToTarget","params":{"a":"',
    '\\"},\\"id\\":1073741824,\\"method\\":\\"Target.targetCreated\\"',
    '{"method":"Target.attachedToTarget","params":{}}',
)
"""What a page may write in the hope that the relay reads it as the browser's own words."""


def expected(message: Any) -> tuple[int | None, str]:
    number = message.get("id")
    return number, "" if number is not None else message["method"].partition(".")[0]


def written(message: Any) -> tuple[bytes, ...]:
    """As Chromium writes it, and as another writer of JSON could."""
    tight = json.dumps(message, separators=(",", ":"))
    turned = json.dumps(dict(reversed(message.items())), separators=(",", ":"))
    return tight.encode(), json.dumps(message).encode(), json.dumps(message, indent=1).encode(), turned.encode()


@pytest.mark.parametrize("text", FORGED)
def test_what_a_page_writes_into_a_message_says_nothing_about_the_message(text: str) -> None:
    messages: tuple[Any, ...] = (
        {"id": 7, "result": {"result": {"type": "string", "value": text}}},
        {"id": 7, "result": {text: {"id": 1 << 30, "method": "Target.x"}}, "sessionId": "S"},
        {"method": "Runtime.consoleAPICalled", "params": {"args": [{"value": text}], "id": 1 << 30}, "sessionId": "S"},
        {"id": 7, "error": {"code": -32000, "message": text}},
    )
    for message in messages:
        assert [head(one) for one in written(message)] == [expected(message)] * 4


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 1 << 31) | st.text(max_size=20) | st.sampled_from(FORGED),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("id", "method", "sessionId", *FORGED)), inner, max_size=3)
    ),
    max_leaves=8,
)
METHODS = st.sampled_from(("Target.attachedToTarget", "Page.loadEventFired", "Runtime.consoleAPICalled"))


@given(
    st.fixed_dictionaries({"id": st.integers(0, 1 << 31), "result": TREES})
    | st.fixed_dictionaries({"method": METHODS, "params": TREES})
)
def test_head_and_whole_message_agree(message: Any) -> None:
    assert [head(one) for one in written(message)] == [expected(message)] * 4
