"""The scripts are run by the shells they are for."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.main import _parser
from harness.plugins.completion.command import _commands

PROJECT = Path(__file__).resolve().parents[3]
Command = Callable[..., subprocess.CompletedProcess[str]]
ASK = """
source "$1"
COMP_LINE="$2" COMP_POINT=${#2}
IFS=' ' read -r -a COMP_WORDS <<< "${2//=/ = }"
[[ $2 == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_harness
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(harness: Command, tmp_path: Path) -> Callable[[str], set[str]]:
    """What bash offers after a line as it was typed so far."""
    script = tmp_path / "completion.bash"
    script.write_text(harness("completion", "bash").stdout)

    def ask(line: str) -> set[str]:
        done = subprocess.run(
            ["bash", "-c", ASK, "bash", str(script), line], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert done.stderr == ""
        return set(done.stdout.split())

    return ask


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("harness sh", {"show"}),
        ("harness co", {"compare", "completion"}),
        ("harness completion ", {"-h", "--help", "bash", "zsh"}),
        ("harness clean --d", {"--dry-run"}),
        ("harness run llm=open", {"openai", "openrouter"}),
        ("harness doctor task", {f"task={path.stem}" for path in (PROJECT / "configs" / "task").glob("*.yaml")}),
        ("harness show task", set()),
    ],
)
def test_bash_completes(complete: Callable[[str], set[str]], line: str, offered: set[str]) -> None:
    assert complete(line) == offered


def test_every_command_that_takes_settings_completes_them() -> None:
    words = {name: words for name, (_, words) in _commands(_parser("completion"))}
    given = {name for name in words if "llm=openai" in words[name]}
    assert given >= {"run", "doctor", "plan", "replay", "score", "fork", "serve", "audit"}
    assert not given & {"show", "compare", "completion", "attribute"}


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_its_script(harness: Command, tmp_path: Path) -> None:
    script = tmp_path / "_harness"
    script.write_text("autoload -Uz compinit; compinit -u -D\n" + harness("completion", "zsh").stdout)
    done = subprocess.run(["zsh", "-f", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_shell_is_refused(harness: Command) -> None:
    assert harness("completion", "fish").returncode == 2
