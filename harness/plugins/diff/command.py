"""`harness diff`: episodes of one task side by side, and for each task of two runs the step at which they part."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_scoring, open_in_one_scoring, say_left_out
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.api.terminal import Terminal
    from harness.plugins.diff.alignment import Move, Parting
    from harness.plugins.diff.whole_runs import Parted
    from harness.runs import Episode, Run

HELP = "show where runs or trials of a task differ: side by side, or for each task the step and the decisions there"
EXAMPLE = "harness diff results/before results/after --task 12 --html diff.html"
MOST = 7
"""Episodes side by side."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="run folders or bundles; of one run its trials are compared"
    )
    parser.add_argument("--task", metavar="ID", help="one task, step by step (default: all, a line for each)")
    parser.add_argument("--trial", type=int, help="trial of each of several runs (default: 0, the first)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="of --task: also write a page with screenshots")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_scoring(parser, "scoring to show for all runs (default: that of the first)")


def run(options: argparse.Namespace) -> int:
    if len(options.runs) > MOST:
        raise ConfigError(f"{len(options.runs)} runs are too many to be read side by side; give at most {MOST}")
    if options.trial is not None and options.trial < 0:
        raise ConfigError(f"--trial {options.trial} is not a trial; give a number from 0")
    if options.html and options.task is None:
        raise ConfigError("--html is of one task; give --task, too")
    with ExitStack() as closing:
        runs = list(open_in_one_scoring(options.runs, closing, scoring=options.scoring))
        names = _names(options.runs, runs)
        if options.task is None:
            return _whole(options, names, runs)
        return _one(options, list(_episodes(options, names, runs)))


def _names(paths: Sequence[Path], runs: "Sequence[Run]") -> list[str]:
    """Of the folders or files, with their paths where two have the same."""
    names = [
        path.name.removesuffix(".cairn") if path.is_file() else one.name for path, one in zip(paths, runs, strict=True)
    ]
    return [str(path) if names.count(name) > 1 else name for name, path in zip(names, paths, strict=True)]


def _episodes(
    options: argparse.Namespace, names: Sequence[str], runs: "Sequence[Run]"
) -> "Iterator[tuple[str, Episode]]":
    """Those of one task: its trials in one run, or one trial of each of several."""
    if len(runs) > 1:
        yield from (
            (name, one.episode(options.task, options.trial or 0)) for name, one in zip(names, runs, strict=True)
        )
        return
    (only,) = runs
    trials = sorted(one.trial for one in only.readable() if one.task_id == options.task)
    if len(trials) < 2:
        only.episode(options.task)  # says so if there is none
        raise ConfigError(f"task {options.task} has one trial in {only.folder}; give a second run to compare it with")
    if len(trials) > MOST:
        sys.stderr.write(f"harness: the first {MOST} of {len(trials)} trials are shown\n")
    yield from ((f"trial {trial}", only.episode(options.task, trial)) for trial in trials[:MOST])


def _one(options: argparse.Namespace, named: "Sequence[tuple[str, Episode]]") -> int:
    from harness.api.terminal import Terminal
    from harness.plugins.diff.alignment import moves_of, parting_of
    from harness.runs import escaped

    moves = [moves_of(episode) for _, episode in named]
    parting, notes = parting_of(moves), _notes(named)
    if options.html:
        from harness.plugins.diff.page import write_diff

        write_diff(options.html, named, notes)
    if options.json:
        from harness.api import dumps

        data = {"task": options.task, "episodes": [name for name, _ in named], "parting": parting, "notes": notes}
        sys.stdout.write(escaped(dumps(data, pretty=True).decode()) + "\n")
    else:
        _print(Terminal(highlight=False), named, moves, parting=parting, notes=notes)
    return ExitCode.DONE


def _notes(named: "Sequence[tuple[str, Episode]]") -> list[str]:
    """What keeps the episodes from being the same question."""
    if len({episode.result.task_digest for _, episode in named}) > 1:
        return ["they are not the same task: its definition differs between these runs"]
    return []


def _print(
    console: "Terminal",
    named: "Sequence[tuple[str, Episode]]",
    moves: "Sequence[Sequence[Move]]",
    *,
    parting: "Parting | None",
    notes: Sequence[str],
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from harness.plugins.diff.alignment import rows_of
    from harness.runs import one_line

    for note in notes:
        console.say(note)
    if parting is None:
        console.say(f"they do the same to the end, {len(moves[0])} steps")
    else:
        console.say(f"they part at step {parting.step}: {parting.kind}")
        if parting.other_text_from:
            console.say(f"a page reads otherwise from step {parting.other_text_from} on")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("")
    for name, episode in named:
        table.add_column(Text(one_line(f"{name}: {episode.status}")), overflow="fold", ratio=1)
    at_parting = parting.step - 1 if parting else None
    for number, row in enumerate(rows_of(moves, parting)):
        cells = [
            "" if at is None else f"{one[at].number} {one_line(one[at].said, 200)}" + _how(one[at].outcome)
            for one, at in zip(moves, row, strict=True)
        ]
        table.add_row(
            "▶" if number == at_parting else "", *map(Text, cells), style="bold" if number == at_parting else None
        )
    console.print(table)


def _how(outcome: str) -> str:
    return f" ({outcome})" if outcome in ("refused", "unknown") else ""


def _whole(options: argparse.Namespace, names: Sequence[str], runs: "Sequence[Run]") -> int:
    from harness.api.terminal import Terminal
    from harness.plugins.diff.whole_runs import part_runs, part_trials
    from harness.runs import escaped

    for damage in [damage for one in runs for damage in one.damaged]:
        sys.stderr.write(f"harness: {damage}\n")
    found = list(part_runs(runs, options.trial or 0) if len(runs) > 1 else part_trials(runs[0]))
    for name, one in zip(names, runs, strict=True):
        say_left_out(name, one)
    if options.json:
        from harness.api import dumps

        sys.stdout.write(escaped(dumps({"runs": names, "tasks": found}, pretty=True).decode()) + "\n")
    else:
        _print_whole(Terminal(highlight=False), names, found)
    return ExitCode.UNSCORED if any(one.damaged for one in runs) else ExitCode.DONE


def _print_whole(console: "Terminal", names: Sequence[str], found: "Sequence[Parted]") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from harness.runs import listed, one_line
    from harness.runs.trials import amount

    compared = [one for one in found if not one.left_out]
    parted = [one for one in compared if one.parting is not None]
    same = len(compared) - len(parted)
    alike = f"{same} {'is' if same == 1 else 'are'} the same to the end"
    console.say(f"{len(parted)} of {amount(len(compared), 'task')} part; {alike}")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in ("task", "outcomes", "step", "differs", *(names if len(names) > 1 else ("trials",))):
        table.add_column(Text(one_line(head)), overflow="fold", justify="right" if head == "step" else "left")
    for one in parted:
        assert one.parting is not None
        said = [one_line(text, 100) or "(has ended)" for text in one.parting.said]
        cells = said if len(names) > 1 else [" | ".join(f"{said.count(one)} × {one}" for one in dict.fromkeys(said))]
        row = (one.task, ", ".join(one.outcomes), str(one.parting.step), one.parting.kind, *cells)
        table.add_row(*(Text(one_line(cell)) for cell in row))
    if parted:
        console.print(table)
    for why in sorted({one.left_out for one in found if one.left_out}):
        tasks = [one.task for one in found if one.left_out == why]
        console.say(f"left out, {one_line(why)}: {listed(tasks)}")
