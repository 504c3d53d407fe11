"""`harness compare`: compares one or more runs with a first one, task by task."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api.command_line import COMPARISON_PAGES, add_scoring, open_in_one_scoring
from harness.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from harness.runs.comparison import Comparison

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
        " tasks or trials scored in RUN_A are unscored in it, or none is scored in both",
    )


def run(options: argparse.Namespace) -> int:
    from contextlib import ExitStack

    from harness.api import dumps
    from harness.api.terminal import Terminal
    from harness.plugins.compare.table import print_comparison
    from harness.runs import escaped
    from harness.runs.comparison import compare_runs

    level = options.fail_if_regressed
    if level is not None and not 0 < level <= 1:
        raise ConfigError(f"--fail-if-regressed {level:g} is not a probability; give a number above 0 and at most 1")
    with ExitStack() as closing:
        first, *others = open_in_one_scoring((options.before, *options.after), closing, scoring=options.scoring)
        found = compare_runs(first, others)
    console = Terminal()
    if options.html:
        COMPARISON_PAGES.find("html")(options.html, found)
    if options.json:
        console.exactly(escaped(dumps(found, pretty=True).decode()))
    else:
        for one in found:
            print_comparison(console, one)
    return ExitCode.DONE if level is None else _judged(found, level)


def _judged(found: Sequence["Comparison"], level: float) -> ExitCode:
    """Say which runs do not meet the condition."""
    from harness.api.text import flat
    from harness.runs.trials import amount

    for one in found:
        if one.pairs and one.least_p > level:
            sys.stderr.write(
                f"harness: --fail-if-regressed {level:g} cannot fail with {amount(one.pairs, 'common task')}: p is at"
                f" least {one.least_p:.3g}; compare more tasks, or give a larger number\n"
            )
        if broken := _broken(one, level):
            sys.stderr.write(f"harness: {flat(f'{one.after.name} {broken}')}\n")
    if any(one.regressed(level) for one in found):
        return ExitCode.BELOW
    return ExitCode.UNSCORED if any(one.newly_unscored or not one.pairs for one in found) else ExitCode.DONE


def _broken(found: "Comparison", level: float) -> str:
    """Why a run does not meet the condition, as the exit code names neither run nor reason; "" = it does."""
    from harness.runs import listed
    from harness.runs.trials import amount

    if found.regressed(level):
        lost, gained = amount(len(found.lost), "task"), f"{len(found.gained):,}"
        return f"has regressed: {lost} lost, {gained} gained, p = {found.p:.3g} is at most {level:g}"
    if not found.pairs:
        return f"cannot be compared: no task has a score in it and in {found.before.name}"
    if found.newly_unscored:
        missing = (*found.unscored_after, *found.trials_unscored_after)
        names = listed([one for one in missing if one in found.newly_unscored])
        return f"has no score where {found.before.name} has one: {names}"
    return ""
