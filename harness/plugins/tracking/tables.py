"""A run as two flat tables, tasks and steps (`harness.runs.rows`), as CSV or Parquet.

Rows are made one episode at a time and never held; CSV needs no library. Statistics over them belong to the summary.
"""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, get_args, get_type_hints

from harness.api.files import Within, prepared, replacing, translate_os_errors
from harness.plugins.tracking.episodes import run_at
from harness.plugins.tracking.lazy import pyarrow
from harness.runs import Steps, Tasks, step_rows, task_row
from harness.runs.rows import Row

Write = Callable[[Row], None]


def write_tables(folder: Path, into: Path, kind: str, *, dialect: str) -> tuple[Path, Path]:
    """Write `tasks.KIND` and `steps.KIND`, KIND being `csv` or `parquet`.

    Raises:
        TrackingError: There is no run.
        JournalError: A journal is damaged.
    """
    run = run_at(folder, scoring=dialect)
    writer = {"csv": _csv, "parquet": _parquet}[kind]
    tasks, steps = into / f"tasks.{kind}", into / f"steps.{kind}"
    with translate_os_errors(into):
        within = prepared(into, folder)
        with writer(tasks, Tasks, within) as add_task, writer(steps, Steps, within) as add_step:
            for episode in run.episodes():
                add_task(task_row(episode))
                for row in step_rows(episode):
                    add_step(row)
    return tasks, steps


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
