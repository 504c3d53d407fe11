"""The table at the end of a run."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from harness.errors import ExitCode
from harness.records import Usage
from harness.reports.baselines import Baseline, agent_of, rate_of, sentence
from harness.reports.basis import basis
from harness.reports.basis import sentence as made_with
from harness.reports.escape import flat, one_line
from harness.reports.format import caching, in_doubt, inheriting, judging, percent, reply_caching
from harness.reports.judge_error import judge_sentence, with_errors
from harness.reports.statistics import Interval
from harness.reports.suite_rates import SuiteRates
from harness.reports.summary import Invocation, Summary, Totals, counts_of
from harness.reports.trials import Trials, amount


@dataclass(frozen=True, slots=True, kw_only=True)
class StillPending:
    """What the same command would still do."""

    pending: int = 0
    """Unscored episodes it would go on with."""
    judgeable: int = 0
    """Unscored episodes that have ended: their evidence is there, and an evaluator or its judge failed."""
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
    _table(console, summary, baselines, title=f"{one_line(Path(folder).name)} ({summary.dialect} scoring)")
    if summary.suite is not None:
        print_suite(console, summary.suite)
    for result in summary.results:
        if result.status != "passed":
            _say(console, f"{result.status}: task {result.task_id}{_trial(result.trial)}: {one_line(result.reason)}")
    for result in summary.results:
        for doubt in result.doubts if result.status != "unscored" else ():
            _say(console, f"in doubt: task {result.task_id}{_trial(result.trial)}: {one_line(doubt)}")
    if summary.disagreements:
        _say(console, f"the two scoring dialects disagree on: {', '.join(summary.disagreements)}")
    _baselines_and_caches(console, summary.overall.usage, baselines, agent_of(Path(folder)))
    if said := inheriting(summary.overall.inherited_steps, summary.overall.inherited):
        _say(console, f"inherited (not included above): {said}")
    _judges_and_notes(console, summary, Path(folder))
    if summary.trials is not None:
        _say(console, f"{summary.overall.counted}; {_at_k(summary.trials)}")
    now, played = summary.invocation, "task" if summary.overall.tasks == summary.overall.episodes else "episode"
    _say(
        console,
        f"this invocation: {amount(now.episodes_run, played)}, {amount(now.model_requests, 'model request')}"
        f"{_limited(now)}, {amount(now.browser_starts, 'browser start')}, {now.wall_s:.1f} s;"
        f" total: {summary.working_s:.1f} s of work{_doubts(summary.overall)}; {folder}",
    )
    for advice in _advice(summary.overall.unscored, left, folder):
        _say(console, advice)


def _baselines_and_caches(console: Console, usage: Usage, baselines: Collection[Baseline], agent: str) -> None:
    if said := sentence(baselines, agent):
        _say(console, said)
    if said := caching(usage):
        _say(console, f"prompt cache: {said}")
    if said := reply_caching(usage):
        _say(console, f"answered by the reply cache: {said}")


def _judges_and_notes(console: Console, summary: Summary, folder: Path) -> None:
    if said := judging(summary.overall.judge):
        _say(console, f"judge (not included above): {said}")
    for use in with_errors(summary.judges, folder):
        _say(console, judge_sentence(use))
    for note in summary.notes:
        _say(console, note)
    if (folder / "run.json").is_file():
        _say(console, made_with(basis(folder, counts_of(summary))))


def _doubts(tally: Totals) -> str:
    diverged = f"; {amount(tally.divergences, 'divergence')}" if tally.divergences else ""
    forbidden = f"; {amount(tally.policy_violations, 'policy violation')}" if tally.policy_violations else ""
    return (f"; {in_doubt(tally.doubts)}" if tally.doubts else "") + diverged + forbidden


def _table(console: Console, summary: Summary, baselines: Collection[Baseline], *, title: str) -> None:
    """A terminal that is too narrow for all columns gets fewer, never cut ones: the sentences below name the rest."""
    counts = ("tasks", "passed", "failed", "unscored", "rate", "scored")
    heads = ("site", *counts, *(one.agent for one in baselines), "tokens", "cost")
    rows = [
        (one_line(site), *_cells(tally, summary.priced, [rate_of(one.sites, site) for one in baselines]))
        for site, tally in summary.by_site.items()
    ]
    rows.append(("all", *_cells(summary.overall, summary.priced, [f"{one.rate:.1%}" for one in baselines])))
    columns = list(range(len(heads)))
    dropped = [*range(len(counts) + 1, len(heads) - 2), heads.index("scored"), len(heads) - 2, len(heads) - 1]
    table = _drawn(title, heads, rows, columns)
    while dropped and _needed(console, table, [row[0] for row in rows]) > console.width:
        columns.remove(dropped.pop(0))
        table = _drawn(title, heads, rows, columns)
    console.print(table)


def _drawn(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], columns: Sequence[int]) -> Table:
    """A name that is too long is folded; a number is never cut."""
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
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
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("benchmark", overflow="fold", min_width=_NAME_WIDTH)
    for name in ("weight", "tasks", "passed", "failed", "unscored", "rate", "95% interval"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in suite.benchmarks:
        counts = (one.passed, one.failed, one.unscored)
        table.add_row(Text(one.name), percent(one.weight), str(one.tasks), *map(str, counts), *_interval(one.rate))
    table.add_section()
    table.add_row("weighted mean", "", "", "", "", "", *_interval(suite.mean), style="bold")
    console.print(table)


def _interval(rate: Interval) -> tuple[str, str]:
    return percent(rate.value), f"{percent(rate.low)} to {percent(rate.high)}"


def _advice(unscored: int, left: StillPending, folder: str) -> Iterator[str]:
    """What to do next: a retry is for tasks that were given up, not for pending ones, and needs a budget."""
    spent = f"{left.spent} is reached; raise it and " if left.spent else ""
    if left.pending:
        yield f"{left.pending} not finished: {spent}run the same command to continue"
    if left.judgeable:
        yield (
            f"{left.judgeable} ended without a score: harness score {folder}, with the settings of the judge, scores"
            " their evidence; run.retry=infra would play them again"
        )
    if (given_up := unscored - left.pending - left.judgeable) and not (spent and left.pending):
        yield f"{given_up} unscored: {spent}run the same command with run.retry=infra to try them again"


def _at_k(trials: Trials) -> str:
    last = trials.at[-1]
    shown = trials.at if len(trials.at) <= 3 else (trials.at[0], last)
    return (
        ", ".join(f"pass@{k} {percent(some)}" for k, some, _ in shown)
        + f", pass^{last[0]} {percent(last[2])} over {amount(trials.tasks, 'task')} with all trials scored"
    )


def _say(console: Console, text: str) -> None:
    console.print(flat(text), markup=False, highlight=False, soft_wrap=True)


def exit_code(console: Console, tally: Totals, fail_under: float | None) -> ExitCode:
    """What the results come to; that they are below `fail_under` is said."""
    if fail_under is not None and tally.passed + tally.unscored < fail_under * tally.episodes:
        console.print(f"below fail_under={fail_under:g}: the success rate is {tally.success_rate:.1%}")
        return ExitCode.BELOW
    return ExitCode.UNSCORED if tally.unscored else ExitCode.DONE


def _limited(now: Invocation) -> str:
    """What the endpoint's limits cost, when they cost anything worth a word."""
    said = [f"{now.model_refused} rejected with 429"] if now.model_refused else []
    said += [f"{now.model_waited_s:.0f} s queued in the rate limiter"] if now.model_waited_s >= 1 else []
    return f" ({', '.join(said)})" if said else ""


def _trial(trial: int) -> str:
    return f" trial {trial}" if trial else ""


def _cells(tally: Totals, priced: bool, baselines: list[str]) -> tuple[str, ...]:
    scored = tally.success_rate_scored
    return (
        str(tally.tasks) if tally.tasks == tally.episodes else f"{tally.tasks} × {tally.episodes // tally.tasks}",
        str(tally.passed),
        str(tally.failed),
        str(tally.unscored),
        f"{tally.success_rate:.1%}",
        "-" if scored is None else f"{scored:.1%}",
        *baselines,
        f"{tally.tokens:,}",
        f"${tally.cost_usd:.4f}" if priced else f"≥ ${tally.cost_usd:.4f}" if tally.cost_usd else "unknown",
    )
