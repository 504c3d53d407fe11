"""`harness find`: searches actions, pages, thoughts, answers and requests of runs."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_scoring, say_left_out
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.plugins.find.search import Hit

HELP = "search the steps of runs: actions, pages, thoughts, answers, requests"
EXAMPLE = "harness find results/demo-prompt-scripted 'action.kind=type url~checkout outcome=refused'"
_LINES = 100
"""That a person is shown; programs read all."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders or bundles")
    parser.add_argument(
        "query",
        metavar="QUERY",
        help="words and fields that must match, as in docs/pages/find.md: refund url~orders step>=3",
    )
    parser.add_argument("--limit", type=int, metavar="N", help=f"at most N steps (default: {_LINES}; with --json all)")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each step")
    add_scoring(parser, "scoring of `status` (default: of each run)")


def run(options: argparse.Namespace) -> int:
    from harness.api import dumps
    from harness.plugins.find.query import terms_of
    from harness.plugins.find.search import find
    from harness.runs import Run, escaped, one_line
    from harness.runs.notes import surplus_notes
    from harness.runs.opened_run import run_or_bundle

    if options.limit is not None and options.limit < 1:
        raise ConfigError(f"--limit {options.limit} shows nothing; give a number from 1")
    most = _LINES if options.limit is None and not options.json else options.limit
    terms, shown, is_whole = terms_of(options.query), 0, True
    for path in options.runs:
        with run_or_bundle(path) as opened:
            one = Run(opened.folder, scoring=options.scoring)
            for notice in (*opened.notices, *map(str, one.damaged), *surplus_notes(one.surplus)):
                sys.stderr.write(f"harness: {one_line(f'{path}: {notice}')}\n")
            is_more = False
            for hit in find(one, terms, one.name if path.is_dir() else path.name):
                if is_more := shown == most:
                    break
                shown += 1
                sys.stdout.write((escaped(dumps(hit).decode()) if options.json else _line(hit)) + "\n")
            say_left_out(path, one)
            is_whole &= not one.damaged
        if is_more:
            sys.stderr.write(f"harness: there are more than {most}; --limit shows more\n")
            break
    if not shown:
        sys.stderr.write("harness: nothing was found\n")
    return ExitCode.DONE if is_whole else ExitCode.UNSCORED


def _line(hit: "Hit") -> str:
    from harness.runs import one_line

    trial = f" trial {hit.trial}" if hit.trial else ""
    outcome = f" ({hit.outcome})" if hit.outcome not in ("", "done") else ""
    quote = f"; {hit.field}: …{one_line(hit.quote)}…" if hit.quote else ""
    said = f"{hit.run} {hit.task}{trial} step {hit.step}: {one_line(hit.action, 120)}{outcome}"
    return one_line(f"{said}; {one_line(hit.url, 120)}{quote}")
