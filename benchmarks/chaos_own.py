"""Chaos on a site of one's own, in every mode: which ones, how many episodes of each, the table, and the exact case.

A violation is, with a reset hook, an effect that was doubled within an attempt and epoch, a score that differs without
a word, or a new attempt because a site was not reset; without one, either of the first two without a word; and anywhere
an element used that nobody had decided upon, or a request of an undisturbed episode that is in no record. Of the clicks
on harmless links that were interrupted, a tenth may end in doubt. Doubles of links by GET have a column of their own.
"""

import random
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from chaos_aiming import Strike, at_arrival, strikes
from chaos_judge import UNDISTURBED, Case, Story, Verdict, judge, lines_of, results_of, uncounted, verdict
from chaos_siege import DONE, Ended, Mode, Setting, play
from chaos_tasks import KINDS, Kind, posed
from chaos_victims import PARENT

MOST_IN_DOUBT = 0.1
"""Of the interrupted clicks on harmless links that end in doubt, over all modes."""
ENOUGH_CLICKS = 10
"""Interrupted ones below which their share says nothing."""
KILLS_EACH = 1.6
"""Strikes drawn for each episode."""
STRATEGIES = ("auto", "replay", "checkpoint")
MODES = (
    *(Mode(strategy=strategy, hook=hook) for strategy in STRATEGIES for hook in (True, False)),
    *(Mode(strategy="auto", hook=hook, inline=True) for hook in (True, False)),
)
EXACT_MS = 20.0
COLUMNS = (
    ("episodes", "episodes"), ("kills", "kills"), ("within", "doubled in attempt+epoch"), ("by_get", "(by GET)"),
    ("at_all", "doubled in epoch"), ("doubts", "doubts"), ("differing", "scores differ"), ("unsaid", "unsaid"),
    ("silent", "silent"), ("wrong", "wrong element"), ("harmless", "harmless clicks"),
    ("harmless_in_doubt", "in doubt"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for on the command line."""

    episodes: int
    modes: tuple[Mode, ...]
    kinds: tuple[Kind, ...] = KINDS
    kills_each: float = KILLS_EACH
    aim: str = ""
    """Of all kills; "" = any."""
    victim: str = ""
    """The same."""


def modes_of(names: str) -> tuple[Mode, ...]:
    """`auto-hook,replay-none` to modes; "" = all.

    Raises:
        ArgumentTypeError: There is no such mode.
    """
    known = {mode.name: mode for mode in MODES}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if strange := [name for name in wanted if name not in known]:
        raise ArgumentTypeError(f"there is no {strange[0]}; there are {', '.join(known)}")
    return tuple(known[name] for name in wanted) or MODES


def share(episodes: int, modes: int) -> list[int]:
    """How many episodes each mode has; together as many as wanted, and one at least."""
    return [max(1, episodes // modes + (number < episodes % modes)) for number in range(modes)]


def kinds_for(count: int, first: int, seed: str, *, kinds: Sequence[Kind] = KINDS) -> list[Kind]:
    """So many kinds, every one as often as the others; `first` of them were had by other modes."""
    order = list(kinds)
    random.Random(seed).shuffle(order)
    return [order[(first + number) % len(order)] for number in range(count)]


async def siege(wanted: Wanted, setting: Setting) -> list[Verdict]:
    """Every mode in its turn."""
    found, had = [], 0
    for mode, count in zip(wanted.modes, share(wanted.episodes, len(wanted.modes)), strict=True):
        seed = f"{setting.seed} {mode.name}"
        tasks = posed(kinds_for(count, had, setting.seed, kinds=wanted.kinds), hook=mode.hook)
        had += count
        drawn = strikes(seed, round(count * wanted.kills_each), hook=mode.hook, aim=wanted.aim, victim=wanted.victim)
        ended = await play(mode, tasks, drawn, replace(setting, seed=seed))
        found.append(_judged(ended))
        _tell_row(found[-1], ended)
    return found


def cases_of(ended: Ended) -> list[Case]:
    shown = results_of(ended.summary)
    found = []
    for task in ended.tasks:
        result = shown.get(task.name, {})
        story = Story(lines_of(ended.journals.get(task.name, b"")))
        found.append(judge(task, story, ended.site.effects, result.get("score"), why=result.get("why", "")))
    return found


def _judged(ended: Ended) -> Verdict:
    cases = cases_of(ended)
    return verdict(
        ended.mode.name, cases, kills=len(ended.kills), faults=[*_broken(ended), *uncounted(cases, ended.summary)]
    )


def _broken(ended: Ended) -> Iterator[str]:
    if ended.code not in DONE:
        yield f"the run did not come to its end: code {ended.code} after {ended.starts} starts"
    if ended.left:
        yield f"{ended.left} processes are still there"


def _tell_row(one: Verdict, ended: Ended) -> None:
    prompt = [kill.after_ms for kill in ended.kills if kill.aim == "decided"]
    print(  # noqa: T201
        f"{one.mode}: {one.episodes} episodes, {one.kills} kills, {ended.starts} starts; between decision and act after"
        f" {median(prompt) if prompt else 0:.0f} ms; {len(one.faults)} violations",
        flush=True,
    )


def table(found: Sequence[Verdict]) -> list[str]:
    """One line for each mode, one for all, and what is wrong."""
    rows = [["mode", *(name for _, name in COLUMNS)]]
    rows += [[one.mode, *(str(getattr(one, column)) for column, _ in COLUMNS)] for one in found]
    rows.append(["all", *(str(sum(getattr(one, column) for one in found)) for column, _ in COLUMNS)])
    widths = [max(len(row[number]) for row in rows) for number in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    clicks, doubted = _harmless(found)
    lines.append(f"{doubted} of {clicks} interrupted clicks on harmless links in doubt (at most {MOST_IN_DOUBT:.0%})")
    lines += needless(found)
    for one in found:
        lines += [f"{one.mode}: {fault}" for fault in one.faults[:8]]
        if len(one.faults) > 8:
            lines.append(f"{one.mode}: and {len(one.faults) - 8} more")
    return lines


def needless(found: Sequence[Verdict]) -> list[str]:
    """What is wrong with the doubts about harmless clicks; [] = nothing."""
    clicks, doubted = _harmless(found)
    if clicks < ENOUGH_CLICKS or doubted <= MOST_IN_DOUBT * clicks:
        return []
    return [f"all: {doubted} of {clicks} interrupted clicks on harmless links ended in doubt"]


def _harmless(found: Sequence[Verdict]) -> tuple[int, int]:
    return sum(one.harmless for one in found), sum(one.harmless_in_doubt for one in found)


async def exact(setting: Setting) -> list[Verdict]:
    """A hook is set, and whoever plays is killed 20 ms after the order's POST: one order at the end, score as
    undisturbed.
    """
    found = []
    for victim in ("worker", "browser", PARENT):
        alone = replace(setting, folder=setting.folder / victim, workers=1, lanes=1, instances=1)
        ended = await play(Mode(strategy="auto", hook=True), posed([KINDS[0]], hook=True), _exactly(victim), alone)
        (case,) = cases_of(ended)
        epoch = max((effect.epoch for effect in ended.site.effects), default=0)
        orders = sum(effect.epoch == epoch for effect in ended.site.effects)
        faults = [*_broken(ended), *([] if orders == 1 else [f"{orders} orders stand in the last epoch"])]
        if case.score != UNDISTURBED:
            faults.append(f"score {case.score}, undisturbed {UNDISTURBED}")
        if not ended.kills or ended.kills[0].victim != victim:
            faults.append(f"the {victim} was not struck")
        after = f"{ended.kills[0].after_ms:.0f} ms" if ended.kills else "never"
        one = verdict(f"exact: {victim}", [case], kills=len(ended.kills), faults=faults)
        found.append(one)
        print(  # noqa: T201
            f"{victim} killed {after} after the order's POST: {orders} orders in the last epoch, "
            f"{len(ended.site.effects)} in all, {len(ended.site.resets)} resets, score {case.score}: "
            f"{'ok' if not one.faults else 'VIOLATED'}",
            flush=True,
        )
    return found


def _exactly(victim: str) -> tuple[Strike, ...]:
    return (at_arrival(victim, EXACT_MS / 1000),)


async def own(wanted: Wanted | None, setting: Setting) -> bool:
    """Run (None = the exact case only), print the table; True when nothing is violated."""
    setting.folder.mkdir(parents=True, exist_ok=True)
    found = [*(await siege(wanted, setting) if wanted is not None else ()), *await exact(setting)]
    sys.stdout.write("\n".join(table(found)) + "\n")
    return not needless(found) and not any(one.faults for one in found)
