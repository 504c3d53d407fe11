"""Where an agent's process runs, and how its gateway is reached there: beside the worker, or in a sandbox."""

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.api.http_server import Clients, serving
from harness.api.processes import BROWSER_PORT, PORT, Bubblewrap, stage_command
from harness.api.records import Guarded
from harness.errors import PluginFailed
from harness.plugins.process_agent.agent_process import AgentProcess, process_environment
from harness.plugins.process_agent.file_view import FileView, view_of
from harness.plugins.process_agent.masks import Masks
from harness.plugins.process_agent.mounts import INSIDE, EpisodeFolder, mount_arguments
from harness.plugins.process_agent.packets import PacketWatch
from harness.plugins.process_agent.process_plan import ProcessPlan
from harness.plugins.process_agent.violations import Violations

MOST_CONNECTIONS = 256
"""At the same time, of one process to its gateway: each holds a descriptor of the worker."""
_READY_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the process is given to find its gateway and its files."""

    url: str
    """Address of the gateway."""
    folder: str
    """Path of the folder with `GIVEN`."""
    answer: str
    """Path of the file for its answer."""
    browser_port: int = 0
    """Port of the browser at 127.0.0.1; 0 = the process gets no browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    process: AgentProcess
    answer: Path
    """The file as the worker reaches it."""
    sandbox: str
    """See `Exited.sandbox`."""
    watches: tuple[Callable[[], None], ...] = ()
    """Each reports what it has seen since it was last called; they are called by themselves, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A command that is to be started with its gateway."""

    plan: ProcessPlan
    app: Any
    """The gateway, an ASGI application."""
    folder: Path
    """Folder of the episode; holds `GIVEN`, when `variables` has been called."""
    variables: Callable[[Seen], Mapping[str, str]]
    """What the process is given in its environment besides `agent.env`."""
    violations: Violations
    """Gets what it is seen to try."""
    closing: AsyncExitStack
    """Ends gateway and watchers."""
    browser: Callable[[socket.socket | None], AbstractAsyncContextManager[int]] | None = None
    """Serves a separate browser, on a socket that listens already or on one that it makes, and gives the port."""

    async def begin(self) -> Started:
        """Start it where the settings want it.

        Raises:
            PluginFailed: The sandbox cannot be made.
            ConfigError: Its folder cannot be shown to it without what is hidden.
        """
        sandbox = self.plan.sandbox
        return await self._plain() if sandbox is None else await self._confined(sandbox)

    @property
    def _clients(self) -> Clients:
        what = f"more than {MOST_CONNECTIONS} connections at the same time"
        return Clients(most=MOST_CONNECTIONS, refused=lambda: self.violations.found(Guarded.GATEWAY, what))

    async def _plain(self) -> Started:
        folder = self.folder
        port = await self.closing.enter_async_context(serving(self.app, clients=self._clients))
        seen = Seen(
            url=f"http://127.0.0.1:{port}",
            folder=str(folder),
            answer=str(folder / "answer"),
            browser_port=await self.closing.enter_async_context(self.browser(None)) if self.browser else 0,
        )
        process = await AgentProcess.start(
            self.plan.command,
            cwd=self.plan.settings.cwd,
            environment=process_environment({**self.plan.settings.env, **self.variables(seen)}),
            folder=folder,
        )
        return Started(process=process, answer=folder / "answer", sandbox="none")

    async def _confined(self, sandbox: Bubblewrap) -> Started:
        url, closing = f"http://127.0.0.1:{PORT}", self.closing
        seen = Seen(
            url=url,
            folder=INSIDE,
            answer=f"{INSIDE}/out/answer",
            browser_port=BROWSER_PORT if self.browser else 0,
        )
        view, masks, command = self._command(sandbox)
        own = {"HOME": f"{INSIDE}/home", "TMPDIR": "/tmp", "PWD": str(view.cwd)}
        ours, theirs = socket.socketpair()
        closing.callback(ours.close)
        with theirs:
            process = await AgentProcess.start(
                stage_command(theirs.fileno(), self.folder / "own", command),
                cwd=None,
                environment=process_environment({**own, **self.plan.settings.env, **self.variables(seen)}),
                folder=self.folder,
                passed=(theirs.fileno(),),
            )
        closing.push_async_callback(process.stop)
        out, packets, gateway, browser = await _received(ours, process)
        closing.callback(os.close, out)
        watch = PacketWatch(
            packets, (PORT, seen.browser_port), lambda what: self.violations.found(Guarded.NETWORK, what)
        )
        closing.callback(watch.close)
        await closing.enter_async_context(serving(self.app, listener=gateway, clients=self._clients))
        if self.browser is None:
            browser.close()
        else:
            await closing.enter_async_context(self.browser(browser))
        ours.sendall(b"g")
        return Started(
            process=process,
            answer=Path(f"/proc/self/fd/{out}/answer"),
            sandbox="bubblewrap",
            watches=(watch.read, masks.read),
        )

    def _command(self, sandbox: Bubblewrap) -> tuple[FileView, Masks, tuple[str, ...]]:
        """What the process sees of the file system, with what is hidden, and the command that shows it."""
        settings, place = self.plan.settings, EpisodeFolder(path=self.folder)
        view = view_of(
            self.plan.command,
            cwd=settings.cwd,
            environment=settings.env,
            readable=settings.readable,
            hidden=self.plan.hidden,
        )
        place.make()
        masks = Masks(self.folder / "masks")
        mounts = mount_arguments(view, place, masks)
        masks.watch(lambda what: self.violations.found(Guarded.FILES, what))
        self.closing.callback(masks.close)
        return view, masks, (*sandbox.command, *mounts, "--", *self.plan.command)


async def _received(
    control: socket.socket, process: AgentProcess
) -> tuple[int, socket.socket, socket.socket, socket.socket]:
    """The folder for the answer, the socket that sees packets, the gateway's and the browser's.

    Raises:
        PluginFailed: They do not come.
    """
    control.setblocking(False)
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(control, ready.set)
    waits = [asyncio.create_task(ready.wait()), asyncio.create_task(process.ended())]
    try:
        await asyncio.wait(waits, timeout=_READY_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(control)
        for one in waits:
            one.cancel()
    with suppress(BlockingIOError):
        _, fds, _, _ = socket.recv_fds(control, 16, 4)
        if len(fds) == 4:
            packets, gateway, browser = (socket.socket(fileno=one) for one in fds[1:])
            return fds[0], packets, gateway, browser
    said = process.stderr.text.strip().splitlines()
    raise PluginFailed(said[-1][:300] if said else "the sandbox of the agent's process did not come up")
