"""A run as two flat tables, tasks and steps, from its journals alone.

Rows are made one episode at a time and never held; CSV needs no library. Statistics over them belong to the summary.
"""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, get_args, get_type_hints

from harness.journal.disk import Within, prepared, replacing, translate_os_errors
from harness.records import Acted, Decided, Episode, Refused, Scored, Status
from harness.tracking.episodes import episodes_in
from harness.tracking.lazy import pyarrow

Row = dict[str, str | int | float | bool | None]
Write = Callable[[Row], None]


class Tasks:
    """Columns of the table `tasks`: one row per task and trial."""

    task_id: str
    trial: int
    sites: str
    intent: str
    status: str
    """`passed`, `failed` or `unscored`."""
    score: float | None
    scoring: str
    closed: str
    answer: str
    steps: int
    attempts: int
    resumed_from: int | None
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    priced: bool
    requests: int
    judge_prompt_tokens: int
    """What judging cost, in all attempts and dialects; in no other column."""
    judge_completion_tokens: int
    judge_cost_usd: float
    judge_priced: bool
    judge_requests: int
    working_s: float
    failures: int
    failure: str
    why: str
    task_digest: str
    config_digest: str


class Steps:
    """Columns of the table `steps`: one row per decision of the last attempt of each task and trial."""

    task_id: str
    trial: int
    attempt: int
    step: int
    action: str
    reply: str
    refused: str
    url: str
    title: str
    effects: int
    reward: float | None
    model: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    deciding_ms: float | None
    acting_ms: float | None
    at: float


def write_tables(folder: Path, into: Path, kind: str, *, dialect: str) -> tuple[Path, Path]:
    """Write `tasks.KIND` and `steps.KIND`, KIND being `csv` or `parquet`.

    Raises:
        TrackingError: There is no run.
        JournalError: A journal is damaged.
    """
    episodes = episodes_in(folder)
    writer = {"csv": _csv, "parquet": _parquet}[kind]
    tasks, steps = into / f"tasks.{kind}", into / f"steps.{kind}"
    with translate_os_errors(into):
        within = prepared(into, folder)
        with writer(tasks, Tasks, within) as add_task, writer(steps, Steps, within) as add_step:
            for episode in episodes:
                add_task(task_row(episode, dialect))
                for row in step_rows(episode):
                    add_step(row)
    return tasks, steps


def task_row(episode: Episode, dialect: str) -> Row:
    opened, closed = episode.opened, episode.closed
    usage, judge = episode.total_usage, episode.total_judge_usage
    assert opened is not None
    scored = episode.scores.get(dialect)
    value = scored.value if scored is not None and scored.status is Status.OK else None
    return {
        "task_id": opened.task.task_id,
        "trial": opened.trial,
        "sites": "+".join(opened.task.sites),
        "intent": opened.task.intent,
        "status": "unscored" if value is None else "passed" if value == 1.0 else "failed",
        "score": value,
        "scoring": dialect,
        "closed": closed.reason.value if closed else "",
        "answer": closed.answer if closed else "",
        "steps": len(episode.steps) + (episode.pending is not None),
        "attempts": episode.attempt,
        "resumed_from": episode.resumed[-1].step if episode.resumed else None,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "priced": usage.priced,
        "requests": usage.requests,
        "judge_prompt_tokens": judge.prompt_tokens,
        "judge_completion_tokens": judge.completion_tokens,
        "judge_cost_usd": judge.cost_usd,
        "judge_priced": judge.priced,
        "judge_requests": judge.requests,
        "working_s": episode.total_elapsed_ms / 1000,
        "failures": len(episode.failures),
        "failure": episode.failures[-1].message if episode.failures else "",
        "why": _why(scored),
        "task_digest": opened.task_digest,
        "config_digest": opened.config_digest,
    }


def step_rows(episode: Episode) -> Iterator[Row]:
    for step in episode.steps:
        yield _step_row(episode, step.decided, step.acted)
    if episode.pending is not None:
        yield _step_row(episode, episode.pending, None)


def _step_row(episode: Episode, decided: Decided, acted: Acted | None) -> Row:
    opened = episode.opened
    assert opened is not None
    seen = acted.observation if acted else None
    spent = episode.spent_on(decided.step)
    return {
        "task_id": opened.task.task_id,
        "trial": opened.trial,
        "attempt": opened.attempt,
        "step": decided.step,
        "action": episode.said(decided),
        "reply": decided.reply,
        "refused": acted.outcome.why if acted and isinstance(acted.outcome, Refused) else "",
        "url": seen.url if seen else "",
        "title": seen.title if seen else "",
        "effects": len(acted.effects) if acted else 0,
        "reward": acted.reward if acted else None,
        "model": decided.model,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "cost_usd": spent.cost_usd,
        "deciding_ms": None if decided.is_cached else decided.elapsed_ms,
        "acting_ms": acted.elapsed_ms if acted else None,
        "at": decided.at,
    }


def _why(scored: Scored | None) -> str:
    verdicts = scored.verdicts if scored else ()
    return next((verdict.why for verdict in verdicts if verdict.value != 1.0), "")


@contextmanager
def _csv(path: Path, table: type, within: Within) -> Iterator[Write]:
    with replacing(path, durable=False, within=within) as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.DictWriter(text, list(get_type_hints(table)))
        writer.writeheader()
        yield lambda row: writer.writerow(_safe(row))
        text.detach()


def _safe(row: Row) -> Row:
    """Page text must not become a formula when a spreadsheet opens the file."""

    def is_formula(value: object) -> bool:
        return isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))

    return {name: f"'{value}" if is_formula(value) else value for name, value in row.items()}


@contextmanager
def _parquet(path: Path, table: type, within: Within) -> Iterator[Write]:
    pa = pyarrow()
    kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([(name, kinds[_kind(hint)]) for name, hint in get_type_hints(table).items()])
    rows: list[Row] = []
    with (
        replacing(path, durable=False, within=within) as file,
        pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):

        def flush() -> None:
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            rows.clear()

        def add(row: Row) -> None:
            rows.append(row)
            if len(rows) >= 4096:
                flush()

        yield add
        flush()


def _kind(hint: Any) -> Any:
    return next((arg for arg in get_args(hint) if arg is not type(None)), hint)
