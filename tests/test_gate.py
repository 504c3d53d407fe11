"""Every target of the Makefile is run by the gate or by the nightly script, and the script tells what failed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
BY_HAND = {"setup", "format", "clean", "test-fast"}
"""What a person runs when wanted; CONTRIBUTING.md says so."""


def targets(text: str) -> set[str]:
    return set(re.findall(r"make ([a-z0-9-]+)", text))


def steps() -> list[str]:
    queues = re.findall(r"^(?:FIRST|SECOND|LAST)=\((.*)\)$", (PROJECT / ".ci" / "nightly").read_text(), re.MULTILINE)
    return " ".join(queues).split()


def test_every_target_is_run_by_something_that_contributing_names() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    gate = targets("\n".join(line for line in (PROJECT / ".ci" / "run").read_text().splitlines() if line[:1] != "#"))
    assert gate | set(steps()) | BY_HAND == set(phony.split())
    development = (PROJECT / "CONTRIBUTING.md").read_text()
    assert {".ci/run", ".ci/nightly"} <= set(re.findall(r"`(\.ci/\w+)`", development))
    assert targets(development) >= set(steps()) | BY_HAND | {"test", "test-e2e", "check", "run"}
    assert all(step in (PROJECT / ".ci" / "run").read_text() for step in steps()), "the gate says what it leaves out"


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """A checkout with the script, and a `make` that notes what it is asked, and fails at golden and at bench."""
    (tmp_path / "bin").mkdir()
    (tmp_path / ".ci").mkdir()
    shutil.copy(PROJECT / ".ci" / "nightly", tmp_path / ".ci")
    make = tmp_path / "bin" / "make"
    make.write_text('#!/bin/sh\necho "$@" >> asked\necho "of $1"\ncase $1 in golden|bench) exit 2;; esac\n')
    make.chmod(0o755)
    return tmp_path


def started(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        [folder / ".ci" / "nightly", *arguments],
        cwd="/",
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def asked_of(folder: Path) -> list[str]:
    """The steps that `make` was asked for, without what both queues need first."""
    asked = [line.split()[0] for line in (folder / "asked").read_text().splitlines()]
    return [name for name in dict.fromkeys(asked) if name != "setup"]  # chaos asks more than once


@pytest.mark.slow
def test_a_failed_step_ends_nothing_and_is_told_at_the_end(night: Path) -> None:
    done = started(night)
    asked = asked_of(night)
    assert set(asked) == set(steps()) and asked[-1] == "bench", "which compares times"
    assert (night / "asked").read_text().splitlines().count("shelf") == 1, "both queues could take it"
    table = dict(line.split()[:2] for line in done.stdout.partition("== nightly\n")[2].splitlines())
    assert {step for step, outcome in table.items() if outcome == "FAILED"} == {"golden", "bench"}
    assert set(table) == set(steps()) and done.returncode == 1
    assert "\nof golden\n" in done.stdout and "of docs" not in done.stdout, "only what failed is shown"


def test_some_steps_can_be_named_and_others_are_refused(night: Path) -> None:
    assert started(night, "docs", "test-art").returncode == 0
    assert asked_of(night) == ["docs", "test-art"]
    refused = started(night, "docs", "lunch")
    assert refused.returncode == 2 and refused.stderr.startswith("lunch is not a step")
    assert asked_of(night) == ["docs", "test-art"], "nothing was begun"


@pytest.mark.slow
def test_at_the_same_commit_only_what_has_not_passed_is_run_again(night: Path) -> None:
    script = night / ".ci" / "nightly"
    few = {"FIRST": "docs", "SECOND": "golden house", "LAST": "bench"}
    fewer = re.sub(r"(?m)^(FIRST|SECOND|LAST)=.*$", lambda found: f"{found[1]}=({few[found[1]]})", script.read_text())
    script.write_text(fewer)
    (night / ".gitignore").write_text("/build/\n/asked\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", night]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    started(night)
    assert set(asked_of(night)) == {"docs", "golden", "house", "bench"}
    (night / "asked").unlink()
    again = started(night)
    assert asked_of(night) == ["golden", "bench"] and again.returncode == 1
    told = [line.split()[0] for line in again.stdout.partition("== nightly\n")[2].splitlines()]
    assert sorted(told) == ["bench", "docs", "golden", "house"], "each once"
    (night / "asked").unlink()
    (night / ".gitignore").write_text("/build/\n/asked\n/more\n")
    started(night)
    assert set(asked_of(night)) == {"docs", "golden", "house", "bench"}, "of a changed tree nothing is known"


def test_what_the_environments_of_others_need_is_installed_with_the_project() -> None:
    recipe = (PROJECT / "Makefile").read_text().partition(".venv-art/installed:")[2].partition("@touch")[0]
    assert "-e '.[tracking]'" in recipe, "a dependency of ours that is added must not be missing there"


def made(target: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Makes it in a folder that has the programs of `folder / "bin"` only, which are added to."""
    shutil.copy(PROJECT / "Makefile", folder)
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "python3").symlink_to(sys.executable)
    for tool in ("chmod", "echo", "grep", "sh", "touch"):
        (folder / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    make = shutil.which("make")
    assert make is not None
    path = {"PATH": str(folder / "bin")}
    return subprocess.run([make, target], cwd=folder, env=path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("refuses", [False, True], ids=["npm is missing", "npm refuses"])
def test_without_axe_core_a_sentence_says_so_and_the_tests_go_on(tmp_path: Path, refuses: bool) -> None:
    (tmp_path / "tests").mkdir()
    shutil.copy(PROJECT / "tests" / "package.json", tmp_path / "tests")
    if refuses:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "npm").write_text("#!/bin/sh\necho 'E404 not there' >&2\nexit 1\n")
        (tmp_path / "bin" / "npm").chmod(0o755)
    done = made("tests/node_modules/installed", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "accessibility tests are skipped" in done.stderr and ("E404" in done.stderr) is refuses
    assert not (tmp_path / "tests" / "node_modules" / "installed").exists()


PIP = "-m pip --quiet --disable-pip-version-check install -c constraints.txt"
UV = "uv pip install --quiet --python .venv/bin/python -c constraints.txt"


@pytest.mark.parametrize(
    ("configured", "uv_refuses", "installs"),
    [
        ("", False, [f"{UV} -e .", f"{UV} -e .[dev]"]),
        ("", True, [f"{UV} -e .", f"{PIP} -e .", f"{UV} -e .[dev]", f"{PIP} -e .[dev]"]),
        ("global.index-url='file:///srv/index'", False, [f"{PIP} -e .", f"{PIP} -e .[dev]"]),
        (":env:.no-index='1'", False, [f"{PIP} -e .", f"{PIP} -e .[dev]"]),
        ("global.extra-index-url='file:///srv/index'", False, [f"{UV} -e .", f"{UV} -e .[dev]"]),
    ],
    ids=["uv", "uv refuses", "an index", "no index", "a further index"],
)
def test_pip_installs_where_uv_cannot_or_must_not(
    tmp_path: Path, configured: str, uv_refuses: bool, installs: list[str]
) -> None:
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(PROJECT / name, tmp_path)
    asked, python = tmp_path / "asked", tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    # A stub that, as pip does, installs uv and prints how it is configured, unless it is to be quiet; it notes what else it
    # is asked to install.
    python.write_text(f"""#!/bin/sh
case "$*" in
  *--quiet*" config list") ;;
  *" config list") echo "{configured}" ;;
  *" uv") printf '#!/bin/sh\\necho uv "$@" >> asked\\nexit {int(uv_refuses)}\\n' > .venv/bin/uv && chmod +x .venv/bin/uv ;;
  *) echo "$@" >> asked ;;
esac
""")
    python.chmod(0o755)
    done = made(".venv/installed-dev", tmp_path)
    assert done.returncode == 0, done.stderr
    assert asked.read_text().splitlines() == installs
    assert ("uv cannot install it" in done.stderr) is uv_refuses
