"""`harness record`: a task, a plan and evaluators, from what a person does."""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api import ExitCode
from harness.api.command_line import add_own_settings
from harness.errors import ConfigError

if TYPE_CHECKING:
    from harness.api.terminal import Terminal
    from harness.plugins.record.recording import Recorded

HELP = "make a task from what you do in a browser, with evaluators, a plan that replays, and checks against gaming"
EXAMPLE = "harness record http://shop.localhost/ --intent 'What does the Storm Lantern cost?' --out lantern"
_MOST_TRIALS = 100
_OURS = frozenset("task agent agent._target_ trials run.root run.id run.dry run.fork".split())
"""Settings that a recording needs as they are."""
_MOST_SHOWN = 3
"""Proposals that were not chosen, in the terminal."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "of", metavar="URL|TASKS", help="address on one of your sites, or a task file with the task to record"
    )
    add_own_settings(parser, "your settings, as for run.py: sites=…, browser.…; agent.legend=true lists elements")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="new folder, or one of a recording")
    parser.add_argument("--intent", metavar="TEXT", help="of an address: what is asked, as an agent will be told")
    parser.add_argument("--id", default="0", metavar="ID", help="of an address: id of the new task (default: 0)")
    parser.add_argument(
        "--login", action="append", default=[], metavar="SITE", help="of an address: log in there first; repeatable"
    )
    parser.add_argument("--task", metavar="ID", help="of a task file with several: which one")
    parser.add_argument(
        "--random", type=int, default=3, metavar="N", help="trials of agent=random that must not pass (default: 3)"
    )
    parser.add_argument(
        "--play-audit", action="store_true", help="play harness audit's exploits on the sites (default: without)"
    )


def run(options: argparse.Namespace) -> int:
    from harness.api.terminal import Terminal
    from harness.plugins.record.recording import record
    from harness.plugins.record.stages import Stopped

    _check(options)
    console = Terminal(highlight=False)
    try:
        recorded = record(options, console.say)
    except (Stopped, KeyboardInterrupt):
        console.say("stopped; the same command goes on")
        return ExitCode.INTERRUPTED
    return _say(recorded, options.out, console)


def _check(options: argparse.Namespace) -> None:
    from harness.plugins.record.draft import is_address

    is_url = is_address(options.of)
    if is_url and not (options.intent or "").strip():
        raise ConfigError("--intent is missing: what should an agent be asked to do from this address?")
    given = {"--intent": options.intent, "--login": options.login, "--id": options.id != "0"}
    if not is_url and (wrong := next((name for name, value in given.items() if value), None)):
        raise ConfigError(
            f"{wrong} is for an address; {options.of[:80]!r} does not begin with http:// or https://, and the task of a"
            " file says it already"
        )
    if is_url and options.task is not None:
        raise ConfigError("--task is for a task file; give an address its id with --id")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", options.id, re.ASCII):
        raise ConfigError(f"--id {options.id[:64]!r} cannot name a file; use letters, digits, '.', '_' and '-'")
    for one in options.overrides:
        if (key := one.lstrip("+~").partition("=")[0]) in _OURS or key.startswith("task."):
            raise ConfigError(f"{key[:60]} is set by harness record itself; leave it out")
    if not 1 <= options.random <= _MOST_TRIALS:
        raise ConfigError(f"--random {options.random} is out of range; give 1 to {_MOST_TRIALS} trials")


def _say(recorded: "Recorded", out: Path, console: "Terminal") -> int:
    shown = 0
    for one in recorded.proposals:
        shown += not one.chosen
        if one.chosen or shown <= _MOST_SHOWN:
            console.say(f"{'judged by' if one.chosen else 'not used '}  {one.kind}: {one.why}")
    if shown > _MOST_SHOWN:
        console.say(f"{shown - _MOST_SHOWN} more that are not used are in {out / 'proposals.json'}")
    for check in recorded.checks:
        word = {True: "holds", False: "FAILS", None: "not known"}[check.holds]
        console.say(f"{check.name:14} {word:10} {check.said}")
    if recorded.why_not:
        console.say(f"not accepted: {recorded.why_not}")
        return ExitCode.BELOW
    if all(check.holds for check in recorded.checks):
        console.say(f"accepted: {out / 'task.json'}, with its plan in {out / 'plan.json'}")
        return ExitCode.DONE
    console.say(f"not accepted: edit eval in {out / 'task.json'} and give the same command, which checks it again")
    return ExitCode.BELOW if any(check.holds is False for check in recorded.checks) else ExitCode.UNSCORED
