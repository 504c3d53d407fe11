"""`harness policies`: what became of the policies of tasks, judged from the journals of runs, without a browser."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_scoring, open_runs, say_left_out, write_further_page
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.api.terminal import Terminal
    from harness.plugins.policies.figures import Figures, Judged
    from harness.plugins.policies.policy import Policy
    from harness.runs import Run

HELP = "say which policies of their tasks agents kept, violated, or may have violated, and at which step"
EXAMPLE = "harness policies results/demo-prompt-scripted --fail-under 0.8"
_SHOWN = 200


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders or bundles, side by side")
    parser.add_argument(
        "--tasks",
        type=Path,
        metavar="FILE",
        help="judge by the policies of the tasks in this file (default: those that the run was played with)",
    )
    parser.add_argument("--fail-under", type=float, metavar="SHARE", help="exit with 1 if a CuP is below this (0 to 1)")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page, with screenshots of violations")
    add_scoring(parser, "scoring to use for all runs (default: that of the first)")


@dataclass(frozen=True, slots=True)
class Reading:
    """A run and what became of its policies."""

    name: str
    run: "Run"
    judged: "Sequence[Judged]"
    figures: "Figures"
    is_whole: bool


def run(options: argparse.Namespace) -> int:
    from harness.plugins.policies.figures import figures_of, judge_run
    from harness.runs import escaped

    if options.fail_under is not None and not 0 <= options.fail_under <= 1:
        raise ConfigError(f"--fail-under {options.fail_under:g} is not a share; give a number from 0 to 1")
    found = list[Reading]()
    with ExitStack() as closing:
        for name, one in open_runs(options.runs, closing, scoring=options.scoring):
            judged, without, missing = judge_run(one, _given(options.tasks, one) if options.tasks else None)
            say_left_out(name, one)
            found.append(Reading(name, one, judged, figures_of(judged, without, missing), not one.damaged))
        if bare := [str(path) for path, one in zip(options.runs, found, strict=True) if not one.judged]:
            raise ConfigError(
                f"no task of {', '.join(bare)} has policies; give --tasks FILE, or play tasks that have `policies`"
            )
        if options.html:
            from harness.plugins.policies.report import TEMPLATES, page_of

            write_further_page(options.html, TEMPLATES, "policies.html", **page_of(found, options.html))
    if options.json:
        from harness.api import dumps
        from harness.plugins.policies.report import as_data

        sys.stdout.write(escaped(dumps([as_data(one) for one in found], pretty=True).decode()) + "\n")
    elif options.markdown:
        from harness.plugins.policies.report import markdown

        sys.stdout.write(markdown(found))
    else:
        from harness.api.terminal import Terminal

        _print(Terminal(highlight=False), found)
    return _exit_code(found, options.fail_under)


def _exit_code(found: Sequence[Reading], fail_under: float | None) -> ExitCode:
    """What is unknown may be all that is wrong: as the ordinary rate, CuP is given the benefit of it."""
    from harness.runs.measures import is_below

    low = [one.name for one in found if fail_under is not None and is_below(one.figures.cup_at_most, fail_under)]
    for name in low:
        sys.stderr.write(f"harness: {name}: the CuP is below {fail_under:g}\n")
    if low:
        return ExitCode.BELOW
    is_known = all(
        one.is_whole and not (one.figures.overall.unknown or one.figures.unscored or one.figures.missing)
        for one in found
    )
    return ExitCode.DONE if is_known else ExitCode.UNSCORED


def _given(path: Path, run: "Run") -> "Mapping[str, tuple[Policy, ...]]":
    """The policies of a task file, by the id of the task, with the addresses that the sites had in the run.

    Raises:
        TaskError: The file, a task or a policy is wrong.
        ConfigError: No task of the file has any.
    """
    from harness.api.tasks import Fields, expand, read_task_file
    from harness.plugins.policies.policy import KEY, read_policies

    bases = _addresses(run)
    found = {
        entry.task_id: read_policies(Fields(entry.place, expand(entry.place, {KEY: entry.fields[KEY]}, bases)))
        for entry in read_task_file(path)
        if entry.fields.get(KEY)
    }
    if not found:
        raise ConfigError(f"{path}: no task has policies; give a task file whose tasks have `policies`")
    return found


def _addresses(run: "Run") -> Mapping[str, str]:
    """Site to the address at which it was shown, by the settings in the folder; where there are none, of no site."""
    from harness.api.configuration import read_recorded, recorded_address, recorded_sites

    try:
        sites = recorded_sites(read_recorded(run.folder))
    except ConfigError:
        return {}
    return {name: address for name, site in sites.items() if (address := recorded_address(site)) is not None}


def _print(console: "Terminal", found: Sequence[Reading]) -> None:
    from harness.plugins.policies.report import (
        RISK_HEADS,
        VERDICT_HEADS,
        figure_rows,
        headline,
        risk_rows,
        verdict_rows,
    )

    for one in found:
        console.say(f"{one.name}: {headline(one.figures)}")
    console.table(("", *(one.name for one in found)), figure_rows([one.figures for one in found]))
    for one in found:
        if len(found) > 1:
            console.say(one.name)
        console.table(RISK_HEADS, risk_rows(one.figures))
        rows = list(verdict_rows(one.judged))
        if rows:
            console.table(VERDICT_HEADS, rows[:_SHOWN])
        if len(rows) > _SHOWN:
            console.say(f"and {len(rows) - _SHOWN} more; --json has all")
