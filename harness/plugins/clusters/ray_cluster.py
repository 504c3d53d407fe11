"""Workers on the nodes of a Ray cluster, each behind an actor.

The actor starts the usual worker process on its node and forwards its bytes, like a pipe through Ray. So browsers are
not part of Ray's processes. If an actor, its node or the driver is lost, the pipe closes and the worker exits. The
same happens on a disconnected node before its supervisor reassigns the jobs: an actor that had no contact for half
the heartbeat timeout stops its worker. Nothing else imports Ray.
Why: docs/decisions/running.md#a-ray-actor-starts-the-worker-process-and-is-not-the-worker
"""

import asyncio
import logging
import os
import secrets
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, BinaryIO

from harness.api.files import safe_files
from harness.api.processes import BUFFERED, MachineCapacity, end_marked, kill_tree, marks, worker_environment
from harness.api.text import cut
from harness.errors import ConfigError

logger = logging.getLogger(__name__)

_END_S = 5.0
_REACH_S = 10.0
_LONGEST_REASON = 500
_STORE_BYTES = 100 << 20
"""Ray's least; no object is ever put there."""
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}
"""No word about us to anybody, and no logs of a lost node into the display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayClusterSpec:
    """Which cluster, and what a worker takes of it."""

    address: str | None
    """`host:port` of its head, or `auto`; None = one of its own on this machine, for as long as the run."""
    workers: int | None
    """For how many one of its own has room."""
    cpus: float
    """Of Ray's bookkeeping, per worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCluster:
    """A cluster one is connected to."""

    launch: Callable[[int], AbstractAsyncContextManager["RayWorker"]]
    """Starts a worker."""
    nodes: tuple[MachineCapacity, ...]
    """What those of its nodes have that can take a worker."""


class WorkerActor:
    """The actor: runs one worker process on its node."""

    def __init__(self, arguments: tuple[str, ...], env: Mapping[str, str], cwd: str, *, patience_s: float) -> None:
        self._arguments = arguments
        self._env = dict(env)
        self._cwd = cwd if Path(cwd).is_dir() else None  # as on the machine of the driver, where there is such a place
        self._patience_s = patience_s
        self._said = bytearray()
        self._logged = bytearray()
        self._event = asyncio.Event()
        self._listened = time.monotonic()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> str:
        """Start the process, after whatever was left here by a lost one of the same number; gives the node's name."""
        await asyncio.to_thread(end_marked, self._env)
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *self._arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env={**worker_environment(os.environ), **self._env},
            cwd=self._cwd,
        )
        self._listened = time.monotonic()
        keeping = ((self._process.stdout, self._said), (self._process.stderr, self._logged))
        self._tasks = [asyncio.create_task(self._keep(stream, kept)) for stream, kept in keeping if stream]
        self._tasks.append(asyncio.create_task(self._mind()))
        return socket.gethostname()

    async def write(self, data: bytes) -> None:
        """Bytes to its standard input."""
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # it is gone, as `read` will say
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    async def read(self) -> tuple[bytes, bytes] | None:
        """What it has written to stdout and stderr since; maybe nothing, after a while; None when it has ended."""
        self._listened = time.monotonic()
        *keeping, _ = self._tasks
        if not self._said and not self._logged and all(task.done() for task in keeping):
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience_s / 4):
                await self._event.wait()
        self._event.clear()
        said, logged = bytes(self._said), bytes(self._logged)
        self._said.clear()
        self._logged.clear()
        return said, logged

    async def end(self) -> None:
        """End it with everything it started."""
        if self._process.returncode is None:  # else another process may have its id by now
            kill_tree(self._process.pid)
            await self._process.wait()

    async def _keep(self, stream: asyncio.StreamReader, kept: bytearray) -> None:
        while part := await stream.read(1 << 20):
            kept += part
            self._event.set()
        self._event.set()

    async def _mind(self) -> None:
        """End the process when its supervisor is not connected any more."""
        left_s = self._patience_s
        while left_s > 0:
            await asyncio.sleep(left_s)
            left_s = self._listened + self._patience_s - time.monotonic()
        await self.end()


class RayWorker:
    """The worker of one actor; implements `WorkerHandle`."""

    def __init__(self, ray: Any, actor: Any, log: BinaryIO) -> None:
        self.begun = False
        self._ray = ray
        self._actor = actor
        self._log = log
        self.output = asyncio.StreamReader(limit=BUFFERED)
        self._unsent = bytearray()
        self._more = asyncio.Event()
        self._killed = False

    def send(self, data: bytes) -> None:
        self._unsent += data
        self._more.set()

    async def kill(self) -> None:
        if self._killed:
            return
        self._killed = True
        if self.begun:
            with suppress(self._ray.exceptions.RayError, TimeoutError):  # lost already, or out of reach
                async with asyncio.timeout(_END_S):
                    await self._actor.end.remote()
        self._ray.kill(self._actor)

    async def carry(self) -> None:
        """Carry bytes both ways until the worker has ended or is lost."""
        try:
            where = await self._actor.start.remote()
            logger.info("a worker runs on %s", where)
            self.begun = True
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._write())
                while (part := await self._actor.read.remote()) is not None:
                    self.output.feed_data(part[0])
                    self._log.write(part[1])
                writing.cancel()
        except* self._ray.exceptions.RayError as group_of:
            logger.warning("a worker was lost: %s", str(group_of.exceptions[0]).partition("\n")[0])
        finally:
            self.output.feed_eof()

    async def _write(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            data = bytes(self._unsent)
            self._unsent.clear()
            await self._actor.write.remote(data)  # one after the other: an actor promises no order


@contextmanager
def on_cluster(
    cluster: RayClusterSpec, arguments: tuple[str, ...], folder: Path, *, silence_s: float
) -> Iterator[RayCluster]:
    """Be connected to `cluster`, and have a launch that runs `python ARGUMENTS` there for every worker.

    Raises:
        ConfigError: Ray is not installed or does not start, or there is no such cluster.
    """
    with _connected(cluster) as ray, safe_files.open_append(folder / "worker.log") as log:
        hosts = ray.remote(WorkerActor).options(
            num_cpus=cluster.cpus, scheduling_strategy="SPREAD", max_restarts=0, max_concurrency=8
        )

        @asynccontextmanager
        async def launch(number: int) -> AsyncIterator[RayWorker]:
            env = marks(folder, number)
            actor = hosts.remote(arguments, env, str(Path.cwd()), patience_s=silence_s / 2)
            wires = RayWorker(ray, actor, log)
            async with asyncio.TaskGroup() as group:
                carrying = group.create_task(wires.carry())
                try:
                    yield wires
                finally:
                    await wires.kill()
                    carrying.cancel()

        with RayErrors(cluster.address):
            nodes = _nodes(ray, cluster.cpus)
        yield RayCluster(launch=launch, nodes=nodes)


def _nodes(ray: Any, cpus: float) -> tuple[MachineCapacity, ...]:
    """Totals as Ray reports them, including what other jobs use. Ray's memory is in bytes."""
    alive = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    rooms = (MachineCapacity(int(has.get("CPU", 0) // (cpus or 1)), int(has.get("memory", 0)) >> 20) for has in alive)
    return tuple(one for one in rooms if one.cores)


@contextmanager
def _connected(cluster: RayClusterSpec) -> Iterator[Any]:
    _check(cluster.address)
    # Before the import, as Ray reads some of them then.
    os.environ.update(_QUIET if cluster.address else {**_QUIET, **_alone()})
    try:
        import ray
    except ImportError as error:
        raise ConfigError("executor=ray needs Ray: pip install 'cairn-harness[ray]', here and on every node") from error
    with TemporaryDirectory(
        prefix="cairn-ray-", dir="/tmp", ignore_cleanup_errors=True
    ) as temp:  # a socket's path is short
        own = {
            "num_cpus": (cluster.workers or 1) * cluster.cpus,
            "num_gpus": 0,
            "object_store_memory": _STORE_BYTES,
            "include_dashboard": False,
            "_temp_dir": temp,
        }
        with RayErrors(cluster.address):
            ray.init(
                address=cluster.address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **({} if cluster.address else own),
            )
        try:
            yield ray
        finally:
            ray.shutdown()


class RayErrors:
    """Turns what Ray raises when it cannot be reached, or does not start, into a sentence.

    Some of it is a bare `Exception` (a node that does not start in time), so no `except` can name it without naming
    everything.
    """

    def __init__(self, address: str | None) -> None:
        """`address`: see `RayClusterSpec.address`."""
        self._address = address

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not Exception and not isinstance(error, OSError | RuntimeError | ValueError) and not _is_rays(kind):
            return
        # Some messages have several lines, of which the first says little, and some end with a traceback.
        said = " ".join(str(error).partition("Traceback (most recent call last)")[0].split())
        why = cut(said or type(error).__name__, _LONGEST_REASON)
        if self._address is None:
            raise ConfigError(
                f"Ray does not start on this machine: {why}; run the same command again when it is less busy, or"
                " use executor=processes"
            ) from error
        raise ConfigError(f"executor.address={self._address}: cannot reach Ray there: {why}") from error


def _is_rays(kind: type[BaseException] | None) -> bool:
    return kind is not None and kind.__module__.partition(".")[0] in ("ray", "grpc")


def _check(address: str | None) -> None:
    """Ray itself would try for minutes."""
    if address in (None, "auto"):
        return
    host, _, port = str(address).rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise ConfigError(
            f"executor.address={address} is not an address; give the host:port of the cluster's head, auto, or null"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"executor.address={address}: no answer ({error}); is that the head of the cluster?"
        ) from error


def _alone() -> dict[str, str]:
    """A cluster for this run only: on the loopback (which Ray does where clusters are switched off), by a key of its
    own.
    """
    return {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
