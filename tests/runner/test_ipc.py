"""Messages between supervisor and workers: as long as they are, and what is none ends its sender only."""

import asyncio
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import HarnessError, InfraError, JournalCorrupt, JournalLocked, ModelRejected, ModelUnavailable
from harness.llm.permits import ReportOutage
from harness.protocols import MAX_EVENT_CHARS, Phase, ProgressEvent
from harness.runner.executors import ipc
from harness.runner.executors.ipc import (
    check_data,
    encode_message,
    read_messages,
    read_messages_blocking,
)
from harness.runner.executors.local_workers import BUFFERED
from harness.runner.executors.worker_messages import (
    ErrorInfo,
    Heartbeat,
    Progressed,
    PutArtifact,
    Received,
    WorkerFailed,
)

BEAT = Heartbeat(browser_starts=1)
LONG = b"\n".join([b"x" * 1000] * 20_000)


async def read(data: bytes, limit: int = BUFFERED) -> list[Received]:
    reader = asyncio.StreamReader(limit=limit)
    reader.feed_data(data)
    reader.feed_eof()
    return [message async for message in read_messages(reader)]


@pytest.mark.sample(5)
@pytest.mark.parametrize("text", ["", "short", "two\nlines", "y" * 15_000_000], ids=["empty", "short", "lines", "long"])
@pytest.mark.parametrize("data", [None, b"", b"1 2\n{}", LONG], ids=["none", "empty", "like a head", "long"])
async def test_every_message_comes_out_as_it_went_in(text: str, data: bytes | None) -> None:
    message = ReportOutage(id=1, why=text, requests=2)
    sent = encode_message(message, data) + encode_message(BEAT)
    put = Received(message, data)
    assert await read(sent) == list(read_messages_blocking(io.BytesIO(sent))) == [put, Received(BEAT)]
    for end in (3, 20, len(sent) // 2, len(sent) - 1):
        whole = [put] if end >= len(sent) - len(encode_message(BEAT)) else []
        assert await read(sent[:end]) == list(read_messages_blocking(io.BytesIO(sent[:end]))) == whole, (
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
        lambda: b'16 -\n{"kind":"done2"}',
        lambda: b'24 -\n{"kind":"done","lane":1}',
    ],
    ids=["a line", "no line", "too long", "too much data", "no JSON", "no message", "no kind", "a field too many"],
)
async def test_what_is_no_message_ends_the_worker_that_said_it_and_nothing_else(
    said: Callable[[], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    assert await read(encode_message(BEAT) + said() + encode_message(BEAT)) == [Received(BEAT)]
    assert "is stopped: " in caplog.text and len(caplog.text) < 2000


async def test_news_are_cut_whatever_a_page_or_a_model_wrote() -> None:
    news = ProgressEvent(
        lane=0, task_id="1", phase=Phase.acting, action="a" * 18_000_000, note=str(os.urandom(9)) * 900_000
    )
    ((message, _),) = await read(encode_message(Progressed(event=news)), 1 << 16)
    assert message == Progressed(event=news) and len(news.action) < MAX_EVENT_CHARS + 50 > len(news.note)


def test_too_much_for_the_line_is_a_failure_of_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ipc, "MOST_DATA", 10)
    put = PutArtifact(id=1, private=False)
    check_data(put, b"x" * 10)
    with pytest.raises(InfraError, match=r"with executor.shared_fs=true workers write it themselves"):
        check_data(put, b"x" * 11)


class Unheard(ModelRejected):
    """Of another package, which the other process does not know."""


@pytest.mark.parametrize(
    "error",
    [
        JournalCorrupt(Path("run/7.traj.jsonl"), 3, "its crc is wrong"),
        JournalLocked(Path("run"), "process 7"),
        ModelUnavailable("no answer", requests=4),
        ModelRejected("401"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_has_its_type_its_sentence_and_its_attributes_again(error: HarnessError) -> None:
    ((message, _),) = await read(encode_message(WorkerFailed(error=ErrorInfo.of(error))))
    assert isinstance(message, WorkerFailed)
    again = message.error.error()
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_an_error_of_another_package_is_of_the_nearest_type_there_is() -> None:
    assert type(ErrorInfo.of(Unheard("401")).error()) is ModelRejected


async def test_an_attribute_of_a_plug_ins_error_that_is_no_plain_value_stays_behind() -> None:
    error = Unheard("401")
    error.response = object()  # type: ignore[attr-defined]
    error.number = 4  # type: ignore[attr-defined]
    ((message, _),) = await read(encode_message(WorkerFailed(error=ErrorInfo.of(error))))
    assert isinstance(message, WorkerFailed)
    assert vars(message.error.error()) == {**vars(ModelRejected("401")), "number": 4}
