"""The examples of docs/examples/agents: at most 40 lines each, and each plays 15 demo tasks with its own packages."""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.plugins.process_agent.shipped_agents import AGENTS, is_current
from tests.e2e.conftest import PROJECT, Start

EXAMPLES = sorted(path for path in (PROJECT / "docs" / "examples" / "agents").iterdir() if path.is_file())

pytestmark = [pytest.mark.browser, pytest.mark.integration]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One agent, and what is known of it before it plays."""

    agent: str
    interface: str
    """Of its requests to the model."""
    overrides: tuple[str, ...] = ()


PLAYED = {
    "browser_use_agent.py": Example(agent="browser-use", interface="chat"),
    "mcp_loop.py": Example(agent="mcp-loop", interface="messages"),
    "openai_agents.py": Example(agent="openai-agents", interface="responses", overrides=("llm.api=responses",)),
    "playwright_mcp.py": Example(agent="playwright-mcp", interface="chat"),
    "tool_loop.py": Example(agent="tool-loop", interface="chat"),
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short(example: Path) -> None:
    assert example.read_text().count("\n") <= 40


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_gives_no_token_as_an_argument(example: Path) -> None:
    """Arguments are in the process list, which everybody on the machine sees; variables are not."""
    lists = [node for node in ast.walk(ast.parse(example.read_text())) if isinstance(node, ast.List)]
    held = {leaf.value for one in lists for leaf in ast.walk(one) if isinstance(leaf, ast.Constant)}
    assert not held & {"CAIRN_CDP_URL", "CAIRN_TOKEN"}


def test_every_example_is_played_and_can_be_installed() -> None:
    assert {path.name for path in EXAMPLES} == PLAYED.keys()
    assert {example.agent for example in PLAYED.values()} == AGENTS.keys()


_ACTION = re.compile(
    r"(click|double-click|check|uncheck|focus|clear|select '.+' in|type ('.+'|a password) into|drag .+ onto) .*'.+'"
    r"|(press|goto|open|close|switch|go|scroll|hover|reload)\b.*"
)
"""How the steps of an agent that drives the browser are told: with the element, and with what was typed or chosen."""


def check_installed(example: Example) -> None:
    """Skip a test whose packages are missing."""
    if not is_current(example.agent):
        pytest.skip(f"harness agents install {example.agent} was not run, or cannot install it")


def lines_of(done: Start) -> list[dict[str, Any]]:
    return [json.loads(line) for path in done.folder.glob("*.traj.jsonl") for line in path.read_bytes().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["browser_use_agent.py", "playwright_mcp.py"])
def test_steps_in_a_browser_of_its_own_name_element_and_value(start: Callable[..., Start], name: str) -> None:
    example = PLAYED[name]
    check_installed(example)
    done = start(f"agent={example.agent}", "llm=scripted", "task.ids=['0','2']")
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
    chosen = (f"agent={example.agent}", "llm=scripted", "task.limit=15", *example.overrides)
    done = start(*chosen)
    assert done.code == 0, done.err
    assert (done.summary["passed"], done.summary["divergences"]) == (15, 0)
    lines = lines_of(done)
    assert {line["interface"] for line in lines if line["kind"] == "asked"} == {example.interface}
    # None = on a busy machine it was ended before it had left by itself.
    assert {0} <= {line["code"] for line in lines if line["kind"] == "exited"} <= {0, None}
