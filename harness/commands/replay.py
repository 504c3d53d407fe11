"""`harness replay`: a recorded episode performed again in a real browser, to see where it leads today."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from harness.config import Config
    from harness.records import Episode

HELP = "perform a recorded episode again, and say for each step how much of the recorded page came back"
EXAMPLE = "harness replay results/demo-prompt-scripted/12.traj.jsonl --headed --slow-mo 500"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", type=Path, help="RUN/TASK.traj.jsonl; its newest attempt is performed")
    parser.add_argument("--headed", action="store_true", help="show the browser")
    parser.add_argument("--slow-mo", type=float, default=0.0, metavar="MS", help="wait this long before each input")


def run(options: argparse.Namespace) -> int:
    import asyncio

    from harness.compose.replaying import read_settings
    from harness.config import register
    from harness.journal.log import read

    if not options.journal.is_file():
        raise ConfigError(f"{options.journal} is no file; give a journal, RUN/TASK.traj.jsonl")
    register()
    config = read_settings(options.journal.parent, headed=options.headed, slow_mo_ms=options.slow_mo)
    least = config.resume.min_similarity
    unfaithful = asyncio.run(_tell(config, read(options.journal), least))
    return ExitCode.BELOW if unfaithful else ExitCode.DONE


async def _tell(config: "Config", episode: "Episode", least: float) -> int:
    """Print a line per step; returns how many did not come back."""
    from harness.compose.replaying import replayed
    from harness.reports.terminal import Terminal

    console, unfaithful, steps = Terminal(highlight=False), 0, 0
    async for one in replayed(config, episode):
        alike = "  -  " if one.similarity is None else f"{one.similarity:5.3f}"
        said = one.note or ("" if one.similarity == 1.0 else "differs")
        console.print(f"{one.step:3}  {alike}  {one.action}{f'  ({said})' if said else ''}", markup=False)
        unfaithful += not one.is_faithful(least)
        steps += 1
    console.print(f"{steps - unfaithful} of {steps} pages came back (at least {least:g} alike)", markup=False)
    return unfaithful
