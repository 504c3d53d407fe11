"""What the documentation says commands end with is what they end with."""

import ast
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import configured
from harness.config.config_tree import saved
from harness.errors import ExitCode
from harness.evaluation.builder import load_tasks
from harness.journal.store import RunFolder
from harness.main import COMMANDS, main
from tests.reports.runs import Shape, fill
from tests.scored_runs import play, scored

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/pages/index.md").read_text()
MEANINGS = re.findall(r"^\| (\d+) \| .+ \|$", PAGE, re.MULTILINE)
ROWS = {
    name: (frozenset(ExitCode(int(code)) for code in re.findall(r"\b\d+\b", codes)), codes)
    for name, codes in re.findall(r"^\| `harness ([\w-]+)` \| .+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
}
"""Command to its codes, and to what the page says of them."""


Command = Callable[..., subprocess.CompletedProcess[str]]


def test_the_page_explains_every_exit_code_once() -> None:
    assert [ExitCode(int(code)) for code in MEANINGS] == list(ExitCode)
    assert ROWS.keys() == {"run", *COMMANDS.shipped()}
    assert ROWS["run"][0] == set(ExitCode)


@pytest.mark.parametrize("name", COMMANDS.shipped())
def test_a_command_names_no_exit_code_the_page_does_not_give_it(name: str) -> None:
    source = ast.parse((PROJECT / f"{COMMANDS.shipped()[name].replace('.', '/')}.py").read_bytes())
    named = {
        ExitCode[node.attr]
        for node in ast.walk(source)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "ExitCode"
    }
    codes, _ = ROWS[name]
    told_by_main = {ExitCode.USAGE, ExitCode.UNSCORED}
    assert named <= codes <= named | told_by_main


@pytest.mark.slow
def test_a_retry_that_a_budget_stops_is_unfinished(harness: Command, tmp_path: Path) -> None:
    (task,) = load_tasks(configured(["task=demo", "task.ids=[0]"]))
    with RunFolder.open(tmp_path / "results" / "spent") as run:
        play(run, task, "no answer", scored("webarena", 0.0), scored("corrected", 0.0))
    chosen = ("run", "task=demo", "task.ids=[0]", "run.id=spent", "run.report=false", "executor=inline")
    line = (*chosen, "resume.accept_drift=true", "run.max_working_s=0.001")
    done = harness(*line)
    assert done.returncode == 0, "nothing is pending, so there is nothing to stop"
    stopped = harness(*line, "run.retry=failed")
    assert stopped.returncode == 3
    said = "1 not tried again: run.max_working_s=0.001 is reached; raise it and run the same command to continue"
    assert said in stopped.stdout


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """A run, and one whose first journal is damaged."""
    good, damaged = (fill(tmp_path / name, [Shape(), Shape()]) for name in ("good", "damaged"))
    path = damaged / "0.traj.jsonl"
    path.write_bytes(path.read_bytes().replace(b"step by step", b"step by stop", 1))
    for folder in (good, damaged):
        (folder / "config.yaml").write_text(saved(configured(["task=smoke"]).tree()))
    return good, damaged


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "line",
    [
        "report RUN",
        "compare GOOD RUN",
        "show RUN",
        "show RUN 0",
        "plan task=smoke --from RUN",
        "score RUN",
        "export csv RUN",
        "clean RUN --dry-run",
        "replay RUN/0.traj.jsonl",
    ],
)
def test_a_run_that_is_damaged_or_not_there_ends_a_command_as_the_page_says(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str], line: str
) -> None:
    good, damaged = runs

    def end(run: Path) -> int:
        return main(line.replace("GOOD", str(good)).replace("RUN", str(run)).split())

    _, said = ROWS[line.partition(" ")[0]]
    assert end(damaged) == (ExitCode.UNSCORED if "damaged" in said else ExitCode.DONE), capsys.readouterr()
    assert end(damaged.with_name("nowhere")) == ExitCode.USAGE
