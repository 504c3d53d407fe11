"""A server as a person starts it, and clients that speak to it over real sockets."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.browser.chromium_processes import is_browser
from tests.e2e.conftest import environment
from tests.waiting import alive, wait_until

READY = "environment server ready on "
_NUMBERS = count()


@dataclass(eq=False)
class Server:
    """A `harness serve` of its own."""

    root: Path
    given: Sequence[str] = ()
    variables: dict[str, str] = field(default_factory=dict)
    url: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def folder(self) -> Path:
        return self.root / "run"

    @property
    def out(self) -> str:
        return (self.root / "out").read_text()

    def start(self) -> None:
        """Start it, and wait until it says its address."""
        command = [sys.executable, "-m", "harness.main", "serve", "--port=0", *self.given]
        with (self.root / "out").open("wb") as out:
            self.process = subprocess.Popen(
                [*command, f"run.root={self.root}", "run.id=run"],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment() | self.variables,
            )
        wait_until(lambda: READY in self.out or self.process.poll() is not None, within_s=300)  # type: ignore[union-attr]
        assert READY in self.out, self.out
        self.url = self.out.partition(READY)[2].split()[0]

    def kill(self, name: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal, and wait for the end."""
        assert self.process is not None
        mine = [one.pid for one in psutil.Process(self.process.pid).children(recursive=True)]
        self.process.send_signal(name)
        code = self.process.wait(60)
        wait_until(lambda: not alive(mine))
        return code

    def workers(self) -> list[psutil.Process]:
        """Its worker processes."""
        assert self.process is not None
        mine = psutil.Process(self.process.pid).children()
        return [one for one in mine if "harness.evaluation.worker_main" in one.cmdline()]

    def browsers(self) -> list[psutil.Process]:
        """The main processes of its browsers."""
        assert self.process is not None
        mine = psutil.Process(self.process.pid).children(recursive=True)
        return [one for one in mine if is_browser(one)]

    def doors(self) -> list[tuple[str, int]]:
        """Where its process listens, but for its clients."""
        assert self.process is not None
        found = psutil.Process(self.process.pid).net_connections()
        own = int(self.url.rpartition(":")[2])
        return [(one.laddr.ip, one.laddr.port) for one in found if one.status == "LISTEN" and one.laddr.port != own]

    def health(self) -> dict[str, Any]:
        return self.get("/health").json()  # type: ignore[no-any-return]

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return httpx.get(f"{self.url}{path}", headers=headers, verify=False)  # reading certificates takes 25 ms

    def actions(self, task: str, trial: int = 0) -> list[str]:
        """What the journal says was performed."""
        from harness.runs import Run

        return [step.text for step in Run(self.folder).episode(task, trial).steps if step.acted]


@dataclass(frozen=True)
class Client:
    """One socket."""

    socket: ClientConnection

    async def ask(self, kind: str, data: Any = None) -> dict[str, Any]:
        """Send a message and give the whole answer."""
        await self.socket.send(json.dumps({"type": kind, "data": {} if data is None else data}))
        return json.loads(await self.socket.recv())  # type: ignore[no-any-return]

    async def reset(self, **wanted: Any) -> dict[str, Any]:
        return await self._shown("reset", wanted)

    async def step(self, action: str, **beside: Any) -> dict[str, Any]:
        return await self._shown("step", {"action_str": action, **beside})

    async def _shown(self, kind: str, data: Any) -> dict[str, Any]:
        answer = await self.ask(kind, data)
        assert answer["type"] == "observation", answer
        return answer["data"]  # type: ignore[no-any-return]

    async def refused(self, kind: str, data: Any = None) -> dict[str, Any]:
        """The data of the error that a message gets."""
        answer = await self.ask(kind, data)
        assert answer["type"] == "error", answer
        assert "reward" not in answer["data"]
        return answer["data"]  # type: ignore[no-any-return]


@asynccontextmanager
async def client(server: Server, **options: Any) -> AsyncIterator[Client]:
    """A connected client."""
    url = server.url.replace("http", "ws") + "/ws"
    async with connect(url, max_size=100 << 20, **options) as socket:
        yield Client(socket)


@contextmanager
def serving(root: Path, *given: str, **variables: str) -> Iterator[Server]:
    """A server that has begun; it ends with the context, however it was left."""
    root.mkdir(parents=True, exist_ok=True)
    server = Server(root, given, variables)
    try:
        server.start()
        yield server
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers of the test's own."""
    from contextlib import ExitStack

    with ExitStack() as closing:
        yield lambda *given, **variables: closing.enter_context(
            serving(tmp_path / str(next(_NUMBERS)), *given, **variables)
        )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two environments of the demo, for tests that leave them as they found them."""
    os.environ.pop("CAIRN_SERVE_TOKEN", None)
    with serving(tmp_path_factory.mktemp("served"), "task=demo", "environments=2", "--queue=0.2", "--grace=1") as found:
        yield found
