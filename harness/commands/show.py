"""`harness show`: prints a run, a task or a step in the terminal."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.scoring_option import add_scoring
from harness.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from harness.bundles.run_bundle import OpenedRun
    from harness.records import Decided

HELP = "print a run, one of its tasks, or one step"
EXAMPLE = "harness show results/demo-prompt-scripted 12 3"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="run folder, or a bundle")
    parser.add_argument("task", nargs="?", help="task id")
    parser.add_argument("step", nargs="?", type=int, help="number of a step")
    parser.add_argument("--request", action="store_true", help="of a step: only the body of its request")
    parser.add_argument("--raw", action="store_true", help="with --request: on one line, byte for byte as it was sent")
    parser.add_argument("--trial", type=int, default=0, help="trial of the task (default: 0, the first)")
    add_scoring(parser, "scoring to show (default: that of the run)")


def run(options: argparse.Namespace) -> int:
    from harness.bundles.run_bundle import run_or_bundle
    from harness.reports.escape import flat

    with run_or_bundle(options.run) as opened:
        if options.request:
            for notice in opened.notices:
                sys.stderr.write(f"harness: {flat(notice)}\n")
        return _show(opened, options)


def _show(opened: "OpenedRun", options: argparse.Namespace) -> int:
    from harness.codec import dumps, loads
    from harness.journal.index import read_entry, scan
    from harness.journal.store import journal_name
    from harness.reports.baselines import baselines_of
    from harness.reports.escape import escaped
    from harness.reports.html_report import story_of
    from harness.reports.judge_error import judge_sentence
    from harness.reports.overview import overview
    from harness.reports.rescored import rescored_notes
    from harness.reports.rows import rows_of, run_info
    from harness.reports.show_text import show_run, show_step, show_task
    from harness.reports.terminal import Terminal

    console, folder = Terminal(highlight=False), opened.folder
    known = run_info(folder, options.scoring)
    if options.request and options.step is None:
        raise ConfigError("--request is of one step; give a task and a step, too")
    if options.raw and not options.request:
        raise ConfigError("--raw is of a request; give --request, too")
    if options.task is None:
        found = scan(folder)
        rows = rows_of(found.entries, known)
        baselines = baselines_of(folder, rows, known.dialect)
        notices = [*rescored_notes(folder, rows), *(opened.notices or map(str, found.damaged))]
        show_run(console, known, rows, notices, baselines=baselines)
        for use in overview(rows, folder).judges:
            console.say(judge_sentence(use))
        return ExitCode.DONE
    path = folder / journal_name(options.task, options.trial)
    if not (path.exists() or path.is_symlink()):
        raise ConfigError(
            f"{folder} has no journal for task {options.task}, trial {options.trial}; `harness show {folder}` lists its"
            " tasks"
        )
    entry = read_entry(path, path.lstat())
    view = story_of(folder, known, entry) if entry else None
    if view is None:
        raise ConfigError(f"{path} has no record yet")
    if options.step is None:
        show_task(console, view.row, view.story, opened.notices)
        return ExitCode.DONE
    moment = next((moment for moment in view.story.moments if moment.number == options.step), None)
    if moment is None:
        raise ConfigError(f"task {options.task} has no step {options.step}; it has {len(view.story.moments)}")
    if options.request:
        body = _request(folder, moment.decided)
        text = (body if options.raw else dumps(loads(body), pretty=True)).decode()
        sys.stdout.write(escaped(text).rstrip("\n") + "\n")
    else:
        show_step(console, moment, opened.notices)
    return ExitCode.DONE


def _request(folder: Path, decided: "Decided") -> bytes:
    """Its body."""
    from harness.journal.prompt_store import read_messages
    from harness.journal.store import ArtifactStore
    from harness.llm.request_frame import body_of

    if decided.request is None:
        raise ConfigError(
            f"step {decided.step} has no request: its agent did not ask a model for it, or an older version recorded it"
        )
    artifacts = ArtifactStore(folder / "artifacts")
    return body_of(artifacts.read(decided.request), read_messages(decided.prompt, artifacts))
