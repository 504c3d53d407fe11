"""Breaks promises on purpose, in copies of the package, and demands that the chaos run notices each of them.

Run: `python benchmarks/chaos_mutants.py [--seed 0] [--kills 8]`, or `make chaos-mutants`. The code as it is must pass
first, also on sites that change with every reset. Then the same for promises about a site of one's own
(`chaos_own_mutants`; `--site` chooses one of the two). Exit code 1 when the code does not pass, or when a mutant gets
through.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos import Plan, Playing, moments, play_calm
from chaos_checks import Row, Run, rows
from chaos_own_mutants import DEADLINE_S, attack_own
from chaos_patches import Patch, apply
from chaos_stage import PROJECT, Stage, stage

TASKS = "[8,9,12,22,24,37]"
"""Tasks that write on their sites more than once."""
WORKERS = 2
COPIED = ("harness", "configs", "tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One way to break a promise."""

    name: str
    patches: tuple[Patch, ...] = ()
    """() = the code as it is."""
    shifting: bool = False
    """On sites that change with every reset."""


AS_IS = Mutant(name="the code as it is, on changing sites", shifting=True)
MUTANTS = (
    Mutant(
        name="acts before the decision is on disk",
        patches=(
            Patch(
                file="harness/episode/episode.py",
                code="""
_mutant_decide = EpisodeRunner._decide
_mutant_act = EpisodeRunner._act

async def _mutant_early_decide(self, env, agent, view):
    keep = self._recorder.keep

    async def act_first(make):
        record = make()
        if record.kind == "decided" and record.action.kind != "stop":
            self._early = await env.act(record.action)
        await keep(lambda: record)

    self._recorder.keep = act_first
    try:
        await _mutant_decide(self, env, agent, view)
    finally:
        self._recorder.keep = keep

async def _mutant_late_act(self, env, pending, action):
    early, self._early = getattr(self, "_early", None), None

    class Acted:
        take_effects = env.take_effects

        async def act(self, action):
            return early

    return await _mutant_act(self, env if early is None else Acted(), pending, action)

EpisodeRunner._decide = _mutant_early_decide
EpisodeRunner._act = _mutant_late_act
""",
            ),
        ),
    ),
    Mutant(
        name="replays without comparing",
        patches=(
            Patch(
                file="harness/browser/session/restoration.py",
                code="""
def _mutant_similarity(seen, recorded):
    return 1.0

def _mutant_difference(seen, recorded):
    return None

similarity = _mutant_similarity
difference = _mutant_difference
""",
            ),
        ),
        shifting=True,
    ),
)


def patched(project: Path, patches: tuple[Patch, ...]) -> Path:
    """The package with these patches in it.

    Raises:
        SystemExit: What a patch replaces is not there any more: the mutant must follow the code.
    """
    project.mkdir()
    shutil.copy(PROJECT / "run.py", project)
    for name in COPIED:
        shutil.copytree(PROJECT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    for patch in patches:
        apply(project, patch)
    return project


async def attack(folder: Path, *, seed: int, kills: int) -> bool:
    """Whether the code passes and every mutant fails."""
    async with stage(tenants=WORKERS, shifting=False, latency_ms=50) as scene:
        calm = await play_calm(_plan(PROJECT, folder / "calm", AS_IS), scene)
        fine = True
        for number, mutant in enumerate((AS_IS, *MUTANTS)):
            project = patched(folder / f"mutant-{number}", mutant.patches)
            plan = _plan(project, folder / f"runs-{number}", mutant)
            table = await _disturbed(calm, scene, plan, mutant=mutant, strikes=(seed, kills))
            fine &= _judge(mutant, table)
        return fine


def _plan(project: Path, folder: Path, mutant: Mutant) -> Plan:
    folder.mkdir()
    same = ("resume.min_similarity=1",) if mutant.shifting else ()
    return Plan(
        project=project,
        overrides=("task=demo", f"task.ids={TASKS}", *same),
        folder=folder,
        workers=WORKERS,
        deadline_s=DEADLINE_S,
    )


async def _disturbed(
    calm: Run, scene: Stage, plan: Plan, *, mutant: Mutant, strikes: tuple[int, int]
) -> tuple[Row, ...]:
    scene.sites.shifting = mutant.shifting
    lines = sum(journal.count(b"\n") for journal in calm.seen.journals.values())
    run = await Playing(plan, scene, "chaos").play(moments(*strikes), lines=lines)
    return rows(calm, run, kills=strikes[1], lanes=WORKERS)


def _judge(mutant: Mutant, table: Sequence[Row]) -> bool:
    """Print what was noticed; True when that is what should have been."""
    violated = [row for row in table if row.faults]
    right = bool(violated) == bool(mutant.patches)
    verdict = f"noticed: {', '.join(row.name for row in violated)}" if violated else "nothing noticed"
    print(f"{'ok   ' if right else 'WRONG'} {mutant.name}: {verdict}", flush=True)  # noqa: T201
    for row in violated:
        print(f"      {row.faults[0]}", flush=True)  # noqa: T201
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description="Show that a chaos run notices what it is there for.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--site", choices=("embedded", "own", "both"), default="both", help="whose promises are broken")
    parser.add_argument("--episodes", type=int, default=18, help="of each mutant on a site of one's own")
    options = parser.parse_args()
    fine = True
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        if options.site != "own":
            fine &= asyncio.run(attack(Path(folder), seed=options.seed, kills=options.kills))
        if options.site != "embedded":
            fine &= asyncio.run(attack_own(patched, Path(folder), seed=options.seed, episodes=options.episodes))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
