"""`harness lantern RUN`: how often each action was done in a run."""

import argparse
import sys
from collections import Counter
from pathlib import Path

from harness.api import ExitCode

HELP = "count the actions of a run"
EXAMPLE = "harness lantern results/row"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", type=Path)


def run(options: argparse.Namespace) -> int:
    from harness.runs import Run

    steps = [step for episode in Run(options.run).episodes() for step in episode.steps]
    for action, count in sorted(Counter(step.name for step in steps).items()):
        sys.stdout.write(f"{count} {action}\n")
    return ExitCode.DONE
