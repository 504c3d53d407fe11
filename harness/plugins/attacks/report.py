"""The figures of attacks as rows, Markdown and JSON."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from harness.api.text import markdown_cell, markdown_table
from harness.plugins.attacks.verdicts import BEGUN, REACHED, UNKNOWN
from harness.runs import one_line
from harness.runs.format import percent, rate_within
from harness.runs.judged import missing_said
from harness.runs.trials import amount

if TYPE_CHECKING:
    from harness.plugins.attacks.command import Reading
    from harness.plugins.attacks.figures import Figures, Paired, Rates
    from harness.plugins.attacks.verdicts import Verdict

RATE_HEADS = (
    "kind",
    "place",
    "episodes",
    "seen",
    "began",
    "reached",
    "unknown",
    "success",
    "began or reached",
    "steps",
)
VERDICT_HEADS = ("task", "outcome", "kind", "place", "seen at", "step", "why", "what was done")


def headline(figures: "Figures") -> str:
    """One sentence."""
    rates = figures.overall
    known = (
        "no outcome of an attack is known"
        if rates.success.is_of_nothing
        else f"{percent(rates.success.value)} of the attacks succeeded, {percent(rates.intermediate.value)} were begun"
        " to be followed"
    )
    said = f"{known}; {rates.seen} of {rates.episodes} were seen; {percent(figures.utility.value)} of the tasks passed"
    if rates.unknown:
        said += f"; {rates.unknown} outcome{'s are' if rates.unknown > 1 else ' is'} unknown"
    return f"{said}; {missing_said(figures.missing)}" if figures.missing else said


def figure_rows(found: "Sequence[Figures]") -> list[tuple[str, ...]]:
    """A row for each figure, a column for each run."""
    rows = [
        ("attacked episodes", *(str(one.overall.episodes) for one in found)),
        ("of them seen by the agent", *(str(one.overall.seen) for one in found)),
        ("attack success, end to end", *(rate_within(one.overall.success) for one in found)),
        ("attack success, of those seen", *(rate_within(one.overall.success_if_seen) for one in found)),
        ("began to follow, or reached", *(rate_within(one.overall.intermediate) for one in found)),
        ("steps from seen to reached, median", *(_steps(one.overall.steps_to_goal) for one in found)),
        ("passed under attack (utility)", *(rate_within(one.utility) for one in found)),
        ("passed, and not followed", *(rate_within(one.safe) for one in found)),
    ]
    if any(one.overall.unknown for one in found):
        rows.insert(3, ("success if all unknown succeeded", *(percent(one.overall.success_at_most) for one in found)))
        rows.append(("outcomes that are unknown", *(str(one.overall.unknown) for one in found)))
    if any(one.without for one in found):
        rows.append(("episodes without an attack", *(str(one.without) for one in found)))
    if any(one.missing for one in found):
        rows.append(("episodes left out: not begun, or damaged", *(str(one.missing) for one in found)))
    return rows


def rate_rows(figures: "Figures") -> list[tuple[str, ...]]:
    """A row for each kind and place, then for each kind, then for all."""
    return [_row(one) for one in (*figures.places, *figures.kinds, figures.overall)]


def _row(one: "Rates") -> tuple[str, ...]:
    counts = (one.episodes, one.seen, one.begun, one.reached, one.unknown)
    rates = (rate_within(one.success), rate_within(one.intermediate))
    return (one.kind, one.place or "all", *map(str, counts), *rates, _steps(one.steps_to_goal))


def _steps(found: float | None) -> str:
    return "-" if found is None else f"{found:g}"


def pair_line(found: "Paired") -> str:
    """Utility with and without the attack, in a sentence."""
    if not found.pairs:
        return f"no attacked episode has a scored counterpart in {one_line(found.without, 80)}"
    low, value, high = (
        f"{100 * one:+z.1f}" for one in (found.difference.low, found.difference.value, found.difference.high)
    )
    said = (
        f"{percent(found.rate_without)} passed without the attack, {percent(found.rate_with)} with it, in {found.pairs}"
        f" pairs: {value} points ({low} to {high}); {found.lost} lost, {found.gained} gained, two-sided p={found.p:.2g}"
    )
    if found.reached_anyway:
        said += f"; {found.reached_anyway} of {found.known_anyway} reached the attacker's goal without the attack"
    return f"{said}; without a pair: {amount(found.left_out, 'episode')}" if found.left_out else said


def verdict_rows(found: "Sequence[Verdict]") -> Iterator[tuple[str, ...]]:
    """A row for each attack that was followed or is unknown, those that succeeded first."""
    order = (REACHED, BEGUN, UNKNOWN)
    for outcome in order:
        for one in found:
            if one.outcome == outcome:
                step = one.reached_at or one.begun_at
                yield (
                    one.name,
                    one.outcome,
                    one.kind,
                    one.place,
                    "-" if one.seen_at is None else str(one.seen_at),
                    str(step or "-"),
                    one_line(one.why, 200),
                    one_line(one.quote, 120),
                )


def markdown(found: "Sequence[Reading]") -> str:
    """Tables for a page beside the code; text of pages is shown, never followed."""
    lines = ["## Attacks", ""]
    lines += [f"- {markdown_cell(one.name)}: {markdown_cell(headline(one.figures))}" for one in found]
    lines += [
        f"- {markdown_cell(one.name)}: {markdown_cell(pair_line(one.paired))}"
        for one in found
        if one.paired is not None
    ]
    lines += ["", *markdown_table(("", *(one.name for one in found)), figure_rows([one.figures for one in found]))]
    for one in found:
        lines += ["", f"### {markdown_cell(one.name)}", "", *markdown_table(RATE_HEADS, rate_rows(one.figures))]
        if rows := list(verdict_rows(one.verdicts)):
            lines += ["", *markdown_table(VERDICT_HEADS, rows[:100])]
            lines += ["", f"and {len(rows) - 100} more"] if len(rows) > 100 else []
    return "\n".join(lines) + "\n"


def as_data(one: "Reading") -> dict[str, object]:
    """Everything, with stable keys."""
    return {
        "run": one.name,
        "figures": one.figures,
        "paired": one.paired,
        "episodes": [_verdict(verdict) for verdict in one.verdicts],
    }


def _verdict(one: "Verdict") -> dict[str, object]:
    return {
        "task_id": one.task_id,
        "trial": one.trial,
        "status": one.status,
        "outcome": one.outcome,
        "planted": one.attack,
        "place": one.place,
        "planted_from": one.planted_from,
        "seen_at": one.seen_at,
        "begun_at": one.begun_at,
        "reached_at": one.reached_at,
        "why": one.why,
        "quote": one.quote,
    }
