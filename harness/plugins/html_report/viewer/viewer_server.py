"""Serves the viewer on 127.0.0.1 until a signal comes."""

import asyncio
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from secrets import token_urlsafe

from harness.api.http_server import serving
from harness.errors import ConfigError
from harness.plugins.html_report.viewer.app import Viewer
from harness.plugins.html_report.viewer.run_watcher import ResultsWatcher

_SLICE_S = 0.005


async def view(results: Path, *, port: int, secret: bool, announce: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        results: Folder of runs, or one run.
        port: 0 = a free one.
        secret: Visitors need the token in the announced address.
        announce: Called with the address when it can be opened.

    Raises:
        ConfigError: The port is taken.
    """
    library = ResultsWatcher(results)
    token = token_urlsafe(16) if secret else None
    ended = threading.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, ended.set)
    try:
        async with serving(Viewer(library).app(token), port=port) as number:
            announce(f"http://127.0.0.1:{number}/" + (f"?token={token}" if token else ""))
            await asyncio.to_thread(_warm, library, ended)
    except OSError as exc:
        raise ConfigError(f"port {port} cannot be used: {exc.strerror}; choose another with --port") from exc


def _warm(library: ResultsWatcher, ended: threading.Event) -> None:
    """Look at everything once, so that the first visitor need not wait for it, then wait for the end.

    Slices are short with rests between them: a thread that never rests would leave visitors waiting for the
    interpreter.
    """
    for catalogue in library.runs().values():
        catalogue.refresh(_SLICE_S)
        while catalogue.unread and not ended.wait(_SLICE_S):
            catalogue.refresh(_SLICE_S)
        catalogue.standing()
    ended.wait()
