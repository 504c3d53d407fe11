"""One run on a site of one's own, struck again and again, and started by the same command until it is done."""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos_aiming import DECIDED, FREEZE, SITE, Endpoint, Event, Strike, Watch, watched
from chaos_site import Site, SiteServer
from chaos_tasks import OLD, OWN, SAFE, TWIN, Posed, intent, write
from chaos_victims import FRESH_S, PARENT, Family, go_on, kill, stop

from harness.loopback_server import serving
from harness.plugins.demo.model.scripts import read_plans
from harness.runner.process_tree import find_orphans

DONE = (0, 3)
"""Exit codes of a run that has ended by itself: all scored, or not all."""
FRUITLESS = 3
"""Starts in a row that may end early without a new journal line, before the run counts as stuck."""
MOST = 4
"""Strikes on one task; after that others are waited for, so that the last one is not struck by all that are left."""
LONGEST_OUTAGE_S = 2.0
ACTION_TIMEOUT_S = 5.0
FROZEN_S = 6.5
"""Longer than an action may take."""
PROMPT_S = 0.05
LOOK_S = 0.2
GONE_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How a run is set up."""

    strategy: str
    hook: bool
    inline: bool = False
    in_doubt: str = ""
    """`resume.in_doubt`; "" = its default."""

    @property
    def name(self) -> str:
        words = (self.strategy, "hook" if self.hook else "none", *(["inline"] if self.inline else []), self.in_doubt)
        return "-".join(word for word in words if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all runs of a chaos have in common."""

    project: Path
    folder: Path
    seed: str
    deadline_s: float
    overrides: tuple[str, ...] = ()
    workers: int = 2
    lanes: int = 2
    instances: int = 3
    latency_s: float = 0.12
    longest_reset_s: float = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """One kill that was done."""

    victim: str
    aim: str
    task: str
    after_ms: float
    """Between the event and the signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """All that is known of a run at its end."""

    mode: Mode
    tasks: tuple[Posed, ...]
    code: int | None
    """Of its last start; None = it did not end in time, or was stuck."""
    starts: int
    kills: tuple[Struck, ...]
    site: Site
    journals: Mapping[str, bytes]
    """Task's name to its whole lines."""
    summary: Mapping[str, Any]
    left: int
    """Processes that were still there."""


async def play(mode: Mode, tasks: Sequence[Posed], strikes: Sequence[Strike], setting: Setting) -> Ended:
    """The whole run."""
    folder = setting.folder / mode.name
    folder.mkdir(parents=True)
    async with _stage(mode, tasks, setting, folder) as siege:
        return await siege.play(strikes)


@asynccontextmanager
async def _stage(mode: Mode, tasks: Sequence[Posed], setting: Setting, folder: Path) -> AsyncIterator["Siege"]:
    watch = Watch()
    site = Site(seed=sum(setting.seed.encode()), longest_reset_s=setting.longest_reset_s)
    watched(site, watch)
    async with SiteServer(site) as server:
        port = server.port
        paths = write(tasks, folder)
        plans = read_plans(paths[1], {task.name[1:]: intent(task) for task in tasks})
        endpoint = Endpoint(plans, tasks, site=site, watch=watch, latency_s=setting.latency_s)
        async with serving(endpoint) as endpoint_port:
            command = [
                *(sys.executable, str(setting.project / "run.py"), f"run.root={folder}", "run.id=run"),
                *("task=demo", "task.name=own", f"task.path={paths[0]}", f"task.plans={paths[1]}"),
                f"llm.base_url=http://127.0.0.1:{endpoint_port}/v1",
                *_settings(mode, setting, port),
            ]
            yield Siege(mode, tuple(tasks), server=server, watch=watch, start=_Start(setting, folder / "run", command))


def _settings(mode: Mode, setting: Setting, port: int) -> list[str]:
    urls = [f"http://i{number}.{OWN}.localhost:{port}" for number in range(setting.instances)]
    found = [
        *("sites.embedded=false", f"+sites.{OWN}.url={urls[0]}", f"+sites.{OWN}.canonical=http://{OWN}.test"),
        f"+sites.{OWN}.instances=[{','.join(urls)}]",
        *(f"+sites.{name}.url=http://i0.{name}.localhost:{port}" for name in (TWIN, OLD)),
        *(f"+sites.{name}.canonical=http://{name}.test" for name in (TWIN, OLD)),
        *(f"+sites.{name}.safe_get=true" for name in SAFE),
        *(f"workers={setting.workers}", f"executor.lanes={setting.lanes}", f"resume={mode.strategy}"),
        *("run.display=none", "run.report=false", "browser.screenshots=false", "resume.max_attempts=100"),
        *("browser.navigation_timeout_s=6", "browser.step_deadline_s=20"),
        f"browser.action_timeout_s={ACTION_TIMEOUT_S}",
    ]
    if mode.hook:
        found += [f'+sites.{name}.reset_url="{{url}}/__reset__"' for name in (OWN, TWIN, OLD)]
    if mode.inline:
        found.append("executor=inline")
    if mode.in_doubt:
        found.append(f"+resume.in_doubt={mode.in_doubt}")
    return [*found, *setting.overrides]


@dataclass(frozen=True, slots=True)
class _Start:
    """What is started, again and again."""

    setting: Setting
    folder: Path
    command: list[str]

    async def process(self) -> asyncio.subprocess.Process:
        with (self.folder.parent / "run.log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                *self.command,
                stdout=log,
                stderr=log,
                cwd=self.folder.parent,
                env={**os.environ, "PYTHONPATH": str(self.setting.project)},
            )

    def journals(self) -> dict[str, bytes]:
        found = {}
        for path in self.folder.glob("*.traj.jsonl"):
            data = path.read_bytes()
            found[f"t{path.name.partition('.')[0]}"] = data[: data.rfind(b"\n") + 1]
        return found


class Siege:
    """The run under way."""

    def __init__(
        self, mode: Mode, tasks: tuple[Posed, ...], *, server: SiteServer, watch: Watch, start: _Start
    ) -> None:
        self._mode = mode
        self._tasks = tasks
        self._server = server
        self._site = site = server.site
        self._watch = watch
        self._start = start
        self._process: asyncio.subprocess.Process | None = None
        self._kills: list[Struck] = []
        self._often: Counter[str] = Counter()
        self._family = Family()
        self._meeting: set[asyncio.Task[None]] = set()
        site.met = self._meet
        self._starts = 0
        self._fruitless = 0
        self._lines = 0

    async def play(self, strikes: Sequence[Strike]) -> Ended:
        code: int | None = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._start.setting.deadline_s):
                await self._begin()
                for strike in strikes:
                    if (event := await self._reach(strike)) is None:
                        break
                    await self._strike(strike, event)
                code = await self._finish()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        return await self._ended(code)

    def _meet(self, port: int) -> None:
        if self._process is not None:
            task = asyncio.create_task(asyncio.to_thread(self._family.meet, self._process.pid, port))
            self._meeting.add(task)
            task.add_done_callback(self._meeting.discard)

    async def _begin(self) -> None:
        self._process = await self._start.process()
        self._starts += 1

    async def _reach(self, strike: Strike) -> Event | None:
        """What the strike waits for; None when the run was done first."""
        found = self._watch.arm(strike)
        is_prompt = strike.aim == DECIDED or 0 < strike.delay_s < PROMPT_S
        looking = asyncio.create_task(self._look_out()) if is_prompt else None
        try:
            while not found.done():
                assert self._process is not None
                ended = asyncio.create_task(self._process.wait())
                await asyncio.wait((found, ended), return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    ended.cancel()
                elif not found.done() and not await self._goes_on():
                    return None
            return found.result()
        finally:
            self._watch.disarm()
            if looking is not None:
                looking.cancel()

    async def _look_out(self) -> None:
        """For decisions, and for who is there: whoever is struck within some ms is known before the event."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch.watch_journals(self._start.folder))
            while True:
                if self._process is not None:
                    self._family.look(self._process.pid)
                await asyncio.sleep(FRESH_S / 2)

    async def _goes_on(self) -> bool:
        """After a start has ended: begin another one, unless the run is done or stuck."""
        assert self._process is not None
        if self._process.returncode in DONE:
            return False
        lines = sum(journal.count(b"\n") for journal in self._start.journals().values())
        self._fruitless = 0 if lines > self._lines else self._fruitless + 1
        self._lines = lines
        if self._fruitless >= FRUITLESS:
            return False
        await self._begin()
        return True

    async def _strike(self, strike: Strike, event: Event) -> None:
        assert self._process is not None
        loop = asyncio.get_running_loop()
        pid = self._process.pid
        if strike.delay_s < FRESH_S:
            self._family.refresh(pid)
        await asyncio.sleep(max(0.0, event.at + strike.delay_s - loop.time()))
        if strike.victim == SITE:
            after_ms = (loop.time() - event.at) * 1000
            await self._server.refuse(LONGEST_OUTAGE_S * strike.which)
            self._kills.append(Struck(victim=SITE, aim=strike.aim, task=event.task, after_ms=after_ms))
            return event.struck.set()
        if strike.victim == FREEZE:
            after_ms = (loop.time() - event.at) * 1000
            stopped = await asyncio.to_thread(stop, pid, whole=strike.which < 0.5)
            try:
                await asyncio.sleep(FROZEN_S)
            finally:
                go_on(stopped)
            self._kills.append(Struck(victim=FREEZE, aim=strike.aim, task=event.task, after_ms=after_ms))
            return event.struck.set()
        victim = self._family.choose(pid, strike.victim, strike.which, port=self._site.ports.get(event.task))
        if victim is not None and kill(victim):
            self._kills.append(
                Struck(victim=victim.kind, aim=strike.aim, task=event.task, after_ms=(loop.time() - event.at) * 1000)
            )
            self._often[event.task] += 1
            if self._often[event.task] == MOST:
                self._watch.spare(event.task)
        event.struck.set()
        if victim is not None and victim.kind == PARENT:
            await self._process.wait()
            await self._begin()

    async def _finish(self) -> int | None:
        while True:
            assert self._process is not None
            code = await self._process.wait()
            if code in DONE or not await self._goes_on():
                return code

    async def _ended(self, code: int | None) -> Ended:
        folder = self._start.folder
        until = time.monotonic() + GONE_WITHIN_S
        while (left := len(find_orphans(folder))) and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
        path = folder / "summary.json"
        return Ended(
            mode=self._mode,
            tasks=self._tasks,
            code=code,
            starts=self._starts,
            kills=tuple(self._kills),
            site=self._site,
            journals=self._start.journals(),
            summary=json.loads(path.read_bytes()) if path.exists() else {},
            left=left,
        )
