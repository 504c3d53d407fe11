"""Promises about a site of one's own, broken on purpose: each mutant plays the modes and tasks in which that must be noticed.

A mutant without patches is one whose code is not written yet: it is told as such, and the whole does not pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from chaos_judge import Verdict
from chaos_own import Wanted, exact, modes_of, siege
from chaos_patches import Patch
from chaos_siege import Setting
from chaos_tasks import KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMutant:
    """One way to break a promise on a site of one's own."""

    name: str
    patches: tuple[Patch, ...] = ()
    modes: str
    kinds: tuple[str, ...] = ()
    """Names of the kinds of task to play; () = all."""
    exactly: bool = False
    """Only the exact case: a kill 20 ms after an order's POST."""
    as_is: bool = False
    """The code is not changed, and nothing may be noticed."""


OWN_AS_IS = (
    OwnMutant(name="the code as it is, a kill 20 ms after an order", modes="auto-hook", exactly=True, as_is=True),
    OwnMutant(name="the code as it is, with a hook and without", modes="auto-hook,checkpoint-none", as_is=True),
)
DIRTY, LATE, DOUBT, TARGET = (
    "does not mark a site dirty before an action is sent",
    "drops effects that arrive late",
    "hides a doubt",
    "performs a pending decision on the target of the dead window",
)
PATCHES: dict[str, tuple[Patch, ...]] = {DIRTY: (), LATE: (), DOUBT: (), TARGET: ()}
"""What breaks each promise; filled in once there is code that keeps it."""
OWN_MUTANTS = (
    OwnMutant(name=DIRTY, patches=PATCHES[DIRTY], modes="auto-hook", exactly=True),
    OwnMutant(
        name=LATE,
        patches=PATCHES[LATE],
        modes="auto-hook",
        kinds=("late 1000 ms", "after the last step", "order", "like", "late 2500 ms", "note"),
    ),
    OwnMutant(name=DOUBT, patches=PATCHES[DOUBT], modes="auto-none", kinds=("order", "like", "note", "popup")),
    OwnMutant(name=TARGET, patches=PATCHES[TARGET], modes="checkpoint-none", kinds=("vote", "votes")),
)


async def attack_own(
    copy_of: Callable[[Path, tuple[Patch, ...]], Path], folder: Path, *, seed: int, episodes: int
) -> bool:
    """Whether the code as it is passes on a site of one's own, and every mutant there is noticed.

    Args:
        copy_of: Copies the project into a new folder, with patches in it.
        folder: For copies and runs.
        seed: Of the strikes.
        episodes: Of each mutant.
    """
    fine = True
    for number, mutant in enumerate((*OWN_AS_IS, *OWN_MUTANTS)):
        if not mutant.patches and not mutant.as_is:
            print(f"WRONG {mutant.name}: its code is not written yet (PATCHES in chaos_own_mutants.py)", flush=True)  # noqa: T201
            fine = False
            continue
        setting = Setting(
            project=copy_of(folder / f"own-{number}", mutant.patches),
            folder=folder / f"own-runs-{number}",
            seed=str(seed),
            deadline_s=300,
        )
        found = await (exact(setting) if mutant.exactly else siege(_wanted(mutant, episodes), setting))
        fine &= _noticed(mutant, found)
    return fine


def _wanted(mutant: OwnMutant, episodes: int) -> Wanted:
    wanted = Wanted(episodes=episodes, modes=modes_of(mutant.modes))
    if not mutant.kinds:
        return wanted
    return replace(wanted, kinds=tuple(kind for kind in KINDS if kind.name in mutant.kinds))


def _noticed(mutant: OwnMutant, found: list[Verdict]) -> bool:
    """Print what was noticed; True when that is what should have been."""
    faults = [fault for one in found for fault in one.faults]
    right = bool(faults) != mutant.as_is
    print(f"{'ok   ' if right else 'WRONG'} {mutant.name}: {len(faults)} violations", flush=True)  # noqa: T201
    for fault in faults[:3]:
        print(f"      {fault}", flush=True)  # noqa: T201
    return right
