"""Breaks three promises on purpose, in copies of the package, and demands that the chaos run notices each of them.

Run: `python benchmarks/chaos_mutants.py [--seed 0] [--kills 8]`, or `make chaos-mutants`. The code as it is must pass first,
also on sites that change with every reset. Then the same for promises about a site of one's own (`chaos_own_mutants`; `--site`
chooses one of the two). Exit code 1 when the code does not pass, or when a mutant gets through.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chaos import Plan, Playing, moments
from chaos_checks import Row, Run, rows
from chaos_own_mutants import attack_own
from chaos_patches import Patch, apply
from chaos_stage import PROJECT, Stage, stage

TASKS = "[8,9,12,22,24,37]"
"""Tasks that write on their sites more than once."""
WORKERS = 2
COPIED = ("harness", "configs", "tasks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One way to break a promise: in a file, each text replaced by another."""

    name: str
    file: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    shifting: bool = False
    """On sites that change with every reset."""


AS_IS = Mutant(name="the code as it is, on changing sites", shifting=True)
MUTANTS = (
    Mutant(
        name="acts before the decision is on disk",
        file="harness/runner/episode.py",
        changes=(
            ("view = await self._restore(env)", "self._env = env; view = await self._restore(env)"),
            (
                "        took_ms = max(0.0, elapsed_ms() - decision.reply.waited_s * 1000)\n",
                "        took_ms = max(0.0, elapsed_ms() - decision.reply.waited_s * 1000)\n"
                "        self._early = None if decision.action.kind == 'stop' else await self._env.act(decision.action)\n",
            ),
            (
                "landed = await env.act(pending.action)",
                "landed = getattr(self, '_early', None) or await env.act(pending.action); self._early = None",
            ),
        ),
    ),
    Mutant(
        name="repeats a pending decision blindly",
        file="harness/browser/restoring.py",
        changes=(
            ('    fresh = strategy == "replay" and whole', '    strategy, fresh = "checkpoint", False'),
            (
                "        least_at_end=1.0 if unsure and not fresh else settings.min_similarity,",
                "        least_at_end=0.0,",
            ),
        ),
    ),
    Mutant(
        name="replays without comparing",
        file="harness/browser/restoring.py",
        changes=(("    alike = similarity(view.observation, recorded.observation)", "    alike = 1.0"),),
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


def copy_of(project: Path, mutant: Mutant) -> Path:
    """The package with the mutation in it.

    Raises:
        SystemExit: The text to replace is not there any more: the mutant must follow the code.
    """
    patched(project, ())
    for before, after in mutant.changes:
        path = project / mutant.file
        text = path.read_text()
        if text.count(before) != 1:
            raise SystemExit(f"mutant '{mutant.name}': {mutant.file} does not hold this once: {before.strip()}")
        path.write_text(text.replace(before, after))
    return project


async def attack(folder: Path, *, seed: int, kills: int) -> bool:
    """Whether the code passes and every mutant fails."""
    async with stage(tenants=WORKERS, shifting=False, latency_ms=50) as scene:
        calm = await Playing(_plan(PROJECT, folder / "calm", AS_IS), scene, "calm").play()
        fine = True
        for number, mutant in enumerate((AS_IS, *MUTANTS)):
            project = copy_of(folder / f"mutant-{number}", mutant)
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
        deadline_s=300,
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
    right = bool(violated) == bool(mutant.changes)
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
