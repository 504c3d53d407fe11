"""The examples of docs/examples/agents: at most 40 lines each, and each plays 15 demo tasks with its own packages."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PROJECT, Start

ENVIRONMENTS = PROJECT / ".venv-agents"
EXAMPLES = sorted(path for path in (PROJECT / "docs" / "examples" / "agents").iterdir() if path.is_file())

pytestmark = [pytest.mark.browser, pytest.mark.integration]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One agent, and what is known of it before it plays."""

    environment: str
    """Its folder of `.venv-agents`."""
    interface: str
    """Of its requests to the model."""
    agent: str = "process"
    server: str = ""
    """A folder of `.venv-agents` whose server it starts."""
    overrides: tuple[str, ...] = ()

    def command(self, name: str) -> list[str]:
        """The program, and what it is given."""
        python = ENVIRONMENTS / self.environment / "bin" / "python"
        script = PROJECT / "docs" / "examples" / "agents" / name
        server = [str(ENVIRONMENTS / self.server / "node_modules" / ".bin" / self.server)] if self.server else []
        return [str(python), str(script), *server]


PLAYED = {
    "browser_use_agent.py": Example(agent="browser-use", environment="browser-use", interface="chat"),
    "mcp_loop.py": Example(environment="clients", interface="messages"),
    "openai_agents.py": Example(environment="openai-agents", interface="responses", overrides=("llm.api=responses",)),
    "playwright_mcp.py": Example(
        agent="playwright-mcp", environment="clients", server="playwright-mcp", interface="chat"
    ),
    "tool_loop.py": Example(environment="clients", interface="chat"),
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short(example: Path) -> None:
    assert example.read_text().count("\n") <= 40


def test_every_example_is_played() -> None:
    assert {path.name for path in EXAMPLES} == PLAYED.keys()


_ACTION = re.compile(
    r"(click|double-click|check|uncheck|focus|clear|select '.+' in|type ('.+'|a password) into|drag .+ onto) .*'.+'"
    r"|(press|goto|open|close|switch|go|scroll|hover|reload)\b.*"
)
"""How the steps of an agent that drives the browser are told: with the element, and with what was typed or chosen."""


def check_installed(example: Example) -> None:
    """Skip a test whose packages are missing."""
    for folder in filter(None, (example.environment, example.server)):
        if not (ENVIRONMENTS / folder / "installed").exists():
            pytest.skip(f"make test-agents has not installed {folder}, or cannot install it")


def lines_of(done: Start) -> list[dict[str, Any]]:
    return [json.loads(line) for path in done.folder.glob("*.traj.jsonl") for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("name", ["browser_use_agent.py", "playwright_mcp.py"])
def test_steps_in_a_browser_of_its_own_name_element_and_value(start: Callable[..., Start], name: str) -> None:
    example = PLAYED[name]
    check_installed(example)
    command = f"agent.command=[{','.join(example.command(name))}]"
    done = start(f"agent={example.agent}", command, "llm=scripted", "task.ids=['0','2']", timeout_s=600)
    assert done.code == 0, done.err
    titles = [line["title"] for line in lines_of(done) if line["kind"] == "landed"]
    assert titles and [title for title in titles if not _ACTION.fullmatch(title)] == []
    assert {"type 'Storm Lantern' into 'Search products'", "type '2' into 'Quantity'"} <= set(titles)
    shown = done.folder / "report" / "tasks" / "2.html"
    assert "Quantity&#39;" in shown.read_text() or "'Quantity'" in shown.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_an_example_plays_and_is_scored_like_any_agent(start: Callable[..., Start], name: str) -> None:
    example = PLAYED[name]
    check_installed(example)
    command = f"agent.command=[{','.join(example.command(name))}]"
    chosen = (f"agent={example.agent}", command, "llm=scripted", "task.limit=15", *example.overrides)
    done = start(*chosen, timeout_s=900)
    assert done.code == 0, done.err
    assert (done.summary["passed"], done.summary["divergences"]) == (15, 0)
    lines = lines_of(done)
    assert {line["interface"] for line in lines if line["kind"] == "asked"} == {example.interface}
    assert {line["code"] for line in lines if line["kind"] == "exited"} == {0}
