"""What a supervisor and its worker processes say to each other: messages of JSON, and bytes after it where they are
due.

The worker asks (`take`), reports (`settle`, `news`, `counts`, `refused`, `done`) and beats; the supervisor answers
(`job`) and may say `stop`. A worker that cannot reach the run folder also asks for what is in it
(`harness.runner.executors.remote_store`), and is answered by `reply`. When the supervisor is gone, the line ends, and
the worker ends itself.

A message begins with its lengths, `<bytes of JSON> <bytes after it, or ->` and a line end, so that none of them is
looked for in the bytes. What a worker says is bounded: one that says more has ended, as one that says what is no
message.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import fields
from typing import Any, BinaryIO

from harness.codec import CodecError, build, dumps, loads, plain
from harness.errors import InfraError
from harness.protocols import ProgressEvent
from harness.runner.job import Job

logger = logging.getLogger(__name__)

BUFFERED = 1 << 20
"""Bytes a reader takes before anybody asks for them."""
MOST_SAID = 1 << 24
"""Bytes of JSON in one message of a worker."""
MOST_DATA = 1 << 28
"""Bytes after it: a record, or an artifact."""
_HEAD = re.compile(rb"(\d{1,12}) (\d{1,12}|-)\n")


def encode_message(kind: str, data: bytes | None = None, **values: Any) -> bytes:
    """One message; `data` follows as it is."""
    said = dumps({"kind": kind, **values})
    return b"%d %s\n%s%s" % (len(said), b"-" if data is None else b"%d" % len(data), said, data or b"")


def check_data(kind: str, data: bytes | None) -> None:
    """Raises: InfraError: So much cannot be sent to the supervisor."""
    if data is not None and len(data) > MOST_DATA:
        raise InfraError(
            f"what has to be kept ({kind}) has {len(data) >> 20} MB, and a worker without the run folder can send"
            f" {MOST_DATA >> 20} MB at once; executor.shared_fs=true lets it write by itself"
        )


async def read_messages(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    """All messages of a worker until they end, `data` put back among their values; a torn last one is the end, too."""
    try:
        while (head := await reader.readuntil(b"\n")) != b"":
            size, data_size = _sizes(head)
            if size > MOST_SAID or (data_size or 0) > MOST_DATA:
                raise ValueError(f"a message of {size} and {data_size or 0} bytes")
            message = _said(await reader.readexactly(size))
            if data_size is not None:
                message["data"] = await reader.readexactly(data_size)
            yield message
    except asyncio.IncompleteReadError:
        return
    except (ValueError, asyncio.LimitOverrunError) as error:
        logger.error("a worker said what is no message, and is ended: %s", error)


def read_messages_async(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """As `read_messages`, for a thread that waits for those of the supervisor, which are as long as they are."""
    while (head := stream.readline()).endswith(b"\n"):
        size, data_size = _sizes(head)
        said = stream.read(size)
        data = None if data_size is None else stream.read(data_size)
        if len(said) < size or (data is not None and len(data) < (data_size or 0)):
            return
        yield _said(said) if data is None else {**_said(said), "data": data}


def _sizes(head: bytes) -> tuple[int, int | None]:
    found = _HEAD.fullmatch(head)
    if found is None:
        raise ValueError(f"{head[:80]!r} does not say how long a message is")
    return int(found[1]), None if found[2] == b"-" else int(found[2])


def _said(data: bytes) -> dict[str, Any]:
    message = loads(data)
    if not isinstance(message, dict):
        raise CodecError(f"{data[:80]!r} is no message")
    return message


def job_values(job: Job | None) -> dict[str, Any]:
    """A job whole: whoever plays it may be where the task file is not."""
    if job is None:
        return {"task": None}
    values: dict[str, Any] = plain(job)
    return values


def job_of(values: Mapping[str, Any]) -> Job | None:
    if values["task"] is None:
        return None
    return build(Job, {field.name: values[field.name] for field in fields(Job)})


def news_values(news: ProgressEvent) -> dict[str, Any]:
    return {"news": plain(news)}


def news_of(values: Mapping[str, Any]) -> ProgressEvent:
    return build(ProgressEvent, values["news"])
