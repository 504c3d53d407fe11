"""Kills a run again and again, starts the same command until it is done, and shows that nothing was lost or paid twice.

Run: `python benchmarks/chaos.py [--seed 0] [--kills 40] [--task demo|smoke] [--workers 2] [--agent computer]
[--shifting] [--project DIR]`. The parent, its workers and its browsers get SIGKILL at seeded moments: after so much
progress, then after a moment's wait or in the middle of a write on a site. Exit code 1 when anything that must hold
does not.

`--site own [--episodes 200] [--modes auto-hook,replay-none]` does so on a site of one's own, which counts effects on
its side and is struck where they arrive (`chaos_own`); `--exact` is one certain case of that alone. `--site apps` plays
on applications of other people's code, whose own databases are read (`chaos_apps`; first `harness sites install apps`).
`make chaos` is `--site both`.
"""

import argparse
import asyncio
import contextlib
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import chaos_apps
import chaos_own
import chaos_tasks
import psutil
from chaos_checks import REQUEST_ID, Kill, Row, Run, Seen, lines, rows
from chaos_siege import DONE, Setting
from chaos_stage import PROJECT, Stage, stage

from harness.codec import loads
from harness.runner.process_tree import find_orphans, kill_tree

EXAMPLES = PROJECT / "docs" / "examples" / "agents"
AGENTS: Mapping[str, tuple[str, ...]] = {
    "prompt": (),
    "direct": (),
    "tools": (),
    "vision": (),
    "process": (f"agent.command=[{sys.executable},{EXAMPLES / 'tool_loop.py'}]",),
    "browser-use": (),
    "playwright-mcp": (),
    "computer": ("llm.api=responses", "llm.model=computer-use-preview"),
}
"""Who may play, and with which settings."""
PROCESSES = frozenset({"process", "browser-use", "playwright-mcp"})
BY_RESPONSE = PROCESSES | {"computer"}
"""Whose requests are no messages of the journal, and are known by the ids of their responses."""
EPISODES, SLOW_EPISODES = 200, 24
Scene = Stage | chaos_apps.Scene
WATCH_S = 0.03
LOOK_S = 0.005
WRITE_WITHIN_S = 2.0
"""How long a kill that wants to strike in the middle of a write waits for one."""
GONE_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When to strike, and whom."""

    share: float
    """Progress to be made before: a part of what is left, in [0, 1) of twice the even share."""
    wait_s: float
    amid_write: bool
    victim: str
    """`parent`, `worker` or `browser`."""
    which: float
    """In [0, 1): which of several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is run, and how it is disturbed."""

    project: Path
    overrides: tuple[str, ...]
    folder: Path
    workers: int
    deadline_s: float
    by_response: bool = False
    """Whether requests are known by the ids of their responses: messages of other interfaces than chat completions are
    not stored as they are sent.
    """

    def command(self, run_id: str, scene: Scene) -> list[str]:
        return [
            *(sys.executable, str(self.project / "run.py"), f"run.root={self.folder}", f"run.id={run_id}"),
            f"llm.base_url=http://127.0.0.1:{scene.endpoint_port}/v1",
            *([f"sites.port={scene.sites_port}"] if scene.sites_port else []),
            *(f"workers={self.workers}", "executor.lanes=1", "run.display=none", "run.report=false"),
            *("resume.max_attempts=100", *self.overrides),
        ]


def moments(seed: int, kills: int) -> tuple[Moment, ...]:
    """The same for the same seed."""
    chance = random.Random(seed)
    return tuple(
        Moment(
            share=chance.random(),
            wait_s=chance.uniform(0, 0.5),
            amid_write=chance.random() < 0.4,
            victim=chance.choices(("parent", "worker", "browser"), (4, 3, 3))[0],
            which=chance.random(),
        )
        for _ in range(kills)
    )


class Playing:
    """One run under way: started, struck, started again."""

    def __init__(self, plan: Plan, scene: Scene, run_id: str) -> None:
        self._plan = plan
        self._scene = scene
        self._run_id = run_id
        self.folder = plan.folder / run_id
        self._process: asyncio.subprocess.Process | None = None
        self._log = (plan.folder / f"{run_id}.log").open("ab")
        self.kills: list[Kill] = []
        self._answered: dict[str, str] = {}

    async def play(self, strikes: Sequence[Moment] = (), *, lines: int = 0) -> Run:
        """To the end, struck at each of the moments, all of them before nine tenths of so many journal lines.

        A run that does not end is killed at its deadline, and its exit code says so.
        """
        await self._scene.begin()
        await self._start()
        assert self._process is not None
        try:
            await self._strike_at(strikes, lines)
            async with asyncio.timeout(self._plan.deadline_s):
                await self._process.wait()
        except TimeoutError:
            print(f"{self._run_id}: no end within {self._plan.deadline_s:g} s, so it is killed")  # noqa: T201
            kill_tree(self._process.pid)
        code = await self._process.wait()
        self._log.close()
        until = time.monotonic() + GONE_WITHIN_S
        while find_orphans(self.folder) and time.monotonic() < until:  # noqa: ASYNC110 (other processes tell nobody)
            await asyncio.sleep(WATCH_S)
        return Run(code=code, seen=await self._look(), kills=tuple(self.kills), left=len(find_orphans(self.folder)))

    async def _strike_at(self, strikes: Sequence[Moment], lines: int) -> None:
        for number, strike in enumerate(strikes):
            now = self._progress()
            even = max(0.0, lines * 0.9 - now) / (len(strikes) - number)
            if not await self._reach(strike, now + round(strike.share * 2 * even), latest=now + 2 * even):
                break
            await self._strike(strike)

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *self._plan.command(self._run_id, self._scene),
            stdout=self._log,
            stderr=self._log,
            cwd=self._plan.folder,
            env={**os.environ, "PYTHONPATH": str(self._plan.project)},
        )

    async def _reach(self, strike: Moment, progress: int, *, latest: float) -> bool:
        """Wait for the moment; False when the run ended first.

        With `latest` journal lines it is struck whatever else was wanted: a fast run would end meanwhile.
        """
        async with asyncio.timeout(self._plan.deadline_s):
            while self._progress() < progress and self._is_running():  # noqa: ASYNC110 (files tell nobody)
                await asyncio.sleep(WATCH_S)
        self._scene.sites.written.clear()
        until = time.monotonic() + (WRITE_WITHIN_S if strike.amid_write else strike.wait_s)
        while time.monotonic() < until and self._progress() < latest:
            if strike.amid_write and self._scene.sites.written.is_set():
                break
            await asyncio.sleep(LOOK_S)
        return self._is_running()

    def _is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _strike(self, strike: Moment) -> None:
        assert self._process is not None
        victim, pid = self._victim(strike)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.kills.append(Kill(victim=victim, seen=await self._look()))
        if victim == "parent":
            await self._process.wait()
            await self._start()

    def _victim(self, strike: Moment) -> tuple[str, int]:
        """Whoever of that kind is there; before there is any, the parent."""
        assert self._process is not None
        by_kind: dict[str, list[int]] = {}
        for process in psutil.Process(self._process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                by_kind.setdefault(_kind(process.cmdline()), []).append(process.pid)
        # Half of the strikes that are meant for a browser are for the agent's process, where there is one.
        victim = "agent" if strike.victim == "browser" and strike.which < 0.5 and "agent" in by_kind else strike.victim
        if not (found := by_kind.get(victim)):
            return "parent", self._process.pid
        return victim, sorted(found)[int(strike.which * len(found))]

    async def _look(self) -> Seen:
        writes = await self._scene.writes()
        journals = {path.name: _whole_lines(path.read_bytes()) for path in self.folder.glob("*.traj.jsonl")}
        requests = await self._scene.requests()
        answered = self._answers(journals) if self._plan.by_response else None
        return Seen(writes=writes, journals=journals, requests=requests, answered=answered)

    def _answers(self, journals: Mapping[str, bytes]) -> Mapping[str, str]:
        """By artifact, which request each stored response answers."""
        named = {line.get("response") for journal in journals.values() for line in lines(journal)}
        for digest in named - self._answered.keys() - {None}:
            response = loads((self.folder / "artifacts" / digest[:2] / digest).read_bytes())
            self._answered[digest] = re.split("[-_]", str(response["id"]), maxsplit=1)[-1][:REQUEST_ID]
        return dict(self._answered)

    def _progress(self) -> int:
        return sum(path.read_bytes().count(b"\n") for path in self.folder.glob("*.traj.jsonl"))


def _kind(command: Sequence[str]) -> str:
    if "harness.evaluation.worker_main" in command:
        return "worker"
    is_browser = any("chrom" in word for word in command[:1]) and not any(
        word.startswith("--type=") for word in command
    )
    if command[1:2] and command[1].startswith(str(EXAMPLES)):
        return "agent"
    return "browser" if is_browser else ""


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


async def play_calm(plan: Plan, scene: Scene) -> Run:
    """The undisturbed run.

    Raises:
        SystemExit: It did not end by itself, so there is nothing to compare with.
    """
    calm = await Playing(plan, scene, "calm").play()
    if calm.code not in DONE:
        raise SystemExit(f"the undisturbed run ended with exit code {calm.code}; --keep keeps its log")
    return calm


async def chaos(options: argparse.Namespace, folder: Path) -> tuple[Row, ...]:
    """The undisturbed run, the disturbed one, and what they show."""
    overrides = [
        f"task={options.task}",
        f"agent={options.agent}",
        *AGENTS[options.agent],
        *options.override,
        *(["resume.min_similarity=1"] if options.shifting else []),
    ]
    plan = Plan(
        project=options.project.resolve(),
        overrides=overrides,
        folder=folder,
        workers=options.workers,
        deadline_s=options.deadline_s,
        by_response=options.agent in BY_RESPONSE,
    )
    async with stage(tenants=options.workers, shifting=options.shifting, latency_ms=options.latency_ms) as scene:
        calm = await play_calm(plan, scene)
        disturbed = await play_disturbed(plan, scene, calm, moments(options.seed, options.kills))
    return rows(calm, disturbed, kills=options.kills, lanes=options.workers)


async def play_disturbed(plan: Plan, scene: Scene, calm: Run, strikes: Sequence[Moment]) -> Run:
    """The same run, struck at each of the moments; what was done to it is printed."""
    progress = sum(journal.count(b"\n") for journal in calm.seen.journals.values())
    disturbed = await Playing(plan, scene, "chaos").play(strikes, lines=progress)
    _tell_kills(disturbed)
    _tell_divergences(disturbed)
    return disturbed


def _tell_kills(run: Run) -> None:
    for number, kill in enumerate(run.kills, start=1):
        count = sum(journal.count(b"\n") for journal in kill.seen.journals.values())
        print(f"kill {number:2}: {kill.victim:7} at {count} journal lines, {len(kill.seen.requests)} requests")  # noqa: T201


def _tell_divergences(run: Run) -> None:
    """Each is recorded, and what follows from it is the run's policy."""
    for name, journal in sorted(run.seen.journals.items()):
        for line in lines(journal):
            if line["kind"] == "diverged":
                print(f"divergence of {name.partition('.')[0]} at step {line['step']}: {line['why']}")  # noqa: T201


def tell(table: Sequence[Row]) -> None:
    """Print the table, then what is wrong."""
    width = max(len(row.name) for row in table)
    for row in table:
        print(f"{row.name:{width}}  {row.figure:>16}  {'ok' if not row.faults else 'VIOLATED'}")  # noqa: T201
    for row in table:
        for fault in row.faults[:5]:
            print(f"{row.name}: {fault}")  # noqa: T201


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Kill a run at seeded moments and show that nothing is lost.")
    made.add_argument("--seed", type=int, default=0, help="the same seed strikes at the same progress")
    made.add_argument("--kills", type=int, default=40)
    made.add_argument("--task", default="demo", help="task group: demo, or smoke for a quick look")
    made.add_argument("--agent", choices=tuple(AGENTS), default="prompt", help="who plays")
    made.add_argument("--override", action="append", default=[], help="further setting of the run, KEY=VALUE")
    made.add_argument("--workers", type=int, default=2)
    made.add_argument("--latency-ms", type=float, default=100.0, help="how long the endpoint takes to answer")
    made.add_argument("--shifting", action="store_true", help="sites change with every reset, so no replay leads back")
    made.add_argument("--deadline-s", type=float, default=900.0, help="of a run, and of the wait for each strike")
    made.add_argument("--project", type=Path, default=PROJECT, help="checkout whose run.py is run")
    made.add_argument("--site", choices=("embedded", "own", "both", "apps"), default="embedded", help="where to play")
    made.add_argument(
        "--episodes",
        type=int,
        help=f"of one's own site: over all its modes; {EPISODES}, or {SLOW_EPISODES} of an agent that is a process",
    )
    names = ", ".join(one.name for one in chaos_own.MODES)
    made.add_argument(
        "--modes", type=chaos_own.modes_of, default=chaos_own.MODES, help=f"of one's own site: of {names}"
    )
    made.add_argument("--exact", action="store_true", help="of one's own site: only a kill 20 ms after an order's POST")
    made.add_argument("--keep", type=Path, default=None, help="folder for the runs, else a temporary one")
    return made


async def own(options: argparse.Namespace, folder: Path) -> bool:
    """On a site of one's own; True when nothing is violated."""
    is_process = options.agent in PROCESSES
    wanted = chaos_own.Wanted(
        episodes=options.episodes or (SLOW_EPISODES if is_process else EPISODES),
        modes=options.modes,
        # An agent that looks by itself sees a new window too late now and then: its undisturbed score is no measure.
        kinds=tuple(kind for kind in chaos_tasks.KINDS if not is_process or kind.name != "popup"),
    )
    setting = Setting(
        project=options.project.resolve(),
        folder=folder,
        seed=str(options.seed),
        deadline_s=options.deadline_s,
        overrides=(f"agent={options.agent}", *AGENTS[options.agent], *options.override),
    )
    return await chaos_own.own(None if options.exact else wanted, setting)


async def apps(options: argparse.Namespace, folder: Path) -> bool:
    """On the set `apps`; True when nothing is violated, or where the applications are not installed."""
    if why := chaos_apps.missing():
        print(f"not played: {why}")  # noqa: T201
        return True
    with chaos_apps.up(folder) as sites:
        plan = Plan(
            project=options.project.resolve(),
            overrides=(*chaos_apps.overrides(sites), f"agent={options.agent}", *options.override),
            folder=folder,
            workers=options.workers,
            deadline_s=options.deadline_s,
        )
        async with chaos_apps.scene(options.latency_ms) as scene:
            calm = await play_calm(plan, scene)
            before = sites.take_looks()
            disturbed = await play_disturbed(plan, scene, calm, moments(options.seed, options.kills))
        common = rows(calm, disturbed, kills=options.kills, lanes=options.workers)
        table = chaos_apps.judged(common, sites.seeds(), before, sites.take_looks())
    tell(table)
    return not any(row.faults for row in table)


async def embedded(options: argparse.Namespace, folder: Path) -> bool:
    """On the sites that come with the project; True when nothing is violated."""
    table = await chaos(options, folder)
    tell(table)
    return not any(row.faults for row in table)


def main() -> int:
    options = parser().parse_args()
    started = time.monotonic()
    known = {"embedded": (embedded,), "own": (own,), "both": (embedded, own), "apps": (apps,)}
    places = known["own" if options.exact else options.site]
    fine = True
    with tempfile.TemporaryDirectory(prefix="chaos-") as temporary:
        folder = options.keep or Path(temporary)
        for play in places:
            (folder / play.__name__).mkdir(parents=True, exist_ok=True)
            fine &= asyncio.run(play(options, folder / play.__name__))
    print(f"seed {options.seed}, {time.monotonic() - started:.0f} s")  # noqa: T201
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
