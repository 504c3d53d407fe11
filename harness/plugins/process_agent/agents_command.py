"""`harness agents`: installs what the shipped process agents need, each into a separate environment."""

import argparse
import sys

from harness.api.text import flat
from harness.errors import ConfigError, ExitCode

HELP = "install, list or remove what the shipped process agents (agent=browser-use …) need"
EXAMPLE = "harness agents install browser-use"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("list", "install", "remove"), help="what to do")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones; all if none is named")
    parser.add_argument("--installed", action="store_true", help="list: only the names of those that are installed")


def run(options: argparse.Namespace) -> int:
    from harness.plugins.process_agent.shipped_agents import AGENTS

    if unknown := [name for name in options.names if name not in AGENTS]:
        raise ConfigError(f"there is no agent {unknown[0][:80]!r} to install; choose from {', '.join(AGENTS)}")
    if options.installed and options.what != "list":
        raise ConfigError(f"--installed is for harness agents list; leave it out of {options.what}")
    names = options.names or list(AGENTS)
    return {"list": _list, "install": _install, "remove": _remove}[options.what](names, options.installed)


def _list(names: list[str], only_installed: bool) -> int:
    from harness.plugins.process_agent.shipped_agents import AGENTS, agents_folder, is_current, is_installed

    for name in names:
        if only_installed:
            if is_installed(name):
                _say(name)
            continue
        state = "installed" if is_current(name) else "other versions" if is_installed(name) else "not installed"
        _say(f"{name:15} {state:14} {AGENTS[name].about}: {', '.join(AGENTS[name].wanted)}")
    if not only_installed:
        _say(f"in {agents_folder()}")
    return ExitCode.DONE


def _install(names: list[str], _: bool) -> int:
    """Every one is tried; the first fault is the command's."""
    from harness.plugins.process_agent.shipped_agents import agents_folder, install_agent, is_current

    faults: list[ConfigError] = []
    for name in names:
        if is_current(name):
            _say(f"{name} is installed")
            continue
        try:
            install_agent(name)
        except ConfigError as error:
            faults.append(error)
            if len(names) > 1:
                sys.stderr.write(f"harness: {flat(str(error))}\n")
        else:
            _say(f"{name} installed in {agents_folder() / name}: harness run agent={name} llm=openai llm.model=NAME")
    if faults:
        raise faults[0] if len(names) == 1 else ConfigError(f"{len(faults)} of {len(names)} could not be installed")
    return ExitCode.DONE


def _remove(names: list[str], _: bool) -> int:
    from harness.plugins.process_agent.shipped_agents import remove_agent

    for name in names:
        _say(f"{name} {'removed' if remove_agent(name) else 'was not installed'}")
    return ExitCode.DONE


def _say(sentence: str) -> None:
    sys.stdout.write(f"{flat(sentence)}\n")
