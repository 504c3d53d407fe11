"""The encoding of messages between a supervisor and its worker processes: JSON, optionally followed by bytes.

A message begins with its lengths, `<bytes of JSON> <bytes after it, or ->` and a line end, so the bytes need no
escaping. The size of a worker's message is limited; a longer or malformed one ends the worker. When the supervisor
exits, the pipe closes and the worker exits.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, BinaryIO, cast

from harness.codec import build, dumps, loads
from harness.errors import InfraError
from harness.runner.executors.worker_messages import Message, Received

logger = logging.getLogger(__name__)

MOST_SAID = 1 << 24
"""Bytes of JSON in one message of a worker."""
MOST_DATA = 1 << 28
"""Bytes after it: a record, or an artifact."""
# Lengths, as a line must fit a buffer: one action had 18 MB, and the buffer 16.
_HEAD = re.compile(rb"(\d{1,12}) (\d{1,12}|-)\n")


def encode_message(message: Message, data: bytes | None = None) -> bytes:
    """One message; `data` follows as it is."""
    said = dumps(message)
    return b"%d %s\n%s%s" % (len(said), b"-" if data is None else b"%d" % len(data), said, data or b"")


def check_data(message: Message, data: bytes | None) -> None:
    """Raises: InfraError: So much cannot be sent to the supervisor."""
    if data is not None and len(data) > MOST_DATA:
        raise InfraError(
            f"what has to be kept ({message.kind}) has {len(data) >> 20} MB, and a worker without the run folder can"
            f" send {MOST_DATA >> 20} MB at once; with executor.shared_fs=true workers write it themselves"
        )


async def read_messages(reader: asyncio.StreamReader) -> AsyncIterator[Received]:
    """All messages of a worker until they end; a torn last one is the end, too."""
    try:
        while (head := await reader.readuntil(b"\n")) != b"":
            size, data_size = _sizes(head)
            if size > MOST_SAID or (data_size or 0) > MOST_DATA:
                raise ValueError(f"a message of {size} and {data_size or 0} bytes")
            message = _decoded(await reader.readexactly(size))
            yield Received(message, None if data_size is None else await reader.readexactly(data_size))
    except asyncio.IncompleteReadError:
        return
    except (ValueError, asyncio.LimitOverrunError) as error:
        logger.error("a worker sent an invalid message and is stopped: %s", error)


def read_messages_blocking(stream: BinaryIO) -> Iterator[Received]:
    """As `read_messages`, for a thread that waits for those of the supervisor, which are as long as they are."""
    while (head := stream.readline()).endswith(b"\n"):
        size, data_size = _sizes(head)
        said = stream.read(size)
        data = None if data_size is None else stream.read(data_size)
        if len(said) < size or (data is not None and len(data) < (data_size or 0)):
            return
        yield Received(_decoded(said), data)


def _sizes(head: bytes) -> tuple[int, int | None]:
    found = _HEAD.fullmatch(head)
    if found is None:
        raise ValueError(f"{head[:80]!r} is not the header of a message")
    return int(found[1]), None if found[2] == b"-" else int(found[2])


def _decoded(data: bytes) -> Message:
    """Raises: CodecError: It is not a message; strict, as records are read."""
    return cast(Message, build(cast(Any, Message), loads(data)))
