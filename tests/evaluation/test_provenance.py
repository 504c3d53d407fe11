"""What made a run: known of a checkout and of an installed package, null where it is not, and kept over starts."""

import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from harness.codec import loads
from harness.config import Config
from harness.evaluation.provenance import ENVIRONMENT, describe, environment, fonts, packages, revision
from harness.journal.store import RunFolder
from harness.runs.results import RunInfo
from harness.settings.browser import BrowserSettings


def git(folder: Path, *arguments: str) -> str:
    named = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(folder), *named, *arguments], capture_output=True, text=True, check=True, env=clean
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A package in a checkout of its own, whose `results/` is ignored."""
    package = tmp_path / "checkout" / "harness"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package.parent / ".gitignore").write_text("/results/\n.venv/\n")
    git(package.parent, "init", "-q")
    git(package.parent, "add", "-A")
    assert revision(package) is None, "there is no commit yet"
    git(package.parent, "commit", "-qm", "one")
    return package


def test_a_checkout_is_known_by_its_commit_and_is_dirty_when_the_package_is(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    (checkout.parent / "mine.json").write_text("[]")
    assert revision(checkout) == {"commit": commit, "dirty": False}, "a task file beside it changes nothing"
    (checkout / "new.py").write_text("")
    assert revision(checkout) == {"commit": commit, "dirty": True}, "git does not know the new module"
    (checkout / "new.py").unlink()
    (checkout / "__init__.py").write_text("pass\n")
    assert revision(checkout) == {"commit": commit, "dirty": True}


def test_the_checkout_is_that_of_the_package_whatever_the_environment_names(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert revision(checkout) == {"commit": git(checkout, "rev-parse", "HEAD"), "dirty": False}


def test_a_package_installed_within_somebodys_checkout_is_no_part_of_it(checkout: Path, tmp_path: Path) -> None:
    installed = checkout.parent / ".venv" / "site-packages" / "harness"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert revision(installed) is None
    assert revision(tmp_path) is None
    assert revision(tmp_path / "nowhere") is None


def test_an_installed_package_knows_the_commit_it_was_fetched_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "harness").mkdir()
    about = tmp_path / "cairn_harness-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: cairn-harness\nVersion: 0.1.0\n")
    url = '{"url": "https://git.example/cairn", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}'
    (about / "direct_url.json").write_text(url)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert revision(tmp_path / "harness") == {"commit": "abc123", "dirty": False}
    (about / "direct_url.json").write_text("{}")
    assert revision(tmp_path / "harness") is None


def test_every_installed_distribution_is_there_with_its_version() -> None:
    theirs = {
        found.metadata["Name"].lower().replace("_", "-").replace(".", "-"): found.version for found in distributions()
    }
    ours = {name.replace(".", "-"): version for name, version in packages(sys.path).items()}
    assert ours.items() >= {name: theirs[name] for name in ("playwright", "openai", "hydra-core", "orjson")}.items()
    assert ours.keys() == theirs.keys()


def test_fonts_are_known_by_names_and_sizes_wherever_they_lie(tmp_path: Path) -> None:
    for place, name in (
        ("a/truetype", "Sans.ttf"),
        ("a/type1", "Old.pcf.gz"),
        ("a", "fonts.dir"),
        ("b/deep", "Sans.ttf"),
    ):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / name).write_text("x" * 7)
    first = fonts([tmp_path / "a"])
    assert first["files"] == 2
    (tmp_path / "a/truetype/Sans.ttf").replace(tmp_path / "a/Sans.ttf")
    assert fonts([tmp_path / "a", tmp_path / "nowhere"]) == first, "it lies elsewhere"
    (tmp_path / "a/Sans.ttf").write_text("x" * 8)
    assert fonts([tmp_path / "a"])["sha256"] != first["sha256"]
    assert fonts([tmp_path / "a", tmp_path / "b"])["files"] == 3


def browser(folder: Path, script: str) -> BrowserSettings:
    path = folder / "chromium"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return BrowserSettings(executable=str(path))


def test_the_browser_says_its_version_without_being_started(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    config = browser(tmp_path, f'echo "$@" >> {asked}; echo "Chromium 150.0.1"')
    assert environment(config)["browser"] == {"program": "chromium", "version": "Chromium 150.0.1"}
    assert asked.read_text() == "--version\n"
    assert environment(browser(tmp_path, "exit 1"))["browser"] == {"program": "chromium", "version": None}
    missing = BrowserSettings(executable=str(tmp_path / "nowhere"))
    assert environment(missing)["browser"] is None


@pytest.mark.browser
def test_a_run_says_what_made_it_and_what_made_it_before(tmp_path: Path) -> None:
    settings = Config().tree()
    info = RunInfo(name="r", dialect="corrected", model="m", agent="a", tasks=(), trials=1, benchmark="demo")
    with RunFolder.open(tmp_path / "run") as run:
        describe(run, settings, info, now=environment(BrowserSettings()), known={})
        first = loads((run.path / "run.json").read_bytes())
        describe(run, settings, info, now=environment(BrowserSettings()), known={})
        again = loads((run.path / "run.json").read_bytes())
        describe(run, settings, info, now=environment(browser(tmp_path, "echo Chromium 1")), known={})
        other = loads((run.path / "run.json").read_bytes())
    assert set(ENVIRONMENT) < first.keys() and first["earlier"] == [] and first["benchmark"] == "demo"
    assert first["browser"]["version"].partition(" ")[2].partition(".")[0].isdigit()
    assert first["packages"]["playwright"] and len(first["fonts"]["sha256"]) == 64
    assert again == first, "the same machine: there is nothing to keep"
    assert other["browser"]["version"] == "Chromium 1"
    assert [one["browser"] for one in other["earlier"]] == [first["browser"]]
    assert set(other["earlier"][0]) == set(ENVIRONMENT)
