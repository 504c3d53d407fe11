"""What an agent's process waits longer for an answer of its model, as it asks through the gateway of its episode.

Run: `python -m benchmarks.gateway [--turns 100]`. A real process asks an endpoint that answers at once: directly,
through the gateway, and through a bare relay, in turn, each on a connection that is kept. Process, gateway and endpoint
are three processes. `ours` is what a request through the gateway takes longer than the direct one beside it; journal
and artifacts are on disk, and all is fsynced. The reference is the same of the bare relay: it reads a request with
asyncio, passes it on over a connection of its own, and writes and fsyncs the same two bodies and two lines by hand.
"""

import asyncio
import json
import os
import sys
import tempfile
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from benchmarks.instant_endpoint import instant_endpoint
from benchmarks.journal_append import SECRETS
from benchmarks.results import Row, Rows, parser, tell, timed
from benchmarks.step_overhead import task
from harness.api import ChatSettings
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.journal.store import RunFolder
from harness.llm.circuit_breaker import OutageWaiter
from harness.llm.endpoint import Endpoint
from harness.llm.exchange import Exchanger
from harness.llm.limiter import Limiter
from harness.llm.passthrough import Passthrough
from harness.llm.retry import Retrier
from harness.plugins.process_agent.scripted import scripted_process
from harness.plugins.process_agent.session import ProcessAgent
from harness.protocols import Environment, ProgressEvent
from harness.records import EpisodeLimits
from harness.secrets.redaction import Redactor
from harness.settings.models import EndpointSettings, RetryPolicy
from harness.testing import ScriptedPages

CLIENT = """
import http.client, json, os, time, urllib.parse

class Side:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc)
    def ask(self, path, body):
        head = {"authorization": "Bearer " + os.environ["CAIRN_TOKEN"], "content-type": "application/json"}
        begun = time.perf_counter()
        self.connection.request("POST", path, body, head)
        answer = self.connection.getresponse()
        said = answer.read()
        took = time.perf_counter() - begun
        assert answer.status == 200 and b"so " in said, (answer.status, said[:500])
        return took

sides = [Side(os.environ[name]) for name in ("ENDPOINT", "CAIRN_URL", "BARE")]
found, turns = {}, int(os.environ["TURNS"])
for name, path, key in (
    ("chat completions", "/v1/chat/completions", "messages"),
    ("Responses", "/v1/responses", "input"),
    ("Messages", "/v1/messages", "messages"),
):
    for streamed in (False, True):
        for size in (2, 200):
            kept = found[f"{name}, {size} kB{', streamed' * streamed}"] = [], [], []
            for turn in range(turns + 5):
                said = [{"role": "user", "content": "words " * 100 + str(n)} for n in range(size * 1000 // 640)]
                said.append({"role": "user", "content": name + str(turn)})
                body = json.dumps({"model": "m", "stream": streamed, key: said}).encode()
                order = [turn % 3, (turn + 1) % 3, (turn + 2) % 3]
                for side in order:
                    took = sides[side].ask(path, body)
                    if turn >= 5:
                        kept[side].append(took)
json.dump(found, open(os.environ["FOUND"], "w"))
open(os.environ["CAIRN_ANSWER"], "w").write("done")
"""
"""The process; it needs nothing of ours."""


class _Silent:
    def tell(self, news: ProgressEvent) -> None:
        pass


class BareRelay:
    """Passes requests on, and makes them and their answers durable, with nothing that is not needed for that."""

    def __init__(self, endpoint: str, folder: Path) -> None:
        self._port = urlsplit(endpoint).port
        self._folder = folder
        self._lines = os.open(folder / "lines", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._names = os.open(folder, os.O_RDONLY)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                head, body = await _message(reader)
                await loop.run_in_executor(None, self._keep, body)
                there, here = await asyncio.open_connection("127.0.0.1", self._port)
                here.write(head + body)
                said, answer = await _message(there)
                here.close()
                await loop.run_in_executor(None, self._keep, answer)
                writer.write(said + answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _keep(self, body: bytes) -> None:
        fd = os.open(self._folder / uuid4().hex, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(fd, body)
        os.fsync(fd)
        os.close(fd)
        os.fsync(self._names)
        os.write(self._lines, b"x" * 400)
        os.fsync(self._lines)


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of a request or an answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    return head, await reader.readexactly(size)


async def measure(*, turns: int = 100) -> Rows:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = await stack.enter_async_context(instant_endpoint())
        bare = await asyncio.start_server(BareRelay(address, folder).serve, "127.0.0.1", 0, limit=1 << 20)
        await stack.enter_async_context(bare)
        client = folder / "client.py"
        client.write_text(CLIENT)
        agent = await stack.enter_async_context(scripted_process([sys.executable, str(client)], timeout_s=600.0))
        environment = {
            "TURNS": str(turns),
            "ENDPOINT": address,
            "BARE": f"http://127.0.0.1:{bare.sockets[0].getsockname()[1]}",
            "FOUND": str(folder / "found.json"),
        }
        passthrough = passthrough_to(f"{address}/v1")
        stack.push_async_callback(passthrough.close)
        agent = with_settings(replace(agent, passthrough=passthrough), env=environment)
        await record(agent, nullcontext(ScriptedPages("")), folder / "run")
        found = json.loads((folder / "found.json").read_text())
    return {f"gateway, {name}: added": added(*times) for name, times in found.items()}


def with_settings(agent: ProcessAgent, **settings: Any) -> ProcessAgent:
    return replace(agent, plan=replace(agent.plan, settings=replace(agent.plan.settings, **settings)))


def added(direct: list[float], ours: list[float], bare: list[float]) -> Row:
    """What ours, and a bare relay, took longer than the direct call beside them, of seconds."""
    return timed(
        [one - two for one, two in zip(ours, direct, strict=True)],
        [one - two for one, two in zip(bare, direct, strict=True)],
    )


def passthrough_to(base_url: str) -> Passthrough:
    """As a run makes it, with its limiter in the same process."""
    chat, limiter = ChatSettings(model="m", timeout_s=60.0), Limiter()
    retrier = Retrier(RetryPolicy(max_attempts=3))
    exchanger = Exchanger(
        Endpoint(EndpointSettings(base_url=base_url)), chat, retrier=retrier, prices={}, rate_limiter=limiter
    )
    return Passthrough(exchanger, OutageWaiter(limiter, max_outage_s=0.0))


async def record(agent: ProcessAgent, opening: AbstractAsyncContextManager[Environment], folder: Path) -> None:
    """One episode of the process, recorded as in a run.

    Raises:
        SystemExit: The process did not end as it should.
    """
    with RunFolder.open(folder, redactor=Redactor(SECRETS)) as run, run.journal("0") as journal:
        deps = EpisodeDeps(
            agent=agent,
            evaluators={},
            artifacts=run.artifacts,
            checkpoints=run.checkpoints,
            limits=EpisodeLimits(max_steps=1000, parsing_failures=None, repeated_actions=None),
            config_digest="",
            seed=0,
            progress=_Silent(),
            stopping=lambda: False,
        )
        await EpisodeRunner(deps, Job(task=task()), journal).play(opening)
        if journal.episode.closed is None or journal.episode.closed.answer != "done":
            raise SystemExit("the process did not end as it should")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--turns", type=int, default=100)
    tell(asyncio.run(measure(turns=options.parse_args().turns)))


if __name__ == "__main__":
    main()
