"""Process agents whose scripts come with Cairn: what they need, and where that is installed.

Each has a separate environment (virtual environment, node modules) in the user's data folder. What is installed
there changes nothing of the environment that runs Cairn. `agent.command` names both places without their paths, so
that settings are the same on every machine: `{agents}` is the folder of the environments, `{examples}` that of the
scripts.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from harness.api.configuration import PROJECT
from harness.errors import ConfigError

ENVIRONMENTS, SCRIPTS = "{agents}", "{examples}"
_MARK = "installed.txt"
"""In an environment that is complete: what was installed."""
_PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input")
_NPM = ("--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel", "error")
_INSTALL_S = 1800


@dataclass(frozen=True, slots=True, kw_only=True)
class ShippedAgent:
    """What is installed for `agent=NAME`."""

    about: str
    python: tuple[str, ...]
    """Requirements, for pip."""
    node: tuple[str, ...] = ()
    """Packages, for npm."""

    @property
    def wanted(self) -> tuple[str, ...]:
        return (*self.python, *self.node)


_OPENAI, _MCP = "openai==3.52.0", "mcp==2.3.0"
AGENTS: Mapping[str, ShippedAgent] = MappingProxyType(
    {
        "browser-use": ShippedAgent(about="browser-use, over CDP", python=("browser-use==0.13.14",)),
        "playwright-mcp": ShippedAgent(
            about="a tool loop with Playwright's MCP server, over CDP",
            python=(_OPENAI, _MCP),
            node=("@playwright/mcp@0.0.83",),
        ),
        "openai-agents": ShippedAgent(about="OpenAI's Agents SDK, with MCP", python=("openai-agents==0.24.0",)),
        "mcp-loop": ShippedAgent(
            about="a tool loop with Anthropic's client, with MCP", python=("anthropic==2.12.0", _MCP)
        ),
        "tool-loop": ShippedAgent(about="a tool loop with OpenAI's client, plain calls", python=(_OPENAI,)),
    }
)
"""By name of the choice of `agent`. The scripted endpoint reads what these versions show a model."""


def agents_folder() -> Path:
    """Where the environments are: `CAIRN_AGENTS`, or in the user's data folder (XDG Base Directory Specification)."""
    if own := os.environ.get("CAIRN_AGENTS"):
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if base.startswith("/") else Path("~/.local/share").expanduser()) / "cairn" / "agents"


def placed_command(command: Sequence[str]) -> tuple[str, ...]:
    """A command with the places that it names.

    Raises:
        ConfigError: It names the environment of an agent that is not installed.
    """
    folder = agents_folder()
    for part in command:
        if not part.startswith(f"{ENVIRONMENTS}/"):
            continue
        if (name := part.split("/")[1]) not in AGENTS:
            raise ConfigError(f"agent.command: {part[:200]} names no shipped agent; choose from {', '.join(AGENTS)}")
        if not is_installed(name):
            raise ConfigError(f"the agent {name} is not installed; run `harness agents install {name}`")
    places = {ENVIRONMENTS: str(folder), SCRIPTS: str(PROJECT / "docs" / "examples" / "agents")}
    return tuple(_placed(part, places) for part in command)


def _placed(part: str, places: Mapping[str, str]) -> str:
    name, slash, rest = part.partition("/")
    return f"{places[name]}/{rest}" if slash and name in places else part


def is_installed(name: str) -> bool:
    return (agents_folder() / name / _MARK).is_file()


def is_current(name: str) -> bool:
    """Whether what is installed is what this version of Cairn names."""
    try:
        return (agents_folder() / name / _MARK).read_text("utf-8").split() == list(AGENTS[name].wanted)
    except OSError:
        return False


def install_agent(name: str) -> None:
    """Make the environment of an agent anew.

    Raises:
        ConfigError: A package cannot be installed; nothing is left of the environment.
    """
    agent, folder = AGENTS[name], agents_folder() / name
    remove_agent(name)
    try:
        npm = shutil.which("npm")
        if agent.node and npm is None:
            raise ConfigError(f"{name} needs npm, which is not installed; install Node.js, then run this again")
        folder.parent.mkdir(parents=True, exist_ok=True)
        _run(name, [sys.executable, "-m", "venv", str(folder)], "the virtual environment cannot be made")
        pip = [str(folder / "bin" / "python"), *_PIP, *agent.python]
        _run(name, pip, f"{' '.join(agent.python)} cannot be installed")
        if npm is not None and agent.node:
            node = [npm, "install", "--prefix", str(folder), *_NPM, *agent.node]
            _run(name, node, f"{' '.join(agent.node)} cannot be installed")
        (folder / _MARK).write_text("".join(f"{one}\n" for one in agent.wanted), "utf-8")
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be written: {error.strerror}; set CAIRN_AGENTS to a folder that you may write to"
        ) from error
    finally:
        if not is_installed(name):
            shutil.rmtree(folder, ignore_errors=True)


def remove_agent(name: str) -> bool:
    """Delete the environment of an agent; whether there was one.

    Raises:
        ConfigError: It cannot be deleted.
    """
    folder = agents_folder() / name
    try:
        (folder / _MARK).unlink(missing_ok=True)  # first, so that half an environment is never taken for a whole one
        shutil.rmtree(folder)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ConfigError(f"{folder} cannot be deleted: {error.strerror}; delete it by hand") from error
    return True


def _run(name: str, command: Sequence[str], fault: str) -> None:
    """Run an installer; what it says is shown only if it fails, and then only its last line.

    Raises:
        ConfigError: It fails.
    """
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_INSTALL_S, check=False, env=_clean()
        )
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{name}: {fault} within {_INSTALL_S} s; see whether the network works, then again") from None
    if done.returncode:
        said = [line.strip() for line in (done.stderr or done.stdout).decode("utf-8", "replace").splitlines()]
        faults = [line for line in said if "error" in line.lower()] or list(filter(None, said)) or ["no reason given"]
        raise ConfigError(f"{name}: {fault}: {faults[-1][:300]}; see whether the network works, then run this again")


def _clean() -> dict[str, str]:
    """Our environment without what would lead an installer to another Python."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET")}
