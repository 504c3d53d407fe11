"""`harness fork`: a new run whose episodes begin with steps that another run recorded."""

import argparse
from pathlib import Path

from harness.commands.own_settings import quoted

HELP = "go on from a recorded step with other settings, in a new run folder; the steps before are not paid for again"
EXAMPLE = "harness fork results/demo-prompt-scripted/12@2 llm.model=other"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("step", metavar="RUN@STEP", help="run folder and step; RUN/TASK@STEP for one task")
    parser.add_argument(
        "overrides", nargs="*", metavar="KEY=VALUE", help="settings, as for harness run; give those of the run, too"
    )
    parser.add_argument("--trials", type=int, metavar="K", help="as trials=K: so many episodes of each task")
    parser.add_argument("-m", "--multirun", action="store_true", help="one fork per value, as in run -m")
    parser.add_argument("--config-dir", metavar="DIR", help="folder of your own configurations, as for run.py")


def run(options: argparse.Namespace) -> int:
    from harness.cli import run as evaluate

    overrides = list(options.overrides)
    if options.trials is not None:
        overrides.append(f"trials={options.trials}")
    if not any(override.startswith("run.id=") for override in overrides):
        name = quoted(f"{_name(options.step)}-${{agent.name}}-${{slug:${{llm.model}}}}")
        overrides.append(f"run.id={name}")
    further = [f"--config-dir={options.config_dir}"] if options.config_dir else []
    options_first = [*(["-m"] if options.multirun else []), *further]
    return evaluate([*options_first, f"run.fork={quoted(options.step)}", *overrides], program="harness fork")


def _name(step: str) -> str:
    """The first part of the folder's name: whose fork it is, of which task, at which step."""
    from harness.config import slug
    from harness.evaluation.forks import names_task

    path, _, number = step.rpartition("@")
    parts = Path(path).resolve()
    named = f"{parts.parent.name}-fork-{parts.name}" if names_task(parts) else f"{parts.name}-fork"
    return slug(f"{named}-{number}")
