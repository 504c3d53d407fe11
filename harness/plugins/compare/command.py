"""`harness compare`: compares one or more runs with a first one, task by task."""

import argparse
import sys
from pathlib import Path

from harness.api.command_line import COMPARISON_PAGES, add_scoring
from harness.errors import ConfigError, ExitCode

HELP = "compare runs over their common tasks"
EXAMPLE = "harness compare results/before results/after --fail-if-regressed 0.05"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=Path, metavar="RUN_A", help="run folder or bundle of the baseline")
    parser.add_argument(
        "after", type=Path, nargs="+", metavar="RUN_B", help="run folders or bundles to compare with it"
    )
    add_scoring(parser, "scoring to use for all runs (default: that of RUN_A)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write an HTML page")
    parser.add_argument(
        "--fail-if-regressed",
        type=float,
        metavar="P",
        help="exit 1 if a run has a lower rate and lost more tasks than it gained, with an exact p of at most P; 3 if"
        " tasks or trials scored in RUN_A are unscored in it",
    )


def run(options: argparse.Namespace) -> int:
    from contextlib import ExitStack

    from harness.api import dumps
    from harness.api.terminal import Terminal
    from harness.api.text import flat
    from harness.plugins.compare.table import print_comparison
    from harness.runs import Run, escaped
    from harness.runs.comparison import compare_runs
    from harness.runs.opened_run import run_or_bundle

    level = options.fail_if_regressed
    if level is not None and not 0 < level <= 1:
        raise ConfigError(f"--fail-if-regressed {level:g} is not a probability; give a number above 0 and at most 1")
    with ExitStack() as closing:
        paths = (options.before, *options.after)
        before, *after = opened = [closing.enter_context(run_or_bundle(path)) for path in paths]
        for path, notice in ((path, notice) for path, one in zip(paths, opened, strict=True) for notice in one.notices):
            sys.stderr.write(f"harness: {flat(f'{path}: {notice}')}\n")
        first = Run(before.folder, scoring=options.scoring)
        found = compare_runs(first, [Run(one.folder, scoring=first.scoring) for one in after])
    if options.html:
        COMPARISON_PAGES.find("html")(options.html, found)
    if options.json:
        sys.stdout.write(escaped(dumps(found, pretty=True).decode()))
    else:
        console = Terminal()
        for one in found:
            print_comparison(console, one)
    if level is None:
        return ExitCode.DONE
    if any(one.regressed(level) for one in found):
        return ExitCode.BELOW
    return ExitCode.UNSCORED if any(one.newly_unscored for one in found) else ExitCode.DONE
