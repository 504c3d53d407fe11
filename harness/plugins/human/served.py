"""The page of one process: served as long as its event loop runs."""

import asyncio
import os
from collections.abc import Callable
from secrets import token_urlsafe
from weakref import WeakKeyDictionary

from harness.api.actions import Screen
from harness.api.http_server import serving
from harness.errors import ConfigError
from harness.plugins.human.desk import Desk

PORT = "CAIRN_HUMAN_PORT"
"""Variable with the port of the page, for instance because it is forwarded; a free one without it."""


class _Served:
    """Holds the server's task, which nobody else does."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.token = token_urlsafe(16)
        self.task = asyncio.create_task(self._serve())
        self.task.add_done_callback(self._ended)

    async def _serve(self) -> None:
        from harness.plugins.human.app import HumanPage  # what other agents do without

        try:
            async with serving(HumanPage(self.desk).app(self.token), port=_port()) as number:
                self.port.set_result(number)
                await asyncio.Event().wait()
        except ConfigError as error:
            self.port.set_exception(error)
        except OSError as error:
            why = f"port {_port()} cannot be used: {error.strerror}; choose another with {PORT}"
            self.port.set_exception(ConfigError(why))

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """Whoever waits for the port is told, whatever it was."""
        if not self.port.done() and not task.cancelled():
            self.port.set_exception(task.exception() or RuntimeError("the page at which a person plays has ended"))


_BY_LOOP: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Served]" = WeakKeyDictionary()


async def desk_of(viewport: tuple[int, int], *, legend: bool, say: Callable[[str], None]) -> Desk:
    """The desk of this process, whose page is served; its address is said when it can be opened.

    Args:
        viewport: Width and height of the pictures, in px.
        legend: Whether elements are listed beside them.
        say: Prints a sentence where the run was started.
    Raises:
        ConfigError: The port cannot be used.
    """
    loop = asyncio.get_running_loop()
    if (served := _BY_LOOP.get(loop)) is not None:
        await asyncio.shield(served.port)
        return served.desk
    width, height = viewport
    served = _BY_LOOP[loop] = _Served(Desk(screen=Screen(width=width, height=height), legend=legend))
    port = await asyncio.shield(served.port)
    say(f"play here: http://127.0.0.1:{port}/?token={served.token}")
    return served.desk


def _port() -> int:
    said = os.environ.get(PORT, "0")
    if not (said.isascii() and said.isdigit() and len(said) <= 9 and int(said) < 65536):
        raise ConfigError(f"{PORT}={said[:40]} is not a port; give a number below 65536")
    return int(said)
