"""A Chromium is found where it is said to be, and its absence is one sentence with what to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.browser.driver import executable
from harness.errors import ConfigError


def a_program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness.browser.driver.executable", *arguments],
        env={"PATH": "", "HOME": "/nonexistent", **environment},
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_setting_comes_before_everything(tmp_path: Path) -> None:
    path = a_program(tmp_path / "mine")
    assert executable.find(str(path)) == str(path)


def test_an_installed_browser_is_found_on_the_path(tmp_path: Path) -> None:
    path = a_program(tmp_path / "bin" / "chromium")
    done = run(PATH=str(path.parent))
    assert (done.returncode, done.stdout) == (0, f"{path}\n")


def test_a_headless_shell_comes_first_where_no_window_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, shell = (a_program(tmp_path / name) for name in ("chromium", "chromium-headless-shell"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM_PATH", raising=False)
    assert executable.find() == str(shell)
    assert executable.find(headless=False) == str(browser)


def test_the_environment_variable_comes_before_the_path(tmp_path: Path) -> None:
    path = a_program(tmp_path / "bin" / "chromium")
    own = a_program(tmp_path / "own")
    done = run(PATH=str(path.parent), CHROMIUM_PATH=str(own))
    assert done.stdout == f"{own}\n"


@pytest.mark.skipif(any(Path(place).exists() for place in executable._PLACES), reason="a browser is at a usual place")
def test_playwrights_own_browser_is_found_last(tmp_path: Path) -> None:
    path = a_program(tmp_path / "chromium-1200" / "chrome-linux64" / "chrome")
    done = run(PLAYWRIGHT_BROWSERS_PATH=str(tmp_path))
    assert done.stdout == f"{path}\n"


def test_a_wrong_path_is_one_sentence_even_when_installing_is_allowed() -> None:
    done = run("--install", CHROMIUM_PATH="/nowhere/chrome", PATH=os.environ["PATH"])
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "CHROMIUM_PATH=/nowhere/chrome is not an executable" in done.stderr
    with pytest.raises(ConfigError, match=r"browser\.executable=/nowhere/chrome is not"):
        executable.find("/nowhere/chrome")


@pytest.mark.skipif(any(Path(place).exists() for place in executable._PLACES), reason="a browser is at a usual place")
def test_no_browser_at_all_says_what_to_do() -> None:
    done = run()
    assert done.returncode == 2
    assert "--install" in done.stderr and "CHROMIUM_PATH" in done.stderr
