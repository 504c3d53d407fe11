"""What a supervisor and its worker processes say to each other: one line of JSON each, and bytes after it where they are due.

The worker asks (`take`), reports (`settle`, `news`, `counts`, `refused`, `done`) and beats; the supervisor answers (`job`)
and may say `stop`. A worker that cannot reach the run folder also asks for what is in it (`harness.runner.executors.desk`),
and is answered by `reply`. When the supervisor is gone, the line ends, and the worker ends itself.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import fields
from typing import Any, BinaryIO

from harness.codec import build, dumps, loads, plain
from harness.protocols import News
from harness.runner.job import Job

LINE_LIMIT = 1 << 24


def line(kind: str, data: bytes | None = None, **values: Any) -> bytes:
    """One message; `data` follows its line as it is."""
    if data is None:
        return dumps({"kind": kind, **values}) + b"\n"
    return b"%s\n%s" % (dumps({"kind": kind, **values, "size": len(data)}), data)


async def messages(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    """All messages until the line ends, `data` put back among their values; a torn last one is the end, too."""
    while (raw := await reader.readline()).endswith(b"\n"):
        message = loads(raw)
        if (size := message.pop("size", None)) is not None:
            try:
                message["data"] = await reader.readexactly(size)
            except asyncio.IncompleteReadError:
                return
        yield message


def heard(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    """As `messages`, for a thread that waits for them."""
    while (raw := stream.readline()).endswith(b"\n"):
        message = loads(raw)
        if (size := message.pop("size", None)) is not None:
            message["data"] = stream.read(size)
            if len(message["data"]) < size:
                return
        yield message


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


def news_values(news: News) -> dict[str, Any]:
    return {"news": plain(news)}


def news_of(values: Mapping[str, Any]) -> News:
    return build(News, values["news"])
