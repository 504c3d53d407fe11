"""Every command explains itself with an example, and saying so loads nothing heavy."""

import subprocess
import sys
from collections.abc import Callable

import pytest

from harness.main import COMMANDS as REGISTRY

COMMANDS = tuple(REGISTRY.shipped())
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_an_example_of_the_command(harness: Command, name: str) -> None:
    done = harness(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    example = done.stdout.partition("example: ")[2]
    assert f"harness {name}" in example


@pytest.mark.slow
def test_run_help_is_that_of_run_py(harness: Command) -> None:
    done = harness("run", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "python run.py task=smoke" in done.stdout
    assert "exit codes:" in done.stdout


def test_help_of_all_names_every_command(harness: Command) -> None:
    done = harness("--help")
    assert done.returncode == 0
    assert "example: " in done.stdout
    for name in ("run", *COMMANDS):
        assert f"    {name} " in done.stdout or f"    {name}\n" in done.stdout


def test_without_a_command_it_says_so_and_exits_2(harness: Command) -> None:
    done = harness()
    assert done.returncode == 2
    assert "COMMAND" in done.stderr


def test_the_list_of_commands_loads_no_browser_model_or_settings_library() -> None:
    program = (
        "import sys; from harness.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'playwright', 'openai', 'starlette', 'nltk', 'pyarrow', 'hydra', 'omegaconf'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
