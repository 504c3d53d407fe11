"""What a CI system reads of a run: junit.xml, a Markdown summary, annotations.

An unscored task is an error in each of them, never a success and never merely skipped. Foreign text is made visible and
escaped for each format, so no page can add a line, a cell or a workflow command of its own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from harness.escape import markdown_cell, one_line, visible
from harness.reports.basis import facts
from harness.runs.about import RunInfo
from harness.runs.baselines import Baseline, rate_of, sentence
from harness.runs.figures import SUITE_HEADS, headline, suite_table
from harness.runs.format import percent
from harness.runs.judge_error import judge_sentence
from harness.runs.outcome import FAILED, PASSED, UNSCORED
from harness.runs.results import Result, grouped
from harness.runs.statistics import Statistics
from harness.runs.trials import amount

MOST_ANNOTATIONS = 10
"""GitHub shows no more of them for one step."""
_MOST_LISTED = 100


def junit(known: RunInfo, rows: Sequence[Result]) -> str:
    """JUnit's XML: a suite for each site, a case for each task and trial."""
    total = _attributes(rows)
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n', f"<testsuites name={_quoted(known.name)} {total}>\n"]
    for site, among in sorted(grouped(rows, lambda row: row.site).items()):
        parts.append(f"  <testsuite name={_quoted(site)} {_attributes(among)}>\n")
        parts += [_case(known, row) for row in among]
        parts.append("  </testsuite>\n")
    parts.append("</testsuites>\n")
    return "".join(parts)


def markdown(
    known: RunInfo,
    rows: Sequence[Result],
    view: Statistics,
    baselines: Collection[Baseline] = (),
    *,
    made_with: Mapping[str, object] | None = None,
) -> str:
    """A summary in Markdown, as GitHub shows it beside a job; `made_with` is what `basis` gives."""
    lines = [
        f"## {markdown_cell(known.name)}: {percent(view.all.rate.value)} passed",
        "",
        f"{headline(view)}; {known.dialect} scoring.",
        "",
        *((f"{compared}.",) if (compared := sentence(baselines, known.agent)) else ()),
        "",
        *(f"{markdown_cell(judge_sentence(use), 600)}.\n" for use in view.judges),
        *(f"{markdown_cell(note, 600)}.\n" for note in view.notes),
        *_suite(view),
        *_sites(view, baselines),
        *_trials(view),
        *_made_with(made_with),
    ]
    if missed := [row for row in rows if row.status != PASSED]:
        lines += ["", "| outcome | task | intent | why |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {row.status} | {markdown_cell(row.name)} | {markdown_cell(row.intent, 120)} "
            f"| {markdown_cell(_why(row), 200)} |"
            for row in missed[:_MOST_LISTED]
        ]
        if len(missed) > _MOST_LISTED:
            lines += ["", f"and {len(missed) - _MOST_LISTED} more"]
    if doubted := [row for row in rows if row.doubts and row.status != UNSCORED]:
        lines += ["", "| in doubt | outcome | what is unknown |", "| --- | --- | --- |"]
        lines += [
            f"| {markdown_cell(row.name)} | {row.status} | {markdown_cell('; '.join(row.doubts), 300)} |"
            for row in doubted[:_MOST_LISTED]
        ]
    return "\n".join(lines) + "\n"


def _made_with(found: Mapping[str, object] | None) -> Iterator[str]:
    if found is not None:
        yield from ("", "| made with | |", "| --- | --- |")
        yield from (f"| {name} | {markdown_cell(value, 600)} |" for name, value in facts(found))


def _suite(view: Statistics) -> Iterator[str]:
    if view.suite is None:
        return
    *benchmarks, mean = suite_table(view.suite)
    yield f"| {' | '.join(SUITE_HEADS)} |"
    yield f"| --- |{' ---: |' * len(SUITE_HEADS[1:])}"
    for name, *figures in benchmarks:
        yield f"| {markdown_cell(name)} | {' | '.join(figures)} |"
    yield f"| **{mean[0]}** | {' | '.join(mean[1:])} |"
    yield ""


def _sites(view: Statistics, baselines: Collection[Baseline]) -> Iterator[str]:
    repeated = view.all.episodes != view.all.tasks
    agents = "".join(f" {one.agent} |" for one in baselines)
    yield f"| site | tasks |{' episodes |' if repeated else ''} passed | failed | unscored | rate |{agents}"
    yield f"| --- | ---: |{' ---: |' if repeated else ''} ---: | ---: | ---: | ---: |{' ---: |' * len(baselines)}"
    for site in view.sites:
        counts = f"{site.tasks} | {site.episodes}" if repeated else f"{site.tasks}"
        yield (
            f"| {markdown_cell(site.name)} | {counts} | {site.passed} | {site.failed} | {site.unscored} "
            f"| {percent(site.rate.value)} |" + "".join(f" {rate_of(one.sites, site.name)} |" for one in baselines)
        )


def _trials(view: Statistics) -> Iterator[str]:
    if view.trials is not None:
        tasks, most = amount(view.trials.tasks, "task"), view.trials.at[-1][0]
        yield from ("", f"Repeated trials, means over {tasks} with {most} scored trials:", "")
        yield from ("| k | pass@k: at least one of k | pass^k: all of k |", "| ---: | ---: | ---: |")
        yield from (f"| {k} | {percent(some)} | {percent(every)} |" for k, some, every in view.trials.at)


def annotations(rows: Sequence[Result]) -> Iterator[str]:
    """GitHub workflow commands, a line for each task that did not pass, as many as are shown."""
    missed = [row for row in rows if row.status != PASSED]
    # One line of them is for how many more there are.
    shown = missed if len(missed) <= MOST_ANNOTATIONS else missed[: MOST_ANNOTATIONS - 1]
    for row in shown:
        title = f"task {row.name} {row.status}"
        message = f"{one_line(row.intent, 200)}: {_why(row)}" if row.intent else _why(row)
        yield f"::error title={_property(title)}::{_message(one_line(message, 500))}"
    if len(missed) > len(shown):
        yield f"::error title=and more::{len(missed) - len(shown)} further tasks did not pass"


def _case(known: RunInfo, row: Result) -> str:
    name = f"{row.name}: {row.intent}" if row.intent else row.name
    head = f"    <testcase classname={_quoted(f'{known.name}.{row.site}')} name={_quoted(name)} time={_time([row])}"
    if row.status == PASSED:
        return f"{head}/>\n"
    tag = "failure" if row.status == FAILED else "error"
    text = escape(visible(row.reason))
    return (
        f"{head}>\n      <{tag} type={_quoted(row.cause)} message={_quoted(_why(row))}>{text}</{tag}>\n   "
        " </testcase>\n"
    )


def _attributes(rows: Sequence[Result]) -> str:
    statuses = [row.status for row in rows]
    failures = statuses.count(FAILED)
    errors = len(rows) - failures - statuses.count(PASSED)
    return f'tests="{len(rows)}" failures="{failures}" errors="{errors}" skipped="0" time={_time(rows)}'


def _time(rows: Sequence[Result]) -> str:
    return f'"{sum(row.elapsed_ms for row in rows) / 1000:.3f}"'


def _why(row: Result) -> str:
    return f"{row.cause}: {row.detail}" if row.detail else row.cause


def _quoted(text: str) -> str:
    return quoteattr(one_line(text, 500))


def _message(text: str) -> str:
    # The percent sign first, or the escapes themselves would be escaped.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # A colon or a comma would end the title.
    return _message(text).replace(":", "%3A").replace(",", "%2C")
