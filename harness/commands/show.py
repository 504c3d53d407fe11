"""`harness show`: prints a run, a task or a step in the terminal."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.scoring_option import add_scoring
from harness.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from harness.records import Decided
    from harness.runs.opened_run import OpenedRun
    from harness.runs.run import Run

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
    from harness.escape import flat
    from harness.runs.opened_run import run_or_bundle

    with run_or_bundle(options.run) as opened:
        if options.request:
            for notice in opened.notices:
                sys.stderr.write(f"harness: {flat(notice)}\n")
        return _show(opened, options)


def _show(opened: "OpenedRun", options: argparse.Namespace) -> int:
    from harness.codec import dumps, loads
    from harness.escape import escaped
    from harness.reports.console import Terminal
    from harness.reports.show_text import show_run, show_step, show_task
    from harness.runs.baselines import baselines_of
    from harness.runs.results import result_of
    from harness.runs.run import Run
    from harness.runs.task_page import story_of

    console, run = Terminal(highlight=False), Run(opened.folder, scoring=options.scoring)
    if options.request and options.step is None:
        raise ConfigError("--request is of one step; give a task and a step, too")
    if options.raw and not options.request:
        raise ConfigError("--raw is of a request; give --request, too")
    if options.task is None:
        baselines = baselines_of(run.folder, run.results, run.scoring)
        show_run(console, run, opened.notices or [str(damage) for damage in run.damaged], baselines=baselines)
        return ExitCode.UNSCORED if run.damaged else ExitCode.DONE
    episode = run.episode(options.task, options.trial)
    story = story_of(episode)
    if story is None:
        raise ConfigError(f"{run.folder} has no record of task {options.task} any more")
    if options.step is None:
        show_task(console, result_of(episode.result, run.scoring, run.about.verified), story, opened.notices)
        return ExitCode.DONE
    moment = next((moment for moment in story.moments if moment.number == options.step), None)
    if moment is None:
        raise ConfigError(f"task {options.task} has no step {options.step}; it has {len(story.moments)}")
    if options.request:
        body = _request(run, moment.decided)
        text = (body if options.raw else dumps(loads(body), pretty=True)).decode()
        sys.stdout.write(escaped(text).rstrip("\n") + "\n")
    else:
        show_step(console, moment, opened.notices)
    return ExitCode.DONE


def _request(run: "Run", decided: "Decided") -> bytes:
    """Its body."""
    from harness.journal.prompt_store import read_messages
    from harness.llm.request_frame import body_of

    if decided.request is None:
        raise ConfigError(
            f"step {decided.step} has no request: its agent did not ask a model for it, or an older version recorded it"
        )
    return body_of(run.artifacts.read(decided.request), read_messages(decided.prompt, run.artifacts))
