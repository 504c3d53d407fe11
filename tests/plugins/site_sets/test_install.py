"""`harness sites install`, the place for what is not state, and the applications of the set `apps` where they are missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.main import main
from harness.plugins.site_sets.apps.installing import install, requirements
from harness.plugins.site_sets.apps.programs import PROGRAMS
from harness.plugins.site_sets.set_file import find_set, read_set
from tests.plugins.site_sets.small_site import SmallSite, shop


def apps(*words: str, env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "harness.plugins.site_sets.apps", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_install_runs_the_commands_of_the_set_in_its_folder(
    small: SmallSite, capfd: pytest.CaptureFixture[str]
) -> None:
    small.write(install=["{python} -c 'print(6 * 7)' > made", "cat {set}/made"])
    assert main(["sites", "install", str(small.folder / "small.yaml")]) == 0
    assert capfd.readouterr().out.startswith("42\n")
    assert not small.state.exists(), "nothing of it is state"


@pytest.mark.parametrize(
    ("more", "said"),
    [({}, "the set has nothing to install"), ({"install": ["exit 3"]}, "`install` ended with code 3")],
)
def test_an_install_that_cannot_be_done_is_one_sentence(
    more: dict[str, list[str]], said: str, small: SmallSite, capfd: pytest.CaptureFixture[str]
) -> None:
    path = small.write(**more)
    assert main(["sites", "install", str(path)]) == 2
    err = capfd.readouterr().err
    assert said in err and str(path) in err and len(err.splitlines()) == 1


@pytest.mark.slow
def test_scratch_is_empty_at_each_start_and_makes_nothing_dirty(small: SmallSite) -> None:
    command = "test ! -e {scratch}/cache && echo x > {scratch}/cache && exec {python} server.py {port} {data}"
    small.write({"app": shop(command=command, prepare=["test -d {scratch} && echo y > {scratch}/cache"])})
    small.done("up")
    assert small.states() == {"app@0": "healthy"}
    small.done("reset")
    assert small.states() == {"app@0": "healthy"}


def test_applications_that_are_not_installed_are_named_with_the_command_that_installs_them(tmp_path: Path) -> None:
    for name in PROGRAMS:
        for verb in ("fill", "serve"):
            places = ("--data", str(tmp_path / "data"), "--scratch", str(tmp_path / "scratch"), "--port", "1")
            done = apps(verb, name, *places, env={"CAIRN_APPS": str(tmp_path)})
            assert done.returncode == 2 and "harness sites install apps" in done.stderr, done
            assert len(done.stderr.splitlines()) == 1


def test_every_application_is_a_service_with_pinned_packages() -> None:
    found = read_set(find_set("apps"))
    assert set(PROGRAMS) == set(requirements()) == set(found.services)
    assert all("==" in package for packages in requirements().values() for package in packages)


@pytest.mark.slow
def test_nothing_is_left_of_an_installation_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_APPS", str(tmp_path / "apps"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ConfigError, match=r"tracker: its packages cannot be installed: .*roundup"):
        install("tracker")
    assert not (tmp_path / "apps" / "tracker").exists()
