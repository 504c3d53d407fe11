"""`harness attacks`: which attacks on the agents of runs succeeded, judged from their journals, without a browser."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_scoring, open_runs, say_left_out, write_further_page
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.api.terminal import Terminal
    from harness.plugins.attacks.figures import Figures, Paired
    from harness.plugins.attacks.verdicts import Verdict
    from harness.runs import Run

HELP = "say which attacks on the agents of runs were seen, followed, and successful, and what they cost in utility"
EXAMPLE = "harness attacks results/attacked --without results/plain"
_SHOWN = 200


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders or bundles, side by side")
    parser.add_argument(
        "--without", type=Path, metavar="RUN", help="a run of the same tasks without an attack, to compare success with"
    )
    parser.add_argument("--fail-over", type=float, metavar="SHARE", help="exit with 1 if more attacks succeed (0 to 1)")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="also write a page, with screenshots of what followed"
    )
    add_scoring(parser, "scoring to use for all runs (default: that of the first)")


@dataclass(frozen=True, slots=True)
class Reading:
    """A run and what became of its attacks."""

    name: str
    run: "Run"
    verdicts: "Sequence[Verdict]"
    figures: "Figures"
    paired: "Paired | None"
    """None = no run to compare with was given."""
    is_whole: bool


def run(options: argparse.Namespace) -> int:
    if options.fail_over is not None and not 0 <= options.fail_over <= 1:
        raise ConfigError(f"--fail-over {options.fail_over:g} is not a share; give a number from 0 to 1")
    with ExitStack() as closing:
        found = _read(options, closing)
        if options.html:
            from harness.plugins.attacks.page import TEMPLATES, page_of

            write_further_page(options.html, TEMPLATES, "attacks.html", **page_of(found, options.html))
    if options.json:
        from harness.api import dumps
        from harness.plugins.attacks.report import as_data
        from harness.runs import escaped

        sys.stdout.write(escaped(dumps([as_data(one) for one in found], pretty=True).decode()) + "\n")
    elif options.markdown:
        from harness.plugins.attacks.report import markdown

        sys.stdout.write(markdown(found))
    else:
        from harness.api.terminal import Terminal

        _print(Terminal(highlight=False), found)
    return _exit_code(found, options.fail_over)


def _read(options: argparse.Namespace, closing: ExitStack) -> list[Reading]:
    """Raises: ConfigError: A run was not attacked, or the one without an attack was."""
    from harness.plugins.attacks.figures import figures_of, judge_run, paired

    found = list[Reading]()
    beside_them = [] if options.without is None else [options.without]
    runs = open_runs([*options.runs, *beside_them], closing, scoring=options.scoring)
    other = runs.pop() if beside_them else None
    if other is not None and judge_run(other[1])[0]:
        raise ConfigError(f"{options.without} was attacked, too; give a run of the same tasks with attack=none")
    for name, one in runs:
        verdicts, without, missing = judge_run(one)
        beside = None if other is None else paired(verdicts, other[1], name=other[0])
        say_left_out(name, one)
        found.append(Reading(name, one, verdicts, figures_of(verdicts, without, missing), beside, not one.damaged))
    if other is not None:
        say_left_out(*other)
        found = [replace(one, is_whole=one.is_whole and not other[1].damaged) for one in found]
    if bare := [str(path) for path, one in zip(options.runs, found, strict=True) if not one.verdicts]:
        raise ConfigError(
            f"no task of {', '.join(bare)} was attacked; play it with attack=inject, or tasks that have `attack`; to"
            " compare with a run without an attack, give that as --without"
        )
    return found


def _exit_code(found: Sequence[Reading], fail_over: float | None) -> ExitCode:
    """What is unknown may be all that is wrong: it is given the benefit of it, as the ordinary rate is."""
    high = [one.name for one in found if fail_over is not None and one.figures.success_at_least > fail_over]
    for name in high:
        sys.stderr.write(f"harness: {name}: more attacks succeeded than {fail_over:g}\n")
    if high:
        return ExitCode.BELOW
    is_known = all(one.is_whole and not (one.figures.overall.unknown or one.figures.missing) for one in found)
    return ExitCode.DONE if is_known else ExitCode.UNSCORED


def _print(console: "Terminal", found: Sequence[Reading]) -> None:
    from harness.plugins.attacks.report import (
        RATE_HEADS,
        VERDICT_HEADS,
        figure_rows,
        headline,
        pair_line,
        rate_rows,
        verdict_rows,
    )

    for one in found:
        console.say(f"{one.name}: {headline(one.figures)}")
        if one.paired is not None:
            console.say(f"{one.name}: {pair_line(one.paired)}")
    console.table(("", *(one.name for one in found)), figure_rows([one.figures for one in found]))
    for one in found:
        if len(found) > 1:
            console.say(one.name)
        console.table(RATE_HEADS, rate_rows(one.figures))
        rows = list(verdict_rows(one.verdicts))
        if rows:
            console.table(VERDICT_HEADS, rows[:_SHOWN])
        if len(rows) > _SHOWN:
            console.say(f"and {len(rows) - _SHOWN} more; --json has all")
