"""Sites and endpoint under the hand of a test, and a run that plays on them: what is broken when, the test says."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from harness.journal.log import read
from harness.loopback_server import serving
from harness.plugins.demo.model.fault_injection import read_faults
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import read_plans
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import SitesApp
from harness.records import Episode
from harness.tasks import load
from tests.e2e.conftest import PROJECT, command, environment

CANONICAL = {site.name: f"http://{site.name}.localhost" for site in SITES}
Trouble = Callable[[str, str], str | None]
"""Method and path of a request to what happens to it: `500`, `silence`, `endless` (a script), or None."""


class TroubledSites:
    """The sites, with trouble in front of them."""

    def __init__(self) -> None:
        self.trouble: Trouble = lambda method, path: None
        self._app = SitesApp(SITES)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        match self.trouble(scope["method"], scope["path"]):
            case "500":
                await send({"type": "http.response.start", "status": 500, "headers": []})
                await send({"type": "http.response.body", "body": b"broken"})
            case "silence":
                while (await receive())["type"] != "http.disconnect":
                    pass
            case "endless":
                page = b"<title>Busy</title><p>soon</p><script>for (;;);</script>"
                headers = [(b"content-type", b"text/html")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                await send({"type": "http.response.body", "body": page})
            case _:
                await self._app(scope, receive, send)


def first(count: int, what: str, *, method: str = "GET", path: str) -> Trouble:
    """Trouble for the first so many requests of that kind."""
    left = [count]

    def trouble(asked_method: str, asked_path: str) -> str | None:
        if (asked_method, asked_path) != (method, path) or left[0] == 0:
            return None
        left[0] -= 1
        return what

    return trouble


@dataclass
class Play:
    """One started run."""

    process: asyncio.subprocess.Process
    folder: Path
    out: bytearray = field(default_factory=bytearray)

    async def ended(self, within_s: float = 3000) -> int:
        async with asyncio.timeout(within_s):
            return await self.process.wait()

    async def until(self, condition: Callable[[], bool], within_s: float = 300) -> None:
        async with asyncio.timeout(within_s):
            while not condition():
                assert self.process.returncode is None or condition(), f"it ended first: {self.text}"
                await asyncio.sleep(0.02)

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def decisions(self) -> int:
        return sum(path.read_bytes().count(b'"kind":"decided"') for path in self.folder.glob("*.traj.jsonl"))

    @property
    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "summary.json").read_bytes())  # type: ignore[no-any-return]

    def episode(self, task_id: int) -> Episode:
        return read(self.folder / f"{task_id}.traj.jsonl")

    def failures(self, task_id: int) -> list[str]:
        """Types of all failures of all attempts."""
        records = [json.loads(line) for line in (self.folder / f"{task_id}.traj.jsonl").read_bytes().splitlines()]
        return [record["type"] for record in records if record["kind"] == "failed"]

    def children(self, word: str, *, without: str = "\0") -> list[psutil.Process]:
        """Processes of the run with a word in their command line."""
        found = []
        for process in psutil.Process(self.process.pid).children(recursive=True):
            try:
                line = " ".join(process.cmdline())
            except psutil.Error:
                continue
            if word in line and without not in line:
                found.append(process)
        return found


@dataclass
class World:
    """Where runs are played."""

    root: Path
    sites: TroubledSites
    sites_port: int
    endpoint_port: int

    @asynccontextmanager
    async def playing(self, *overrides: str, root: Path | None = None) -> AsyncIterator[Play]:
        """Start the command; what is left of it when the block ends is killed."""
        results = root or self.root / "results"
        process = await asyncio.create_subprocess_exec(
            *command("workers=1", "run.report=false", "run.display=plain", root=results),
            *(f"sites.port={self.sites_port}", f"llm.base_url=http://127.0.0.1:{self.endpoint_port}/v1", *overrides),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment(),
            cwd=self.root,
        )
        play = Play(process, results / "run")
        reading = asyncio.create_task(_read(process, play.out))
        try:
            yield play
        finally:
            if process.returncode is None:
                process.kill()
            await reading
            await process.wait()


async def _read(process: asyncio.subprocess.Process, out: bytearray) -> None:
    assert process.stdout is not None
    while part := await process.stdout.read(4096):
        out += part


@asynccontextmanager
async def endpoint(
    port: int = 0, *, faults: str = "[]", latency_ms: float = 0.0, special: dict[bytes, bytes] | None = None
) -> AsyncIterator[int]:
    """The scripted endpoint with the demo's plans; `special`: part of a prompt to the whole HTTP body it is answered
    with, by 200 when it holds choices, else by 400.
    """
    intents = {task.task_id: task.intent for task in load(str(PROJECT / "tasks" / "demo.json"), CANONICAL)}
    placeholders = {f"__{name.upper()}__": base for name, base in CANONICAL.items()}
    plans = read_plans(PROJECT / "tasks" / "demo.plans.json", intents, placeholders=placeholders)
    app = endpoint_app(plans, read_faults(json.loads(faults)), latency_ms=latency_ms)
    async with serving(_with_special(app, special or {}), port=port) as taken:
        yield taken


def _with_special(app: Any, special: dict[bytes, bytes]) -> Any:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or not special:
            return await app(scope, receive, send)  # type: ignore[no-any-return]
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        for words, said in special.items():
            if words in body:
                status = 200 if b"choices" in said else 400
                headers = [(b"content-type", b"application/json")]
                await send({"type": "http.response.start", "status": status, "headers": headers})
                await send({"type": "http.response.body", "body": said})
                return None

        async def again() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        return await app(scope, again, send)  # type: ignore[no-any-return]

    return answer


@asynccontextmanager
async def troubled_world(root: Path, sites: TroubledSites, **options: Any) -> AsyncIterator[World]:
    """Servers of the sites and of the scripted endpoint, for the time of a test; `options` as of `endpoint`."""
    async with serving(sites) as sites_port, endpoint(**options) as endpoint_port:
        yield World(root, sites, sites_port, endpoint_port)
