"""Promises about a site of one's own, broken on purpose: each mutant plays the modes and tasks in which that must be
noticed.

A patch replaces functions by name (`chaos_patches`); each brings back a rule that was found wanting.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from chaos_aiming import DECIDED, EFFECT, FREEZE, THINKING
from chaos_judge import Verdict
from chaos_own import KILLS_EACH, Wanted, exact, modes_of, siege
from chaos_patches import Patch
from chaos_siege import Setting
from chaos_tasks import KINDS

DEADLINE_S = 900.0
"""Of a mutant's run: a busy machine is no violation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMutant:
    """One way to break a promise on a site of one's own."""

    name: str
    patches: tuple[Patch, ...] = ()
    modes: str
    kinds: tuple[str, ...] = ()
    """Names of the kinds of task to play; () = all."""
    kills_each: float = KILLS_EACH
    aim: str = ""
    """Of all kills; "" = any."""
    victim: str = ""
    """The same."""
    exactly: bool = False
    """Only the exact case: a kill 20 ms after an order's POST."""
    as_is: bool = False
    """The code is not changed, and nothing may be noticed."""


OWN_AS_IS = (
    OwnMutant(name="the code as it is, a kill 20 ms after an order", modes="auto-hook", exactly=True, as_is=True),
    OwnMutant(name="the code as it is, with a hook and without", modes="auto-hook,checkpoint-none", as_is=True),
)
BLIND, DIRTY, LATE, DOUBT, TARGET, UNAWAITED, DROPPED, YOUNGER, BLANK, CUT = (
    "repeats a pending decision blindly",
    "does not mark a site dirty before an action is sent",
    "drops effects that arrive late",
    "hides a doubt",
    "performs a pending decision on the target of the dead window",
    "replays without waiting for recorded requests",
    "drops what a restore sends",
    "leaves the pages of a replay younger than they were",
    "takes an empty tab for a site",
    "cuts an action off that was frozen, and records it as done",
)
PATCHES: dict[str, tuple[Patch, ...]] = {
    BLIND: (
        Patch(
            file="harness/browser/session/restoration.py",
            code="""
_mutant_plan = plan

def _mutant_sure(task, episode, *, sites, settings, clean):
    return replace(_mutant_plan(task, episode, sites=sites, settings=settings, clean=clean), in_doubt=False)

plan = _mutant_sure
""",
        ),
    ),
    DIRTY: (
        Patch(
            file="harness/runner/dirty_sites.py",
            code="""
def _mutant_used(self, instances, by, *, goes_on):
    return None

DirtySites.mark_in_use = _mutant_used
""",
        ),
        Patch(
            file="harness/runner/site_state.py",
            code="""
def _mutant_note_use(self, job, at, outcome):
    changed = {self._sharing.sites.site_of(url) for url in outcome.effects}
    for site, url in at.items():
        if site in changed:
            self._upkeep.mark_dirty(SiteInstance(site, url), (job.task.task_id, job.trial))

SiteState.note_use = _mutant_note_use
""",
        ),
    ),
    LATE: (
        Patch(
            file="harness/episode/recorder.py",
            code="""
async def _mutant_late(self, *, replayed=True):
    self._unrecorded.clear()

Recorder.late = _mutant_late
""",
        ),
    ),
    DOUBT: (
        Patch(
            file="harness/episode/recorder.py",
            code="""
async def _mutant_doubt(self, step, reason, found):
    return None

Recorder.doubt = _mutant_doubt
""",
        ),
    ),
    TARGET: (
        Patch(
            file="harness/browser/session/restoration.py",
            code="""
def _mutant_aim_pending(action, view, recorded):
    return action

aim_pending = _mutant_aim_pending
""",
        ),
        Patch(
            file="harness/browser/rendering/observer.py",
            code="""
def _mutant_recognize(self, body, shown, recorded):
    return {}

def _mutant_reserve(self, used):
    return None

Observer.recognize = _mutant_recognize
Observer.reserve = _mutant_reserve
""",
        ),
    ),
    UNAWAITED: (
        Patch(
            file="harness/browser/session/restored_effects.py",
            code="""
async def _mutant_at_once(self, step):
    return False

async def _mutant_complete(self, step, *, is_strict=True):
    return None

RestoredEffects.at_once = _mutant_at_once
RestoredEffects.complete = _mutant_complete
""",
        ),
    ),
    DROPPED: (
        Patch(
            file="harness/browser/session/restored_effects.py",
            code="""
def _mutant_take_aside(self):
    self._aside.clear()
    return ()

RestoredEffects.take_aside = _mutant_take_aside
""",
        ),
        Patch(
            file="harness/browser/session/in_doubt.py",
            code="""
def _mutant_sent(episode, sent, sites):
    return ""

def _mutant_reopening(episode, sites, *, is_doubtful):
    return ""

changed_by_restore = _mutant_sent
changed_by_reopening = _mutant_reopening
""",
        ),
    ),
    YOUNGER: (
        Patch(
            file="harness/browser/session/page_age.py",
            code="""
async def _mutant_catch_up(self, timers, *, wait, sent):
    return None

PageAge.catch_up = _mutant_catch_up
""",
        ),
    ),
    BLANK: (
        Patch(
            file="harness/browser/session/restoration.py",
            code="""
def _mutant_address(url):
    return url

site_address = _mutant_address
""",
        ),
    ),
    CUT: (
        Patch(
            file="harness/browser/acting/action_executor.py",
            code="""
import time as _mutant_clock

_mutant_perform = ActionExecutor.perform

async def _mutant_hasty(self, action, body, *, unblock):
    until = _mutant_clock.monotonic() + self._settings.action_timeout_s
    performing = asyncio.create_task(_mutant_perform(self, action, body, unblock=unblock))
    while not performing.done():
        if _mutant_clock.monotonic() > until:
            performing.cancel()
            return True
        await asyncio.wait([performing], timeout=0.05)
    return performing.result()

ActionExecutor.perform = _mutant_hasty
""",
        ),
    ),
}
"""What breaks each promise."""
OWN_MUTANTS = (
    # Done twice only if the kill falls when the site has the request, so all kills aim there.
    OwnMutant(
        name=BLIND, patches=PATCHES[BLIND], modes="auto-none", kinds=("order", "like", "popup", "vote"), aim=EFFECT
    ),
    OwnMutant(name=DIRTY, patches=PATCHES[DIRTY], modes="auto-hook", exactly=True),
    OwnMutant(
        name=LATE,
        patches=PATCHES[LATE],
        modes="auto-hook",
        kinds=("late 1000 ms", "after the last step", "late 2500 ms"),
        kills_each=0.0,
    ),
    OwnMutant(name=DOUBT, patches=PATCHES[DOUBT], modes="auto-none", kinds=("order", "like", "note", "popup")),
    # It does harm only between a decision and its action, and only if the page differs by then, so all kills aim there.
    OwnMutant(
        name=TARGET, patches=PATCHES[TARGET], modes="auto-hook", kinds=("vote", "votes"), kills_each=3.0, aim=DECIDED
    ),
    # Lost only if the kill falls after the request and before the end, so that its page is left again by a replay.
    OwnMutant(
        name=UNAWAITED, patches=PATCHES[UNAWAITED], modes="auto-hook", kinds=("late, then left", "draft, then left")
    ),
    # Between two steps nothing else is in doubt, so all kills aim there: the page that counts is opened again.
    OwnMutant(
        name=DROPPED,
        patches=PATCHES[DROPPED],
        modes="auto-none",
        kinds=("visits are counted", "page of a link by GET"),
        aim=THINKING,
        victim="worker",
    ),
    # Lost only if the browser ends before it has told of a request of which the model knows, so all kills aim there.
    OwnMutant(
        name=YOUNGER,
        patches=PATCHES[YOUNGER],
        modes="auto-hook",
        kinds=("late 2500 ms", "late, then left", "after the last step"),
        aim=EFFECT,
        victim="browser",
    ),
    OwnMutant(name=BLANK, patches=PATCHES[BLANK], modes="auto-hook", kinds=("empty tab",), kills_each=1.0),
    OwnMutant(
        name=CUT,
        patches=PATCHES[CUT],
        modes="auto-hook",
        kinds=("letter",),
        kills_each=0.5,
        aim=DECIDED,
        victim=FREEZE,
    ),
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
        setting = Setting(
            project=copy_of(folder / f"own-{number}", mutant.patches),
            folder=folder / f"own-runs-{number}",
            seed=str(seed),
            deadline_s=DEADLINE_S,
        )
        found = await (exact(setting) if mutant.exactly else siege(_wanted(mutant, episodes), setting))
        fine &= _noticed(mutant, found)
    return fine


def _wanted(mutant: OwnMutant, episodes: int) -> Wanted:
    modes = modes_of(mutant.modes)
    wanted = Wanted(episodes=episodes, modes=modes, kills_each=mutant.kills_each, aim=mutant.aim, victim=mutant.victim)
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
