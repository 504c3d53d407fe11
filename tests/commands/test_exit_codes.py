"""What the documentation says commands end with is what they end with."""

import ast
import re
from pathlib import Path

import pytest

from harness.cli import configured
from harness.config.config_tree import saved
from harness.errors import ExitCode
from harness.main import COMMANDS, main
from tests.reports.runs import Shape, fill

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs/pages/index.md").read_text()
MEANINGS = re.findall(r"^\| (\d+) \| .+ \|$", PAGE, re.MULTILINE)
ROWS = {
    name: (frozenset(ExitCode(int(code)) for code in re.findall(r"\b\d+\b", codes)), codes)
    for name, codes in re.findall(r"^\| `harness ([\w-]+)` \| .+ \| ([^|]+) \|$", PAGE, re.MULTILINE)
}
"""Command to its codes, and to what the page says of them."""


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


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    """A run, and one whose first journal is damaged."""
    good, damaged = (fill(tmp_path / name, [Shape(), Shape()]) for name in ("good", "damaged"))
    path = damaged / "0.traj.jsonl"
    path.write_bytes(path.read_bytes().replace(b"step by step", b"step by stop", 1))
    for folder in (good, damaged):
        (folder / "config.yaml").write_text(saved(configured(["task=smoke"]).tree()))
    return good, damaged


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "line",
    [
        "report RUN",
        "compare GOOD RUN",
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
