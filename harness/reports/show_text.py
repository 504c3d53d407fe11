"""A run, a task or a step, printed: the report for those who stay in the terminal.

Foreign text is printed without markup and with its control characters made visible, so no page can steer the terminal.
"""

from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

from harness.codec import dumps
from harness.escape import flat, one_line, visible
from harness.records import Scored
from harness.reports.table import print_suite
from harness.runs.baselines import Baseline, sentence
from harness.runs.figures import headline, judging
from harness.runs.format import cost, duration, graded, measure
from harness.runs.judge_error import judge_sentence
from harness.runs.notes import UNCONFINED
from harness.runs.results import Result
from harness.runs.run import Run
from harness.runs.task_page import StepView, TaskPageModel

_STYLE = {"passed": "green", "failed": "red", "unscored": "yellow"}
_MARK = {"passed": "✓", "failed": "✕", "unscored": "○"}


def show_run(
    console: Console,
    run: Run,
    notices: Sequence[str],
    *,
    baselines: Collection[Baseline] = (),
) -> None:
    """One line for each task, then what they come to, and the rates of free baselines."""
    known, rows, found = run.about, run.results, run.statistics_of_readable()
    wide = max((len(row.name) for row in rows), default=0)
    sites = max((len(row.site) for row in rows), default=0)
    for row in rows:
        numbers = f"{row.steps:>3} steps  {measure(row.tokens, 'count'):>7} tokens  {cost(row.cost_usd, row.priced):>8}"
        cause = f" ({row.cause})" if row.cause else ""
        rest = f" {row.name:>{wide}}  {one_line(row.site):<{sites}}  {numbers}  {one_line(row.intent)}{cause}"
        line = Text.assemble((_MARK[row.status], _STYLE[row.status]), flat(rest))
        # A terminal gets one line for each task, a pipe all of it.
        console.print(line, no_wrap=True, overflow="ellipsis" if console.is_terminal else "ignore", crop=False)
    _say(console, f"{known.name}: {headline(found)}")
    if compared := sentence(baselines, known.agent):
        _say(console, compared)
    for note in (*map(judge_sentence, found.judges), *found.notes):
        _say(console, note)
    if found.suite is not None:
        print_suite(console, found.suite)
    if known.verified is not None and found.verified is not None:
        _say(console, f"{one_line(known.verified.scorer)}: {found.verified}")
        for one in found.verified.differences:
            _say(console, f"differs: {one_line(str(one), 300)}", "yellow")
    _notices(console, notices)


def show_task(console: Console, row: Result, story: TaskPageModel, notices: Sequence[str] = ()) -> None:
    """What was asked, each step in a line, how it was judged."""
    _say(console, f"task {row.name}: {one_line(story.task.intent)}", "bold")
    judged = f"; judge: {said}" if (said := judging(row.judge)) else ""
    _say(console, f"{row.status}, {row.site}, attempt {row.attempts}, {measure(row.tokens, 'count')} tokens{judged}")
    for moment in story.moments:
        refused = f"  refused: {one_line(moment.refused, 120)}" if moment.refused else ""
        said = f"{moment.number:>3}  {moment.action} {moment.target}{refused}".rstrip()
        _say(console, said + _inherited(moment), "red" if refused else "")
    if (closed := story.episode.closed) is not None:
        _say(console, f"closed: {closed.reason} {one_line(closed.detail)}".rstrip())
        _lines(console, f"answer: {closed.answer or '(none)'}")
    for scored in story.scores:
        _verdicts(console, scored)
    if row.verified is not None:
        _say(console, f"scorer of webarena-verified: {row.verified.status} ({one_line(row.verified.why, 300)})")
    for doubt in story.episode.doubts:
        about = f"step {doubt.step}" if doubt.step else "the attempt"
        _say(console, f"in doubt, {about}: {one_line(doubt.why, 300)}", "yellow")
    for diverged in story.episode.diverged:
        _say(console, f"diverged before step {diverged.step}: {one_line(diverged.why, 300)}", "yellow")
    for found in story.episode.violations:
        said = one_line(found.what, 300)
        _say(console, f"policy violation ({found.guarded.value}) before step {found.step}: {said}", "yellow")
    for number, ended in enumerate(story.episode.exited, start=1):
        code = "had to be ended" if ended.code is None else f"exit code {ended.code}"
        confined = (
            f"not confined: {UNCONFINED}" if ended.sandbox == "none" else f"confined by {one_line(ended.sandbox)}"
        )
        tried = f", policy violations in all: {ended.violations}" if ended.violations else ""
        spent = duration(ended.elapsed_ms / 1000)
        _say(console, f"agent's process {number}: {code}, {one_line(ended.why)}, {spent}{tried}; {confined}")
    for failed in story.failures:
        _say(
            console,
            f"failure, attempt {failed.attempt}: {failed.type} while trying to {failed.boundary}:"
            f" {one_line(failed.message, 300)}",
            "yellow",
        )
    _notices(console, notices)


def show_step(console: Console, moment: StepView, notices: Sequence[str] = ()) -> None:
    decided = moment.decided
    _say(console, f"step {moment.number}: {moment.action} {moment.target}".rstrip() + _inherited(moment), "bold")
    spent = "from the reply cache" if decided.is_cached else f"{duration(decided.elapsed_ms / 1000)} deciding"
    if moment.acted is not None:
        spent += f", {duration(moment.acted.elapsed_ms / 1000)} acting"
    asked = moment.usage.prompt_tokens + moment.usage.completion_tokens
    tokens = f"{moment.usage.prompt_tokens} + {moment.usage.completion_tokens} tokens" if asked else ""
    _say(console, ", ".join(filter(None, (decided.model, spent, tokens))))
    if moment.seen is not None:
        _block(console, "page", f"{moment.seen.title}\n{moment.seen.url}")
        _block(console, "observation", moment.seen.text)
    for sent in moment.prompt:
        text = f"as in step {sent.shown_at}" if sent.shown_at else sent.text
        _block(console, f"prompt, {sent.role} {sent.name}".rstrip(), text)
    for one in moment.requests:
        status = "no answer" if one.status is None else f"HTTP {one.status}"
        _block(console, f"request {one.number}, {one.interface}, {one.model}, {status}", one.request)
        _block(console, f"answer {one.number}", one.response)
    if moment.commands:
        _block(console, "browser commands", "\n".join(moment.commands))
    _block(console, "reply", decided.reply)
    # A reply that could not be read is a step, too, but nothing was performed.
    done = "performed" if moment.acted and not moment.is_unreadable else "not performed"
    _block(console, "outcome", (f"refused: {moment.refused}" if moment.refused else done) + moment.earned)
    if moment.effects:
        lines = [f"{effect.method} {effect.url} {effect.status or 'no answer'}" for effect in moment.effects]
        _block(console, "effects", "\n".join(lines))
    _notices(console, notices)


def _notices(console: Console, notices: Sequence[str]) -> None:
    """What a reader has to know of the files that this was read from."""
    for notice in notices:
        _say(console, notice, "yellow")


def _verdicts(console: Console, scored: Scored) -> None:
    value = "not scored" if scored.value is None else graded(scored.value)
    reference = "" if scored.reference is None else " with a corrected reference (eval), not the one that was played"
    _say(console, f"{scored.dialect} scoring: {value}{reference}")
    if scored.reference is not None:
        _say(console, f"  reference: {one_line(dumps(scored.reference.eval).decode(), 600)}")
    for verdict in scored.verdicts:
        found = "error" if verdict.value is None else graded(verdict.value)
        _say(console, f"  {verdict.evaluator}: {found} {one_line(verdict.why, 300)}".rstrip())


def _block(console: Console, title: str, text: str) -> None:
    _lines(console, f"\n{flat(title)}", "dim")
    _lines(console, text)


def _say(console: Console, text: str, style: str = "") -> None:
    _lines(console, flat(text), style)


def _lines(console: Console, text: str, style: str = "") -> None:
    console.print(Text(visible(text), style=style), soft_wrap=True)


def _inherited(moment: StepView) -> str:
    return " (inherited)" if moment.is_inherited else ""
