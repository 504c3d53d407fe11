"""Attacks on agents whose rates are known, on all demo tasks: each kind of injection, four agents; and kills on top.

Run: `python benchmarks/chaos_attacks.py [--kinds banner popup] [--tasks 0 7] [--kills 20] [--keep DIR]`. The obedient
agent does what is planted, and nothing else: every attack has to succeed. The careful one does its task, as the
scripted endpoint says: none may, and it passes what it passes without an attack. One does nothing, and one acts at
random: what chance comes to. Then the careful and the obedient agent play all kinds again while parent, workers and
browsers get SIGKILL (`chaos`): no verdict may change. During all of this, each reset of a site has to give its seed.
Exit code 1 when anything that must hold does not; with `--keep`, the same command goes on with the runs that are there.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos import Moment, Plan, Playing, moments, tell
from chaos_checks import Row
from chaos_siege import DONE
from chaos_stage import PROJECT, Sites, Stage, content_of, stage

from harness.plugins.attacks.figures import figures_of, judge_run
from harness.plugins.attacks.planted import PLACES, STORED
from harness.plugins.attacks.verdicts import Verdict
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import HOST, seeded
from harness.runs import PASSED, Run

KINDS = tuple(kind for kind in PLACES if kind not in ("dialog", STORED))
"""The six that stand in pages; a dialog is gone when the page is there."""
AGENTS: Mapping[str, tuple[str, ...]] = {
    "obedient": ("agent=obedient",),
    "careful": (),
    "null": ("agent=null",),
    "random": ("agent=random", "limits.max_steps=8"),
}
KILLED = ("obedient", "careful")


class Seeds:
    """Compares sites with their seeds at each reset."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._seeds = {site.name: content_of(seeded(site)) for site in SITES}
        self.resets = 0
        self.changed = 0
        """Of them, those of a site that something had been written to."""
        self.faults: list[str] = []
        sites.on_reset = self._compare

    def _compare(self, host: str, is_done: bool) -> None:
        found = HOST.fullmatch(host)
        if found is None:
            return  # a question whether there is a reset at all
        is_seed = self._sites.content(host) == self._seeds[found[2]]
        if not is_done:
            self.resets += 1
            self.changed += not is_seed
        elif not is_seed:
            self.faults.append(f"{host} is not as its seed after reset {self.resets}")


@dataclass(kw_only=True)
class Scene:
    """Where everything is played, and what it came to."""

    stage: Stage
    folder: Path
    tasks: tuple[str, ...]
    workers: int
    runs: dict[str, Run] = field(default_factory=dict)
    kills: int = 0

    async def play(self, name: str, *overrides: str, strikes: Sequence[Moment] = (), lines: int = 0) -> Run:
        """Play a run, or go on with it.

        Raises:
            SystemExit: It did not end by itself.
        """
        plan = Plan(
            project=PROJECT,
            overrides=("task=demo", *self.tasks, *overrides),
            folder=self.folder,
            workers=self.workers,
            deadline_s=3600.0,
        )
        begun = time.monotonic()
        done = await Playing(plan, self.stage, name).play(strikes, lines=lines)
        if done.code not in DONE or done.left:
            raise SystemExit(f"{name} ended with exit code {done.code}; --keep keeps its log")
        self.kills += len(done.kills)
        self.runs[name] = Run(self.folder / name)
        _say(f"{name}: {len(self.runs[name].results)} episodes, {time.monotonic() - begun:.0f} s")
        return self.runs[name]


def attack(*kinds: str) -> tuple[str, ...]:
    return ("attack=inject", f"attack.arguments.kinds=[{','.join(kinds)}]")


def verdicts(run: Run) -> list[Verdict]:
    return judge_run(run)[0]


def passed(run: Run) -> dict[str, bool]:
    return {one.task_id: one.status == PASSED for one in run.results}


async def matrix(scene: Scene, kinds: Sequence[str]) -> list[Row]:
    """Each kind, each agent; prints the table."""
    plain = passed(await scene.play("plain"))
    table, faults = list[tuple[str, ...]](), {name: list[str]() for name in (*AGENTS, "utility")}
    for kind in kinds:
        cells = [kind]
        for name, overrides in AGENTS.items():
            run = await scene.play(f"{kind}-{name}", *attack(kind), *overrides)
            found = verdicts(run)
            rates = figures_of(found).overall
            cells.append(f"{rates.reached} of {rates.episodes}")
            if len(found) != len(plain) or rates.unknown:
                faults[name].append(f"{kind}: {len(found)} episodes, {rates.unknown} unknown")
            wanted = {"obedient": len(found), "careful": 0, "null": 0}.get(name)
            if wanted not in (None, rates.reached):
                faults[name].append(f"{kind}: {rates.reached} attacks succeeded, not {wanted}")
            if name == "careful":
                cells.append(f"{sum(passed(run).values())}")
                changed = [task for task, came in passed(run).items() if came != plain[task]]
                faults["utility"] += [f"{kind}: task {task} does not come to what it does without" for task in changed]
            if name == "null" and (given := [task for task, came in passed(run).items() if came]):
                faults["null"].append(f"{kind}: tasks {', '.join(given)} pass without being done")
        table.append(tuple(cells))
    heads = ("kind", "obedient", "careful", "passed", "null", "random")
    for row in (heads, *table):
        _say("  ".join(f"{cell:>10}" for cell in row))
    _say(f"reached, of attacked episodes; passed: by the careful agent, {sum(plain.values())} without an attack")
    figures = {
        "obedient": "all reached",
        "careful": "none reached",
        "null": "none reached, none passed",
        "random": "all known",
        "utility": "as without",
    }
    return [Row(name=name, figure=figures[name], faults=tuple(found)) for name, found in faults.items()]


async def killed(scene: Scene, kinds: Sequence[str], *, kills: int, seed: int) -> Row:
    """All kinds again, divided among the tasks, calm and killed."""
    faults = list[str]()
    for number, name in enumerate(KILLED):
        overrides = (*attack(*kinds), *AGENTS[name])
        calm = await scene.play(f"calm-{name}", *overrides)
        lines = sum(path.read_bytes().count(b"\n") for path in calm.folder.glob("*.traj.jsonl"))
        strikes = moments(seed + number, kills // 2 + (kills % 2) * (number == 0))
        struck = await scene.play(f"killed-{name}", *overrides, strikes=strikes, lines=lines)
        before, after = ({one.name: _came(one) for one in verdicts(run)} for run in (calm, struck))
        faults += [
            f"{name}: task {one}: {after.get(one)}, not {came}"
            for one, came in before.items()
            if after.get(one) != came
        ]
    if scene.kills < kills:
        faults.append(f"{kills} kills were wanted")
    return Row(name="verdicts after kills", figure=f"{scene.kills} kills", faults=tuple(faults))


def _came(one: Verdict) -> tuple[object, ...]:
    """All that a verdict says; how many steps it took is the agent's own, and the same."""
    return (one.outcome, one.status, one.place, one.planted_from, one.seen_at, one.begun_at, one.reached_at, one.why)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def attacks(options: argparse.Namespace, folder: Path) -> list[Row]:
    tasks = () if options.tasks is None else (f"task.ids=[{','.join(options.tasks)}]",)
    async with stage(tenants=options.workers, shifting=False, latency_ms=0) as here:
        seeds = Seeds(here.sites)
        scene = Scene(stage=here, folder=folder, tasks=tasks, workers=options.workers)
        found = [] if options.only_kills else await matrix(scene, options.kinds)
        if options.kills:
            found.append(await killed(scene, options.kinds, kills=options.kills, seed=options.seed))
    figure = f"{seeds.resets} resets, {seeds.changed} of changed sites"
    return [*found, Row(name="sites after resets", figure=figure, faults=tuple(seeds.faults))]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Attack agents whose rates are known, and kill what plays them.")
    made.add_argument("--kinds", nargs="+", choices=(*KINDS, "dialog"), default=KINDS, metavar="KIND")
    made.add_argument("--tasks", nargs="+", metavar="ID", help="some tasks (default: all 40)")
    made.add_argument("--workers", type=int, default=2)
    made.add_argument("--kills", type=int, default=20)
    made.add_argument("--only-kills", action="store_true", help="without the table of kinds and agents")
    made.add_argument("--seed", type=int, default=0, help="of the kills")
    made.add_argument("--keep", type=Path, help="folder for the runs, else a temporary one")
    return made


def main() -> int:
    options = parser().parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attacks-") as temporary:
        folder = (options.keep or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        table = asyncio.run(attacks(options, folder))
    tell(table)
    _say(f"{time.monotonic() - begun:.0f} s")
    return int(any(row.faults for row in table))


if __name__ == "__main__":
    sys.exit(main())
