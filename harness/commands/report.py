"""`harness report`: writes the HTML pages of one run, readable from disk."""

import argparse
import sys
from pathlib import Path

from harness.errors import ExitCode

HELP = "write the HTML report of a run"
EXAMPLE = "harness report results/demo-prompt-scripted"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path, help="run folder")
    parser.add_argument(
        "--scoring", choices=("corrected", "webarena"), help="scoring to show (default: that of the run)"
    )
    parser.add_argument(
        "--single-file", type=Path, metavar="FILE", help="write one file that contains all pages and screenshots"
    )


def run(options: argparse.Namespace) -> int:
    from harness.reports.html_report import write_report
    from harness.reports.rows import run_folder
    from harness.reports.single_file import write_single_file

    folder = run_folder(options.run)
    if options.single_file:
        write_single_file(folder, options.single_file, dialect=options.scoring)
        sys.stdout.write(f"{options.single_file}\n")
        return ExitCode.DONE
    written = write_report(folder, dialect=options.scoring)
    sys.stdout.write(f"{written.index}\n")
    return ExitCode.DONE
