"""Tells a browser, by server-sent events, that what it shows has changed; what changed it fetches itself.

Journals are looked at again and again, because that works on every file system and needs nothing from the writer
them. The pause between two looks is short for one journal, and for a whole run grows with what a look costs.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

from starlette.responses import StreamingResponse

PAUSE_S = 0.2
"""Between two looks; with fetching and drawing, a step is seen well within a second of its fsync."""
_HEARTBEAT_S = 15.0

Look = Callable[[], str]
"""Gives the version of what is shown; called in a thread."""


def stream(look: Look, seen: str, pause: Callable[[], float] = lambda: PAUSE_S) -> StreamingResponse:
    """An event each time `look` gives another version than `seen`, or than last time."""
    return StreamingResponse(
        _changes(look, seen, pause), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _changes(look: Look, seen: str, pause: Callable[[], float]) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    quiet_s = 0.0
    while True:
        version = await asyncio.to_thread(look)
        if version != seen:
            seen, quiet_s = version, 0.0
            yield f"event: changed\ndata: {version}\n\n"
        elif quiet_s >= _HEARTBEAT_S:
            quiet_s = 0.0
            yield ": still here\n\n"
        rest = pause()
        quiet_s += rest
        await asyncio.sleep(rest)
