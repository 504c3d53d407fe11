"""What a supervisor and its worker processes say to each other: one JSON object per line, over the worker's pipes.

The worker asks (`take`), reports (`settle`, `news`, `counts`) and beats; the supervisor answers (`job`) and may say
`stop`. When the supervisor is gone, the pipe ends, and the worker ends itself.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from harness.codec import build, dumps, loads, plain
from harness.protocols import News
from harness.runner.episode import Job

LINE_LIMIT = 1 << 24


def line(kind: str, **values: Any) -> bytes:
    """One message."""
    return dumps({"kind": kind, **values}) + b"\n"


async def messages(reader: asyncio.StreamReader) -> AsyncIterator[dict[str, Any]]:
    """All messages until the pipe ends; a torn last line is the end, too."""
    while (raw := await reader.readline()).endswith(b"\n"):
        yield loads(raw)


def job_values(job: Job | None) -> dict[str, Any]:
    """A job by name; the worker has read the tasks itself."""
    if job is None:
        return {"task_id": None}
    return {"task_id": job.task.task_id, "trial": job.trial, "reopen": job.reopen}


def news_values(news: News) -> dict[str, Any]:
    return {"news": plain(news)}


def news_of(values: Mapping[str, Any]) -> News:
    return build(News, values["news"])
