"""The examples of docs/examples/agents: at most 40 lines each, and each plays 15 demo tasks with its own packages."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
    overrides: tuple[str, ...] = ()


PLAYED = {
    "mcp_loop.py": Example(environment="clients", interface="messages"),
    "openai_agents.py": Example(environment="openai-agents", interface="responses", overrides=("llm.api=responses",)),
    "tool_loop.py": Example(environment="clients", interface="chat"),
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short(example: Path) -> None:
    assert example.read_text().count("\n") <= 40


def test_every_example_is_played() -> None:
    assert {path.name for path in EXAMPLES} == PLAYED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAYED)
def test_an_example_plays_and_is_scored_like_any_agent(start: Callable[..., Start], name: str) -> None:
    example = PLAYED[name]
    environment = ENVIRONMENTS / example.environment
    if not (environment / "installed").exists():
        pytest.skip(f"make test-agents has not installed the packages of {name}, or cannot install them")
    command = f"agent.command=[{environment / 'bin' / 'python'},{PROJECT / 'docs/examples/agents' / name}]"
    done = start("agent=process", command, "llm=scripted", "task.limit=15", *example.overrides, timeout_s=900)
    assert done.code == 0, done.err
    assert (done.summary["passed"], done.summary["divergences"]) == (15, 0)
    lines = [json.loads(line) for path in done.folder.glob("*.traj.jsonl") for line in path.read_bytes().splitlines()]
    assert {line["interface"] for line in lines if line["kind"] == "asked"} == {example.interface}
    assert {line["code"] for line in lines if line["kind"] == "exited"} == {0}
