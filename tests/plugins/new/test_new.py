"""What `harness new` writes is a package whose own test passes."""

import errno
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.main import main
from tests.e2e.conftest import PROJECT, environment


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["action", "agent", "benchmark", "evaluator", "site", "agent --process"])
def test_a_new_package_passes_its_test(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kind, *flags = kind.split()
    name = f"my_{kind}_x"
    assert main(["new", kind, name, *flags, "--into", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert all(Path(line).is_file() for line in said[:-1]) and said[-1].startswith("next: pip install -e ")
    assert "NAME" not in "".join(path.read_text() for path in (tmp_path / name).rglob("*") if path.is_file())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path / name)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path / name,
        env={**environment(), "PYTHONPATH": str(PROJECT), "PYTEST_ADDOPTS": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["action", "agent", "benchmark", "evaluator", "site"])
def test_what_its_test_needs_is_installed_with_it(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", kind, "mine", "--into", str(tmp_path / "my own")]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    folder = tmp_path / "my own" / "mine"
    assert said.startswith(f"next: pip install -e '{folder}[test]', then pytest '{folder}', then ")
    told = tomllib.loads((folder / "pyproject.toml").read_text())
    assert told["project"]["optional-dependencies"]["test"] == ["pytest", "pytest-asyncio"]
    assert told["tool"]["pytest"]["ini_options"]["asyncio_mode"] == "auto"
    assert said.endswith(" llm=openai llm.model=MODEL") == (kind in {"benchmark", "site"}), "no plan has these tasks"


@pytest.mark.parametrize("name", ["My", "../x", "class", "json", "harness", "a-b", ""])
def test_a_name_that_no_package_can_have_is_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "agent", name, "--into", str(tmp_path)]) == 2
    assert "cannot name a package" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_process_is_always_an_agent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "site", "mine", "--process", "--into", str(tmp_path)]) == 2
    assert "--process is for agents" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_what_is_there_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    assert main(["new", "agent", "mine", "--into", str(tmp_path)]) == 2
    assert "is already there" in capsys.readouterr().err


def test_a_package_that_a_full_disk_cut_off_is_written_by_the_same_command_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, write = ["new", "agent", "mine", "--into", str(tmp_path)], Path.write_text

    def refused(path: Path, text: str, encoding: str) -> int:
        if path.name == "pyproject.toml":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return write(path, text, encoding)

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", refused)
        assert main(command) == 2
    said = capsys.readouterr()
    assert "the disk is full" in said.err and not said.out and not list(tmp_path.iterdir())
    assert main(command) == 0
    assert (tmp_path / "mine" / "pyproject.toml").is_file()
