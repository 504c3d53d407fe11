"""`harness report`: writes the HTML pages of one run, readable from disk."""

import argparse
import sys
from pathlib import Path

from harness.api.command_line import add_scoring
from harness.errors import ExitCode

HELP = "write the HTML report of a run"
EXAMPLE = "harness report results/demo-prompt-scripted"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="run folder, or a bundle, of which one file is written")
    add_scoring(parser, "scoring to show (default: that of the run)")
    parser.add_argument(
        "--single-file", type=Path, metavar="FILE", help="write one file that contains all pages and screenshots"
    )


def run(options: argparse.Namespace) -> int:
    from harness.plugins.html_report.report import write_report
    from harness.plugins.html_report.single_file import write_single_file
    from harness.runs.opened_run import SUFFIX, run_or_bundle
    from harness.runs.run import Run

    given: Path = options.run
    with run_or_bundle(given) as opened:
        folder, run = opened.folder, Run(opened.folder, scoring=options.scoring)
        single = options.single_file
        if single is None and folder != given:
            single = given.with_name(given.name.removesuffix(SUFFIX) + ".html")
        if single:
            write_single_file(run, single, notices=opened.notices)
        else:
            single = write_report(run).index
    sys.stdout.write(f"{single}\n")
    return ExitCode.DONE
