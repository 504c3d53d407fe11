"""A Ray cluster of two nodes on this machine (`two_nodes.py`), and which processes of a run are on which of them."""

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.runner.process_tree import find_orphans

RAY = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    # Ray's workers are nice by 15: beside other tests they would be starved until they were taken for dead.
    "RAY_worker_niceness": "0",
}
"""For all processes of the cluster, and who uses it."""


@dataclass(frozen=True, kw_only=True)
class TwoNodes:
    """A cluster that runs."""

    process: asyncio.subprocess.Process
    address: str
    raylets: tuple[int, ...]
    """Their process ids, one for each node."""

    async def kill(self, raylet: int) -> None:
        """Kill a node without a chance to say goodbye."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(b"%d\n" % raylet)
        assert await self.process.stdout.readline() == b"killed\n"


@asynccontextmanager
async def two_nodes() -> AsyncIterator[TwoNodes]:
    """Start it; leaving the context ends it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(Path(__file__).with_name("two_nodes.py"))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **RAY},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        async with asyncio.timeout(300):
            said = json.loads(await process.stdout.readline())
        yield TwoNodes(process=process, address=said["address"], raylets=tuple(said["raylets"]))
    finally:
        process.stdin.close()
        await process.wait()


def of_node(raylet: int, folder: Path) -> list[psutil.Process]:
    """The run's worker and browser processes on one node; browsers are not started with Ray's variables."""
    ours = find_orphans(folder)
    workers = [process for process in ours if _environment(process).get("RAY_RAYLET_PID") == str(raylet)]
    below = {child for worker in workers for child in worker.children(recursive=True)}
    return [process for process in ours if process in workers or process in below]


def _environment(process: psutil.Process) -> dict[str, str]:
    """{} of a process that has ended."""
    try:
        return process.environ()
    except psutil.NoSuchProcess:
        return {}
