"""The table at the end of a run."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from harness.escape import one_line
from harness.reports.basis import basis
from harness.reports.basis import sentence as made_with
from harness.reports.console import say
from harness.reports.summary import Invocation, Summary
from harness.runs.baselines import Baseline, agent_of, rate_of, sentence
from harness.runs.figures import SUITE_HEADS, cells, further, suite_table
from harness.runs.format import percent, precise_cost
from harness.runs.judge_error import judge_sentence, with_errors
from harness.runs.statistics import Group, Statistics, SuiteRates
from harness.runs.trials import Trials, amount


@dataclass(frozen=True, slots=True, kw_only=True)
class StillPending:
    """What the same command would still do."""

    pending: int = 0
    """Unscored episodes it would go on with."""
    judgeable: int = 0
    """Unscored episodes that have ended: their evidence is there, and an evaluator or its judge failed."""
    retries: int = 0
    """Ended episodes that it would open again; not those that are pending."""
    others: int = 0
    """Unscored episodes of tasks of the run that it leaves out."""
    spent: str = ""
    """The budget of the run that keeps it from that, as `run.max_tokens=100`."""


NOTHING_LEFT = StillPending()
_NAME_WIDTH = 8
_FOLDED = 20
"""Longer names are folded before columns are left out."""
_WIDE = 10_000


def print_summary(
    console: Console,
    summary: Summary,
    folder: str,
    left: StillPending = NOTHING_LEFT,
    *,
    baselines: Collection[Baseline] = (),
) -> None:
    """Print counts per site and overall, failures, the cost of this invocation, and what to do about unscored tasks."""
    found = summary.statistics
    _table(console, found, baselines, title=Text(f"{one_line(Path(folder).name)} ({summary.dialect} scoring)"))
    if found.suite is not None:
        print_suite(console, found.suite)
    for line in (*summary.missed, *_said(summary, baselines, Path(folder))):
        say(console, line)
    now, played = summary.invocation, "task" if found.all.tasks == found.all.episodes else "episode"
    say(
        console,
        f"this invocation: {amount(now.episodes_run, played)}, {amount(now.model_requests, 'model request')}"
        f"{_limited(now)}, {amount(now.browser_starts, 'browser start')}, {now.wall_s:.1f} s;"
        f" total: {found.all.working_s:.1f} s of work; {folder}",
    )
    if now.site_pauses:
        paused = ", ".join(f"{one_line(site)} for {seconds:.0f} s" for site, seconds in now.site_pauses.items())
        say(console, f"tasks were paused while their site was down: {paused}")
    for advice in _advice(found.all.unscored, left, folder):
        say(console, advice)


def _said(summary: Summary, baselines: Collection[Baseline], folder: Path) -> Iterator[str]:
    """What belongs to the figures of the table, a line each."""
    found = summary.statistics
    if found.disagreements:
        yield f"the two scoring dialects disagree on: {', '.join(found.disagreements)}"
    if said := sentence(baselines, agent_of(folder)):
        yield said
    yield from further(found.all)
    yield from map(judge_sentence, with_errors(found.judges, folder))
    yield from found.notes
    if (folder / "run.json").is_file():
        yield made_with(basis(folder, summary.dialect, found))
    if found.trials is not None:
        yield f"{found.all.counted}; {_at_k(found.trials)}"


def _table(console: Console, found: Statistics, baselines: Collection[Baseline], *, title: Text) -> None:
    """A terminal that is too narrow for all columns gets fewer, never cut ones: the sentences below name the rest."""
    counts = ("tasks", "passed", "failed", "unscored", "rate", "scored")
    heads = ("site", *counts, *(one.agent for one in baselines), "tokens", "cost")
    rows = [
        (one_line(site.name), *_cells(site, found.all.priced, [rate_of(one.sites, site.name) for one in baselines]))
        for site in found.sites
    ]
    rows.append(("all", *_cells(found.all, found.all.priced, [f"{one.rate:.1%}" for one in baselines])))
    columns = list(range(len(heads)))
    dropped = [*range(len(counts) + 1, len(heads) - 2), heads.index("scored"), len(heads) - 2, len(heads) - 1]
    table = _drawn(title, heads, rows, columns)
    while dropped and _needed(console, table, [row[0] for row in rows]) > console.width:
        columns.remove(dropped.pop(0))
        table = _drawn(title, heads, rows, columns)
    console.print(table)


def _drawn(title: Text | None, heads: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[int]) -> Table:
    """A name that is too long is folded; a number is never cut."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(heads[0], overflow="fold", min_width=_NAME_WIDTH)
    for number in columns[1:]:
        table.add_column(heads[number], justify="right", no_wrap=True)
    for row in rows[:-1]:
        table.add_row(*(Text(row[number]) for number in columns))
    table.add_section()
    table.add_row(*(Text(rows[-1][number]) for number in columns), style="bold")
    return table


def _needed(console: Console, table: Table, names: Sequence[str]) -> int:
    """Width that the table needs if long names are folded."""
    folded = max(0, *(len(name) - _FOLDED for name in names))
    return Measurement.get(console, console.options.update(width=_WIDE), table).minimum - folded


def print_suite(console: Console, suite: SuiteRates) -> None:
    """Print a row for each benchmark, and the weighted mean."""
    console.print(_drawn(None, SUITE_HEADS, suite_table(suite), range(len(SUITE_HEADS))))


def _advice(unscored: int, left: StillPending, folder: str) -> Iterator[str]:
    """What to do next: a retry is for tasks that were given up, not for pending ones, and needs a budget."""
    spent = f"{left.spent} is reached; raise it and " if left.spent else ""
    if left.pending:
        yield f"{left.pending} not finished: {spent}run the same command to continue"
    if left.retries:
        yield f"{left.retries} not tried again: {spent}run the same command to continue"
    if left.judgeable:
        yield (
            f"{left.judgeable} ended without a score: harness score {folder}, with the settings of the judge, scores"
            " their evidence; run.retry=infra would play them again"
        )
    if left.others:
        yield f"{left.others} unscored, of tasks that this command leaves out: run it with all tasks of the run"
    given_up = unscored - left.pending - left.judgeable - left.others
    if given_up > 0 and not (spent and (left.pending or left.retries)):
        yield f"{given_up} unscored: {spent}run the same command with run.retry=infra to try them again"


def _at_k(trials: Trials) -> str:
    last = trials.at[-1]
    shown = trials.at if len(trials.at) <= 3 else (trials.at[0], last)
    return (
        ", ".join(f"pass@{k} {percent(some)}" for k, some, _ in shown)
        + f", pass^{last[0]} {percent(last[2])} over {amount(trials.tasks, 'task')} with {last[0]} scored trials"
    )


def _limited(now: Invocation) -> str:
    """What the endpoint's limits cost, when they cost anything worth a word."""
    said = [f"{now.model_refused} rejected with 429"] if now.model_refused else []
    said += [f"{now.model_waited_s:.0f} s queued in the rate limiter"] if now.model_waited_s >= 1 else []
    return f" ({', '.join(said)})" if said else ""


def _cells(group: Group, priced: bool, baselines: list[str]) -> tuple[str, ...]:
    scored = group.of_scored
    return (
        *cells(group),
        "-" if scored is None else f"{scored:.1%}",
        *baselines,
        f"{group.tokens:,}",
        precise_cost(group.cost_usd, priced),
    )
