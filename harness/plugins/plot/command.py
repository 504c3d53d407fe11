"""`harness plot`: figures of runs as SVG and PNG files."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_scoring, open_runs, say_left_out
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.plugins.plot.figures import Plot

HELP = "draw figures of runs as SVG and PNG: success by step budget, site and template, cost, time, tokens, reliability"
EXAMPLE = "harness plot results/demo-prompt-scripted results/demo-null-none --out figures"
NAMES = (
    *("success_by_steps", "cost_and_success", "effort_by_step"),
    *("reliability", "success_by_site", "success_by_template"),
)
_MOST_RUNS = 14
"""Colours, line styles and markers tell so many apart."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders or bundles")
    parser.add_argument(
        "--out", type=Path, default=Path("plots"), metavar="DIR", help="where to write (default: plots)"
    )
    parser.add_argument(
        "--figure", action="append", choices=NAMES, metavar="NAME", help=f"only this one: {', '.join(NAMES)}"
    )
    parser.add_argument("--json", action="store_true", help="print what would be drawn as JSON, and draw nothing")
    add_scoring(parser, "scoring to use for all runs (default: that of the first)")


def run(options: argparse.Namespace) -> int:
    from contextlib import ExitStack

    from harness.plugins.plot.figures import PLOTS, Named

    if len(options.runs) > _MOST_RUNS:
        raise ConfigError(f"{len(options.runs)} runs are too many to be told apart; give at most {_MOST_RUNS}")
    with ExitStack() as closing:
        opened = open_runs(options.runs, closing, scoring=options.scoring)
        named = [Named(name, one) for name, (_, one) in zip(_names(options.runs), opened, strict=True)]
        wanted = options.figure or NAMES
        plots = [(name, PLOTS[name](named)) for name in NAMES if name in wanted]
        for path, of in zip(options.runs, named, strict=True):
            say_left_out(path, of.run)
        _write(options, [plot for _, plot in plots if plot is not None])
    for name in (name for name, plot in plots if plot is None):
        sys.stderr.write(f"harness: {name}: {_NOTHING[name]}\n")
    return ExitCode.UNSCORED if any(of.run.damaged for of in named) else ExitCode.DONE


_NOTHING = {
    "success_by_steps": "no episode has a step",
    "effort_by_step": "no episode has a step",
    "reliability": "no task has several scored trials; trials=5 plays them",
    "success_by_site": "no episode is of a site",
    "success_by_template": "no intent template has several episodes",
}
"""Why a figure is not drawn."""


def _names(paths: Sequence[Path]) -> list[str]:
    """Of the folders or bundles, with their paths where two have the same."""
    names = [path.resolve().name.removesuffix(".cairn") for path in paths]
    return [str(path) if names.count(name) > 1 else name for name, path in zip(names, paths, strict=True)]


def _write(options: argparse.Namespace, plots: "Sequence[Plot]") -> None:
    from harness.runs import escaped, one_line

    if options.json:
        from harness.api import dumps

        sys.stdout.write(escaped(dumps(plots, pretty=True).decode()) + "\n")
        return
    from harness.errors import StorageError
    from harness.plugins.plot.drawing import drawn

    files = [(f"{plot.name}.{ending}", data) for plot in plots for ending, data in drawn(plot).items()]
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, data in files:
            (options.out / name).write_bytes(data)
            sys.stdout.write(f"{one_line(str(options.out / name))}\n")
    except OSError as error:
        raise StorageError(f"{options.out} cannot be written to ({error.strerror}); give a folder of yours") from error
