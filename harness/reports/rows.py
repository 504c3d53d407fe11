"""A run as rows: one for each (task, trial), with all that lists, tables and charts say about it.

Made of outcomes alone, so ten thousand tasks need no journal read. What a row calls its cause is a closed set of words,
by which failures are grouped; the sentence beside it is the evaluator's or the error's own.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.journal.index import EpisodeResult, IndexEntry
from harness.records import Usage
from harness.reports.fork_tree import ForkOrigin, fork_origin
from harness.reports.made_by import MadeBy, made_by
from harness.reports.verified import OwnVerdict, OwnVerdicts, key_of, read_verdicts
from harness.runs.outcome import FAILED, UNSCORED, judged_by, said_instead, score_of
from harness.runs.run import recorded_scoring, side_file

NOT_BEGUN = "not begun"
_MOST_ROWS = 1_000_000
"""Rows for episodes without a journal, at most; `run.json` may be wrong or hostile."""
_LONGEST_NAME, _LONGEST_ID = 300, 2000
_MOST_WEIGHT = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One (task, trial) of a run; the defaults are those of a task that was not begun."""

    task_id: str
    trial: int
    page: str = ""
    """File name of its page; "" when there is nothing to show."""
    site: str = "-"
    """Its sites, joined by `+`."""
    intent: str = ""
    template: str = ""
    cluster: str
    """Tasks of one intent template share it."""
    status: str
    score: float | None = None
    cause: str
    """Why it did not pass, in one of few words; "" when it did."""
    why: str
    steps: int = 0
    attempts: int = 0
    resumes: int = 0
    divergences: int = 0
    policy_violations: int = 0
    is_unconfined: bool = False
    """The agent was a process that nothing confined."""
    doubts: tuple[str, ...] = ()
    """The doubts of its score, one sentence each."""
    failures: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    priced: bool = True
    usage: Usage = field(default_factory=Usage)
    """The same in full."""
    judge: Usage = field(default_factory=Usage)
    """What judging cost; in none of the figures above."""
    inherited_steps: int = 0
    """Of a fork: steps of another run that it begins with."""
    inherited: Usage = field(default_factory=Usage)
    """What they cost that run; in none of the figures above."""
    elapsed_ms: float = 0.0
    digest: str = ""
    """Of the task with the reference that scored it, so that runs can tell whether they asked the same."""
    is_corrected: bool = False
    """Whether that reference is not the one that was played."""
    judged: tuple[str, str] | None = None
    """Judge and prompt that decided its score; None = no judge did."""
    verified: OwnVerdict | None = None
    """Of the scorer of webarena-verified, on the attempt that counts; None = it was not asked."""

    @property
    def detail(self) -> str:
        """What `why` says beyond `cause`."""
        said = self.why.removeprefix("evaluator error: ").removeprefix("infrastructure: ")
        return said.removeprefix(self.cause).lstrip(": ")

    @property
    def name(self) -> str:
        """The task, and its trial unless that is the first."""
        return f"{self.task_id} · trial {self.trial}" if self.trial else self.task_id


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What a run folder says of itself beside its journals."""

    name: str
    dialect: str
    model: str
    agent: str
    tasks: tuple[str, ...]
    """Task ids of the run, begun or not; empty if unknown."""
    trials: int
    fork: ForkOrigin | None = None
    """Where it was forked; None = it is no fork."""
    made: tuple[MadeBy, ...] = ()
    """By what the latest start was made, then earlier ones where that was something else."""
    benchmarks: Mapping[str, float] = field(default_factory=dict)
    """Name and weight of each benchmark of a suite; {} = the run is no suite."""
    verified: OwnVerdicts | None = None
    """What the scorer of webarena-verified says; None = it was not asked."""


def run_info(folder: Path, dialect: str | None = None) -> RunInfo:
    """Read the small files of a run folder; each may be missing, torn, of another version, or forged.

    Args:
        folder: The run folder.
        dialect: Overrides the dialect the run was scored in.

    Raises:
        UnsafeFile: One of them is a link, a FIFO or a device.
    """
    run, summary = side_file(folder / "run.json"), side_file(folder / "summary.json")
    tasks, trials = _tasks(run.get("tasks")), run.get("trials")
    trials = trials if isinstance(trials, int) and 0 < trials < 10_000 else 1
    return RunInfo(
        name=folder.resolve().name,
        dialect=dialect or recorded_scoring(summary, run),
        model=_text(run.get("model")),
        agent=_text(run.get("agent")),
        tasks=tasks if len(tasks) * trials <= _MOST_ROWS else (),
        trials=trials,
        fork=fork_origin(folder),
        made=made_by(run),
        benchmarks=_weights(run.get("benchmarks")),
        verified=read_verdicts(folder),
    )


def selected_rows(rows: Iterable[Row], known: RunInfo) -> tuple[Row, ...]:
    """The rows of the tasks and trials a run is about now; a folder may hold more from earlier starts."""
    tasks = set(known.tasks)
    return tuple(row for row in rows if row.task_id in tasks and row.trial < known.trials)


def rows_of(entries: Iterable[IndexEntry], known: RunInfo) -> tuple[Row, ...]:
    """Rows in task order, those of tasks not begun yet included."""
    rows = [row_of(entry, known) for entry in entries]
    begun = {(row.task_id, row.trial) for row in rows}
    expected = ((task, trial) for trial in range(known.trials) for task in known.tasks)
    rows += [_not_begun(*pair) for pair in expected if pair not in begun]
    return tuple(sorted(rows, key=lambda row: (_natural(row.task_id), row.trial)))


def row_of(entry: IndexEntry, known: RunInfo) -> Row:
    outcome, dialect = entry.outcome, known.dialect
    score = score_of(outcome, dialect)
    usage = outcome.usage
    return Row(
        task_id=outcome.task_id,
        trial=outcome.trial,
        page=page_name(entry.name),
        site="+".join(outcome.sites) or "-",
        intent=outcome.intent,
        template=outcome.template,
        cluster=outcome.template_id or f"task {outcome.task_id}",
        status=score.status,
        score=score.value,
        cause=score.cause,
        why=said_instead(score.why, outcome.unread if score.status == FAILED else ""),
        steps=outcome.steps,
        attempts=outcome.attempt,
        resumes=outcome.resumes,
        divergences=outcome.divergences,
        policy_violations=outcome.violations,
        is_unconfined=outcome.is_unconfined,
        doubts=outcome.doubts,
        failures=outcome.failures,
        tokens=usage.tokens,
        cost_usd=usage.cost_usd,
        priced=usage.priced,
        usage=usage,
        judge=outcome.judge_usage,
        inherited_steps=outcome.fork.step if outcome.fork else 0,
        inherited=outcome.inherited_usage,
        elapsed_ms=outcome.elapsed_ms,
        digest=score.reference or outcome.task_digest,
        is_corrected=bool(score.reference),
        judged=judged_by(outcome, dialect),
        verified=_verified(outcome, known),
    )


def _verified(outcome: EpisodeResult, known: RunInfo) -> OwnVerdict | None:
    if known.verified is None:
        return None
    found = known.verified.by_trial.get(key_of(outcome.task_id, outcome.trial))
    return found if found is not None and found.attempt == outcome.attempt else None


def page_name(journal: str) -> str:
    """File name of the page of the journal of this name."""
    return journal.removesuffix(".traj.jsonl") + ".html"


def select(
    rows: Sequence[Row], *, text: str = "", status: str = "", site: str = "", cause: str = ""
) -> tuple[Row, ...]:
    """The rows all given filters let through; `text` is looked for in id, intent and cause, without case."""
    wanted = text.casefold().split()
    return tuple(
        row
        for row in rows
        if status in ("", row.status)
        and site in ("", row.site)
        and cause in ("", row.cause)
        and all(word in f"{row.task_id} {row.intent} {row.cause}".casefold() for word in wanted)
    )


def _not_begun(task_id: str, trial: int) -> Row:
    return Row(task_id=task_id, trial=trial, cluster=f"task {task_id}", status=UNSCORED, cause=NOT_BEGUN, why=NOT_BEGUN)


def _natural(task_id: str) -> tuple[tuple[int, int, str], ...]:
    """Numbers in a task id in their own order: 2 before 10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", task_id)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)


def _text(value: object) -> str:
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""


def _weights(value: object) -> dict[str, float]:
    found = value.items() if isinstance(value, dict) else ()
    return {name: float(one) for name, one in found if isinstance(one, int | float) and 0 < one < _MOST_WEIGHT}


def _tasks(value: object) -> tuple[str, ...]:
    """Task ids, each once; what is far longer than a name of a file can be is none."""
    found = value if isinstance(value, list) else ()
    return tuple(dict.fromkeys(task for task in found if isinstance(task, str) and len(task) <= _LONGEST_ID))
