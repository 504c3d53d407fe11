"""`harness label`: what people say of episodes, what waits for them, and how far they agree."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_scoring
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.plugins.labels.agreement import PairAgreement, Waiting
    from harness.plugins.labels.book import Label, LabelBook
    from harness.runs import Run

HELP = "label episodes as a person, list those on which people, judges and rules disagree, and print kappa"
EXAMPLE = "harness label results/demo-prompt-scripted --task 3 --author ann success=no class=model note='wrong mug'"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder; labels are kept in its labels.jsonl")
    parser.add_argument(
        "values",
        nargs="*",
        metavar="FIELD=VALUE",
        help="success, side_effect, looping = yes, no or unsure; optimality = 1 to 4; class = harness, environment or"
        " model; note = any text; FIELD= takes it back",
    )
    parser.add_argument("--task", metavar="ID", help="the episode to label, or to print the labels of")
    parser.add_argument("--trial", type=int, help="its trial (default: 0, the first)")
    parser.add_argument("--author", metavar="NAME", help="who labels; without values, whose queue to print")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="at most N of the queue (default: 50)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_scoring(parser, "scoring compared with labels (default: that of the run)")


def run(options: argparse.Namespace) -> int:
    from harness.plugins.labels.book import author_of, read_labels
    from harness.runs import Run, one_line

    if options.limit < 1:
        raise ConfigError(f"--limit {options.limit} shows nothing; give a number from 1")
    if options.trial is not None and (options.trial < 0 or options.task is None):
        raise ConfigError(f"--trial {options.trial}: give a number from 0, and --task, too")
    one = Run(options.run, scoring=options.scoring)
    author = None if options.author is None else author_of(options.author)
    if options.values:
        return _add(options, one, author)
    book = read_labels(one)
    for notice in (*filter(None, (book.torn,)), *book.damaged, *map(str, one.damaged)):
        sys.stderr.write(f"harness: {one_line(notice)}\n")
    if options.task is not None:
        _print_history(options, one, book)
    else:
        _print_queue(options, one, book, author)
    return ExitCode.UNSCORED if book.damaged or one.damaged else ExitCode.DONE


def _add(options: argparse.Namespace, one: "Run", author: str | None) -> int:
    from harness.plugins.labels.book import add_label, values_of
    from harness.runs import one_line
    from harness.runs.outcome import NOT_FINISHED

    values = values_of(options.values)
    if options.task is None or author is None:
        raise ConfigError("a label is of one episode and by somebody; give --task ID and --author NAME, too")
    episode = one.episode(options.task, options.trial or 0)
    if episode.cause == NOT_FINISHED:
        raise ConfigError(f"task {episode.task_id} is not finished; finish the run, then label it")
    label = add_label(one, episode, author, values)
    _write([label] if options.json else [one_line(_said(label))], as_json=options.json)
    return ExitCode.DONE


def _print_history(options: argparse.Namespace, one: "Run", book: "LabelBook") -> None:
    from harness.runs import one_line

    episode = one.episode(options.task, options.trial or 0)
    labels = book.history.get((episode.task_id, episode.trial), ())
    if options.json:
        _write(labels, as_json=True)
        return
    told = [one_line(_said(label) + _of_attempt(label, episode.attempt)) for label in labels]
    _write(told or [f"task {options.task} has no label"], as_json=False)


def _of_attempt(label: "Label", newest: int) -> str:
    return (
        "" if label.attempt == newest else f" (of attempt {label.attempt}; the newest is {newest}: it does not count)"
    )


def _said(label: "Label") -> str:
    from datetime import UTC, datetime

    at = datetime.fromtimestamp(label.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    trial = f" trial {label.trial}" if label.trial else ""
    values = ", ".join(f"{name}={value}" for name, value in label.values.items())
    return f"{at} {label.author}: task {label.task_id}{trial}: {values}"


def _print_queue(options: argparse.Namespace, one: "Run", book: "LabelBook", author: str | None) -> None:
    from harness.plugins.labels.agreement import agreements_of, is_ended, queue_of

    results = one.results
    queue, agreements = queue_of(results, book, author), agreements_of(results, book)
    if options.json:
        data = {
            "run": one.name,
            "queue": [_as_data(waiting) for waiting in queue[: options.limit]],
            "waiting": len(queue),
            "agreement": agreements,
            "stale": book.stale(results),
        }
        _write([data], as_json=True)
        return
    differ = sum(bool(waiting.disagreements) for waiting in queue)
    labelled = sum(bool(book.latest(row.task_id, row.trial, row.attempts)) for row in results)
    said = f"{labelled} of {sum(map(is_ended, results))} episodes have a label; {differ} are disagreed upon"
    _write([f"{one.name}: {said}; {len(queue)} wait", ""], as_json=False)
    if stale := book.stale(results):
        _write([f"labels of earlier attempts, which do not count: {stale}", ""], as_json=False)
    _table(("task", "outcome", "labelled by", "disagreements"), map(_row, queue[: options.limit]))
    if len(queue) > options.limit:
        _write([f"… and {len(queue) - options.limit} more; --limit shows more"], as_json=False)
    if agreements:
        _write([""], as_json=False)
        _table(("field", "raters", "episodes", "same", "kappa", "95% interval"), map(_agreement, agreements))


def _as_data(one: "Waiting") -> dict[str, object]:
    return {
        "task_id": one.result.task_id,
        "trial": one.result.trial,
        "status": one.result.status,
        "authors": one.authors,
        "disagreements": one.disagreements,
    }


def _row(one: "Waiting") -> tuple[str, ...]:
    return one.result.name, one.result.status, ", ".join(one.authors), "; ".join(map(str, one.disagreements))


def _agreement(one: "PairAgreement") -> tuple[str, ...]:
    kappa = one.kappa
    shown = (
        ("not defined: both always say the same", "")
        if kappa is None
        else (
            f"{kappa.value:.2f}",
            "none: the standard error is 0" if kappa.is_point else f"{kappa.low:.2f} to {kappa.high:.2f}",
        )
    )
    return one.field, f"{one.first}, {one.second}", str(one.episodes), str(one.same), *shown


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from harness.runs.text_table import columns

    _write(columns(heads, rows), as_json=False)


def _write(lines: "Iterable[object]", *, as_json: bool) -> None:
    """Texts as they are, or a line of JSON for each value."""
    sys.stdout.writelines(f"{line}\n" for line in (_json(lines) if as_json else lines))


def _json(values: "Iterable[object]") -> Iterator[str]:
    from harness.api import dumps
    from harness.runs import escaped

    return (escaped(dumps(value).decode()) for value in values)
