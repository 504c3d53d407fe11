"""A comparison as a table in the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.api.text import flat
from harness.runs import listed, one_line
from harness.runs.baselines import Baseline, rate_of, sentence
from harness.runs.comparison import Comparison, Pair, SiteChange
from harness.runs.format import percent, points
from harness.runs.measures import measure_text


def print_comparison(console: Console, found: Comparison) -> None:
    """Print rates, difference, p, flips, sites and effort."""
    _say(console, f"{found.after.name} against {found.before.name}, scored in both: {found.counted}", "bold")
    for one in (found.before, found.after):
        if one.fork is not None:
            _say(console, f"{one.name} is a fork of {one.fork}")
    _rates(console, found)
    for where, own in (("before", found.verified_before), ("after", found.verified_after)):
        if own is not None:
            _say(console, f"scorer of webarena-verified on these tasks, {where}: {own}")
    if found.doubts_before or found.doubts_after:
        _say(console, f"scores that carry a doubt: {found.doubts_before} before, {found.doubts_after} after")
    if found.corrected_before or found.corrected_after:
        counts = f"{found.corrected_before} before, {found.corrected_after} after"
        _say(console, f"scores with a corrected reference (eval), not the one that was played: {counts}")
    if found.weighted is not None:
        low, high = points(found.weighted.low), points(found.weighted.high)
        _say(console, f"weighted difference of the suite {points(found.weighted.value)} (95% from {low} to {high})")
    _flips(console, "lost", found.lost)
    _flips(console, "gained", found.gained)
    for move in found.moves:
        _say(console, f"moved: {len(move.tasks)} {move.before} → {move.after}: {listed(move.tasks)}")
    if found.benchmarks:
        _changes(console, "benchmark", found.benchmarks)
    _effort(console, found)
    _measures(console, found)
    _trials(console, found)
    _left_out(console, found)


def _rates(console: Console, found: Comparison) -> None:
    if not found.pairs:
        _say(console, "no task has a score in both")
        return
    low, high = points(found.difference.low), points(found.difference.high)
    _say(
        console,
        f"passed {percent(found.rate_before)} → {percent(found.rate_after)}, "
        f"difference {points(found.difference.value)} (95% from {low} to {high}, bootstrap over intent templates)",
    )
    _say(console, f"gained {len(found.gained)}, lost {len(found.lost)}, exact two-sided p = {found.p:.6g}")
    _say(console, sentence(found.baselines))


def _flips(console: Console, what: str, pairs: Sequence[Pair]) -> None:
    for pair in pairs:
        share = "" if {pair.before, pair.after} == {0.0, 1.0} else f" {percent(pair.before)} → {percent(pair.after)}"
        why = f" ({one_line(pair.why, 120)})" if pair.why else ""
        _say(console, f"{what}: task {pair.task_id}{share}: {one_line(pair.intent, 100)}{why}")


def _changes(console: Console, what: str, changes: Sequence[SiteChange], baselines: Sequence[Baseline] = ()) -> None:
    _table(
        console,
        (what, "pairs", "before", "after", *(one.agent for one in baselines), "gained", "lost"),
        [
            (
                *(change.name, str(change.pairs), percent(change.before), percent(change.after)),
                *(rate_of(one.sites, change.name) for one in baselines),
                *(str(change.gained), str(change.lost)),
            )
            for change in changes
        ],
    )


def _effort(console: Console, found: Comparison) -> None:
    """By site, and what an episode took; of no pairs, these would be zeros that nobody measured."""
    if found.pairs:
        _changes(console, "site", found.sites, found.baselines)
        rows = [(one.name, one.shown_before, one.shown_after) for one in found.effort]
        _table(console, ("per episode", "before", "after"), rows)


def _measures(console: Console, found: Comparison) -> None:
    for title in dict.fromkeys(one.title for one in found.measures):
        rows = [
            (one.label, measure_text(one.before), measure_text(one.after))
            for one in found.measures
            if one.title == title
        ]
        _table(console, (title.lower(), "before", "after"), rows)


def _trials(console: Console, found: Comparison) -> None:
    rows = [(f"k = {k}", *map(percent, rates)) for k, *rates in found.trials]
    if rows:
        _table(console, ("trials", "pass@k before", "after", "pass^k before", "after"), rows)


def _left_out(console: Console, found: Comparison) -> None:
    for what, tasks in (
        ("only in the first", found.only_before),
        ("only in the second", found.only_after),
        ("not the same task in both", found.differing),
        ("unscored in the first", found.unscored_before),
        ("unscored in the second", found.unscored_after),
        ("trials unscored in the first", found.trials_unscored_before),
        ("trials unscored in the second", found.trials_unscored_after),
    ):
        if tasks:
            _say(console, f"left out, {what}: {listed(tasks)}")


def _table(console: Console, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(show_edge=False, pad_edge=False)
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console.print(table)


def _say(console: Console, text: str, style: str = "") -> None:
    console.print(Text(flat(text), style=style), soft_wrap=True)
