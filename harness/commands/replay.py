"""`harness replay`: performs a recorded episode again in a real browser and compares the pages."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.own_settings import add_own_settings
from harness.errors import ConfigError, ExitCode

if TYPE_CHECKING:
    from harness.config import Config
    from harness.records import Episode

HELP = "replay a recorded episode, and report the page similarity of each step"
EXAMPLE = "harness replay results/demo-prompt-scripted/12.traj.jsonl --headed --slow-mo 500"
SLOWEST_MS = 60_000


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", type=Path, help="RUN/TASK.traj.jsonl; its latest attempt is replayed")
    add_own_settings(
        parser,
        "your own settings, as for run.py (sites=webarena, browser.executable=…); addresses, logins and"
        " programs of a run folder are not used",
    )
    parser.add_argument("--headed", action="store_true", help="show the browser")
    parser.add_argument("--slow-mo", type=float, default=0.0, metavar="MS", help="wait this long before each input")


def run(options: argparse.Namespace) -> int:
    import asyncio

    from harness.actions import Cdp
    from harness.journal.log import read
    from harness.journal.names import JOURNAL_SUFFIX, check_name

    is_folder = options.journal.is_dir() and not options.journal.name.endswith(JOURNAL_SUFFIX)  # else it is damage
    if is_folder or (not options.journal.exists() and not options.journal.is_symlink()):
        raise ConfigError(f"{options.journal} is not a file; give a journal, RUN/TASK.traj.jsonl")
    if not 0 <= options.slow_mo <= SLOWEST_MS:
        raise ConfigError(f"--slow-mo {options.slow_mo:g} is out of range; give milliseconds from 0 to {SLOWEST_MS}")
    episode = read(options.journal)
    if episode.opened is not None:
        check_name(options.journal, episode.opened.task.task_id, episode.opened.trial)
    if any(isinstance(step.decided.action, Cdp) for step in episode.steps):
        raise ConfigError(
            f"{options.journal} cannot be replayed: its agent drove the browser itself (agent.browser=cdp), so only the"
            " agent can do that again; `harness show` lists its commands"
        )
    return ExitCode.BELOW if asyncio.run(_tell(_settings(options), episode, options.journal.parent)) else ExitCode.DONE


def _settings(options: argparse.Namespace) -> "Config":
    from dataclasses import replace

    from harness.cli import configured
    from harness.commands.replay_run import as_recorded

    given = {override.lstrip("+~").partition("=")[0] for override in options.overrides}
    config = as_recorded(configured(options.overrides, options.config_dir), options.journal.parent, given)
    return replace(config, browser=replace(config.browser, headless=not options.headed, slow_mo_ms=options.slow_mo))


async def _tell(config: "Config", episode: "Episode", folder: Path) -> int:
    """Print a line per step; returns how many did not come back."""
    from harness.commands.replay_run import replay_episode
    from harness.reports.console import Terminal

    least = config.resume.min_similarity
    console, unfaithful, steps = Terminal(highlight=False), 0, 0
    async for one in replay_episode(config, episode, folder):
        alike = "  -  " if one.similarity is None else f"{one.similarity:5.3f}"
        said = one.note or ("" if one.similarity == 1.0 else "differs")
        console.print(f"{one.step:3}  {alike}  {one.action}{f'  ({said})' if said else ''}", markup=False)
        unfaithful += not one.is_faithful(least)
        steps += 1
    console.print(f"{steps - unfaithful} of {steps} pages reproduced (similarity of at least {least:g})", markup=False)
    return unfaithful
