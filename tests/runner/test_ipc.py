"""Messages between supervisor and workers: as long as they are, and what is none ends its sender only."""

import asyncio
import io
import os
from collections.abc import Callable
from typing import Any

import pytest

from harness.errors import InfraError
from harness.protocols import MAX_EVENT_CHARS, Phase, ProgressEvent
from harness.runner.executors import ipc
from harness.runner.executors.ipc import (
    BUFFERED,
    check_data,
    encode_message,
    news_of,
    news_values,
    read_messages,
    read_messages_async,
)

LONG = b"\n".join([b"x" * 1000] * 20_000)


async def read(data: bytes, limit: int = BUFFERED) -> list[dict[str, Any]]:
    reader = asyncio.StreamReader(limit=limit)
    reader.feed_data(data)
    reader.feed_eof()
    return [message async for message in read_messages(reader)]


@pytest.mark.parametrize("text", ["", "short", "two\nlines", "y" * 15_000_000], ids=["empty", "short", "lines", "long"])
@pytest.mark.parametrize("data", [None, b"", b"1 2\n{}", LONG], ids=["none", "empty", "like a head", "long"])
async def test_every_message_comes_out_as_it_went_in(text: str, data: bytes | None) -> None:
    sent = encode_message("put", data, text=text) + encode_message("beat")
    put = {"kind": "put", "text": text} | ({} if data is None else {"data": data})
    assert await read(sent) == list(read_messages_async(io.BytesIO(sent))) == [put, {"kind": "beat"}]
    for end in (3, 20, len(sent) // 2, len(sent) - 1):
        whole = [put] if end >= len(sent) - len(encode_message("beat")) else []
        assert await read(sent[:end]) == list(read_messages_async(io.BytesIO(sent[:end]))) == whole, (
            "a torn message is the end"
        )


@pytest.mark.parametrize(
    "said",
    [
        lambda: b"Warning: something printed this\n",
        lambda: b"z" * (BUFFERED * 3),
        lambda: b"999999999999 -\n{}",
        lambda: b"2 999999999999\n{}",
        lambda: b"3 -\n{}}",
        lambda: b"2 -\n[]",
    ],
    ids=["a line", "no line", "too long", "too much data", "no JSON", "no message"],
)
async def test_what_is_no_message_ends_the_worker_that_said_it_and_nothing_else(
    said: Callable[[], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    assert await read(encode_message("beat") + said() + encode_message("beat")) == [{"kind": "beat"}]
    assert "is ended: " in caplog.text and len(caplog.text) < 2000


async def test_news_are_cut_whatever_a_page_or_a_model_wrote() -> None:
    news = ProgressEvent(
        lane=0, task_id="1", phase=Phase.acting, action="a" * 18_000_000, note=str(os.urandom(9)) * 900_000
    )
    (message,) = await read(encode_message("news", **news_values(news)), 1 << 16)
    assert news_of(message) == news and len(news.action) < MAX_EVENT_CHARS + 50 > len(news.note)


def test_too_much_for_the_line_is_a_failure_of_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ipc, "MOST_DATA", 10)
    check_data("put", b"x" * 10)
    with pytest.raises(InfraError, match=r"executor.shared_fs=true lets it write by itself"):
        check_data("put", b"x" * 11)
