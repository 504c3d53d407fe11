"""The table a person reads at the end of a run."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from harness.errors import ExitCode
from harness.reports.numbers import judging
from harness.reports.summary import UNSCORED, Invocation, Summary, Tally
from harness.reports.visible import one_line


def print_summary(console: Console, summary: Summary, folder: str) -> None:
    """Print counts per site and overall, what went wrong, and what this start cost."""
    table = Table(
        title=f"{summary.run_id} ({summary.dialect} scoring)",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("site")
    for name in ("tasks", "passed", "failed", "unscored", "rate", "scored", "tokens", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for site, tally in summary.by_site.items():
        table.add_row(site, *_cells(tally, summary.priced))
    table.add_section()
    table.add_row("all", *_cells(summary.overall, summary.priced), style="bold")
    console.print(table)
    for result in summary.results:
        if result.status != "passed":
            console.print(
                f"{result.status}: task {result.task_id}{_trial(result.trial)}: {one_line(result.why)}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    if summary.disagreements:
        console.print(f"the two scoring dialects disagree on: {', '.join(summary.disagreements)}", markup=False)
    if said := judging(summary.overall.judge):
        console.print(f"judge, besides the above: {said}", markup=False, highlight=False)
    now = summary.invocation
    console.print(
        f"this start: {now.tasks_run} tasks, {now.model_requests} model requests{_limited(now)}, {now.browser_starts} browser starts, "
        f"{now.wall_s:.1f} s; all starts: {summary.working_s:.1f} s of work; {folder}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    if summary.overall.unscored:
        count = sum(result.status == UNSCORED for result in summary.results)
        console.print(f"{count} unscored: run the same command with run.retry=infra to try them again", markup=False)


def exit_code(console: Console, tally: Tally, fail_under: float | None) -> ExitCode:
    """What the results come to; that they are below `fail_under` is said."""
    if fail_under is not None and tally.passed + tally.unscored < fail_under * tally.tasks:
        console.print(f"below fail_under={fail_under:g}: the success rate is {tally.success_rate:.1%}")
        return ExitCode.BELOW
    return ExitCode.UNSCORED if tally.unscored else ExitCode.DONE


def _limited(now: Invocation) -> str:
    """What the endpoint's limits cost, when they cost anything worth a word."""
    said = [f"{now.model_refused} refused with 429"] if now.model_refused else []
    said += [f"{now.model_waited_s:.0f} s of waiting for turns"] if now.model_waited_s >= 1 else []
    return f" ({', '.join(said)})" if said else ""


def _trial(trial: int) -> str:
    return f" trial {trial}" if trial else ""


def _cells(tally: Tally, priced: bool) -> tuple[str, ...]:
    scored = tally.success_rate_scored
    return (
        str(tally.tasks),
        str(tally.passed),
        str(tally.failed),
        str(tally.unscored),
        f"{tally.success_rate:.1%}",
        "-" if scored is None else f"{scored:.1%}",
        f"{tally.tokens:,}",
        f"${tally.cost_usd:.4f}" if priced else f"≥ ${tally.cost_usd:.4f}",
    )
