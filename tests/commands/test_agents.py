"""`harness agents`: environments of their own for the shipped process agents."""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import pytest

from harness.cli import configured
from harness.config import PROJECT
from harness.errors import ConfigError
from harness.evaluation.provenance import packages
from harness.main import main
from harness.plugins.process_agent import shipped_agents
from harness.plugins.process_agent.shipped_agents import ShippedAgent, placed_command

pytestmark = pytest.mark.integration
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where environments are made; pip asks no index."""
    monkeypatch.setenv("CAIRN_AGENTS", str(tmp_path / "agents"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path / "agents"


def wheel(folder: Path) -> str:
    """A package of one module."""
    path, info = folder / "tiny_agent-1.0-py3-none-any.whl", "tiny_agent-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("tiny_agent.py", "NAME = 'tiny'\n")
        packed.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-agent\nVersion: 1.0\n")
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{info}/RECORD", "")
    return str(path)


def known(monkeypatch: pytest.MonkeyPatch, **needs: ShippedAgent) -> None:
    monkeypatch.setattr(shipped_agents, "AGENTS", MappingProxyType(needs))


@pytest.mark.slow
def test_an_agent_is_installed_listed_and_removed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known(monkeypatch, tiny=ShippedAgent(about="nothing", python=(wheel(tmp_path),)))
    before = packages(sys.path)
    with pytest.raises(ConfigError, match="run `harness agents install tiny`"):
        placed_command(["{agents}/tiny/bin/python"])
    assert main(["agents", "install"]) == 0
    (python,) = placed_command(["{agents}/tiny/bin/python"])
    assert python == str(folder / "tiny" / "bin" / "python")
    said = subprocess.run([python, "-c", "import tiny_agent; print(tiny_agent.NAME)"], capture_output=True, check=True)
    assert said.stdout == b"tiny\n"
    assert packages(sys.path) == before, "the run's own environment is as it was"
    capsys.readouterr()
    assert main(["agents", "list", "--installed"]) == 0 and capsys.readouterr().out == "tiny\n"
    assert main(["agents", "remove", "tiny"]) == 0 and not (folder / "tiny").exists()
    assert main(["agents", "list"]) == 0 and "not installed" in capsys.readouterr().out


@pytest.mark.slow
def test_other_versions_are_said_and_replaced(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known(monkeypatch, tiny=ShippedAgent(about="nothing", python=(wheel(tmp_path),)))
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "installed.txt").write_text("tiny-agent==0.9\n")
    assert main(["agents", "list"]) == 0 and "other versions" in capsys.readouterr().out
    assert main(["agents", "install", "tiny"]) == 0
    assert (folder / "tiny" / "bin" / "python").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("needs", "said"),
    [
        (ShippedAgent(about="", python=("no-such-package==1",)), "no-such-package==1 cannot be installed: "),
        (ShippedAgent(about="", python=(), node=("x@1",)), "needs npm, which is not installed; install Node.js"),
    ],
    ids=["pip", "npm"],
)
def test_what_cannot_be_installed_is_one_sentence_and_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], needs: ShippedAgent, said: str
) -> None:
    known(monkeypatch, lost=needs)
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert main(["agents", "install", "lost"]) == 2
    shown = capsys.readouterr().err
    assert said in shown and shown.count("\n") == 1
    assert not folder.exists() or list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_name_that_is_none_is_refused(harness: Command) -> None:
    done = harness("agents", "install", "browser-usee")
    assert done.returncode == 2
    assert "there is no agent 'browser-usee' to install; choose from browser-use, " in done.stderr


@pytest.mark.slow
def test_a_run_without_the_environment_names_the_command(harness: Command, tmp_path: Path) -> None:
    done = harness("run", "agent=browser-use", "run.dry=true", CAIRN_AGENTS=str(tmp_path / "none"))
    assert done.returncode == 2
    assert "the agent browser-use is not installed; run `harness agents install browser-use`" in done.stderr


def test_scripts_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("browser-use", "playwright-mcp", "openai-agents", "mcp-loop", "tool-loop"):
        script = configured([f"agent={name}"]).agent.command[1]
        (placed,) = placed_command([script])
        assert Path(placed).is_file() and Path(placed).parent == PROJECT / "docs" / "examples" / "agents"


def test_runs_from_before_are_measured_the_same() -> None:
    assert configured(["agent=browser-use"]).measured()["agent.command"] == [
        ".venv-agents/browser-use/bin/python",
        "docs/examples/agents/browser_use_agent.py",
    ]
    assert configured(["agent=playwright-mcp"]).measured()["agent.command"] == [
        ".venv-agents/clients/bin/python",
        "docs/examples/agents/playwright_mcp.py",
        ".venv-agents/playwright-mcp/node_modules/.bin/playwright-mcp",
    ]
