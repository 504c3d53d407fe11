"""Packages that plug in: their configurations are found, and a broken one is one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import configured
from harness.commands.replay_run import as_recorded
from harness.config import PROJECT
from harness.config.plugin_packages import choose_plainly, package_file, plugin_folders
from harness.errors import ConfigError

pytestmark = pytest.mark.integration


def installed(folder: Path, name: str, files: dict[str, str], *, package: str = "") -> None:
    """A package as pip leaves it in a folder."""
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[cairn.plugins]\n{name} = {package or name}\n")
    for path, text in files.items():
        (folder / name / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / name / path).write_text(text)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path


def test_configurations_of_a_package_are_chosen_like_shipped_ones(place: Path) -> None:
    files = {
        "__init__.py": "raise RuntimeError('imported without being named')",
        "configs/agent/fern.yaml": "name: fern\n_target_: fern.Fern\narguments: {depth: 2}\n",
        "configs/sites/fern.yaml": "fern: {url: http://fern.test}\n",
        "configs/task/fern.yaml": "name: fern\npath: ${package:fern,tasks.json}\n",
    }
    installed(place, "fern", files)
    assert plugin_folders() == {"fern": place / "fern" / "configs"}
    config = configured(["+agent=fern", "sites=fern", "task=fern"])
    assert (config.agent._target_, config.agent.arguments) == ("fern.Fern", {"depth": 2})
    assert config.sites.by_name["fern"].instances == ("http://fern.test",)
    assert config.task.path == str(place / "fern" / "tasks.json")
    assert config.measured()["agent._target_"] == "fern.Fern"


def test_packages_whose_entry_points_have_one_name_are_all_searched(place: Path) -> None:
    for name in ("fern", "moss"):
        installed(place, name, {"__init__.py": "", f"configs/agent/{name}.yaml": f"name: {name}\n"})
        (place / f"{name}-1.2.dist-info" / "entry_points.txt").write_text(f"[cairn.plugins]\nmy_plugin = {name}\n")
    assert plugin_folders() == {name: place / name / "configs" for name in ("fern", "moss")}


@pytest.mark.slow
def test_a_folder_of_ones_own_is_searched_before_packages(place: Path) -> None:
    installed(place, "fern", {"__init__.py": "", "configs/agent/fern.yaml": "name: theirs\n_target_: fern.Fern\n"})
    own = place / "own"
    (own / "agent").mkdir(parents=True)
    (own / "agent" / "fern.yaml").write_text("name: mine\n_target_: fern.Fern\n")
    assert configured(["agent=fern"], own).agent.name == "mine"
    assert configured(["agent=fern"]).agent.name == "theirs"
    environment = os.environ | {"PYTHONPATH": f"{place}:{PROJECT}"}
    for given in (["--config-dir", str(own)], [f"--config-dir={own}"], ["-cd", str(own)]):
        command = [sys.executable, str(PROJECT / "run.py"), *given, "agent=fern", "--cfg", "job", "--package", "agent"]
        shown = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, check=True).stdout
        assert "name: mine" in shown


def test_the_first_path_of_a_class_that_was_moved_is_understood_and_measured() -> None:
    first, now = "harness.benchmarks.miniwob.benchmark.MiniWob", "harness.plugins.miniwob.miniwob.MiniWob"
    chosen = configured(["task=miniwob"])
    assert chosen.task._target_ == now
    for former in (first, "harness.benchmarks.miniwob.miniwob.MiniWob"):
        said = configured(["task=miniwob", f"task._target_={former}"])
        assert said.task._target_ == now
        assert chosen.measured() == said.measured()
    assert chosen.measured()["task._target_"] == first  # as run folders from before the move have it


def test_a_package_without_configs_is_one_sentence(place: Path) -> None:
    installed(place, "moss", {"__init__.py": ""})
    with pytest.raises(ConfigError, match=r"the plug-in moss of moss 1.2 has no folder .*configs; its wheel must"):
        configured([])


def test_a_package_that_is_not_there_is_one_sentence(place: Path) -> None:
    installed(place, "moss", {}, package="no_such_moss")
    with pytest.raises(ConfigError, match="names the package no_such_moss, which is not there"):
        plugin_folders()
    with pytest.raises(ConfigError, match="there is no package no_such_moss"):
        package_file("no_such_moss", "tasks.json")


def test_a_plus_before_a_choice_is_understood() -> None:
    given = ["+agent=mine", "+agent.arguments.depth=2", "+evaluators=mine", "+sites.shop.url=http://a"]
    assert choose_plainly(given) == ("agent=mine", *given[1:])


def test_a_class_named_in_a_run_folder_is_never_taken(tmp_path: Path) -> None:
    named = "_target_: antigravity.Anything"
    (tmp_path / "config.yaml").write_text(
        f"agent: {{name: x, {named}}}\njudge: {{{named}}}\nexecutor: {{{named}}}\nevaluators: {{e: {{{named}}}}}\n"
        f"tracking: {{report_metrics: [{{{named}}}]}}\n"
    )
    config = as_recorded(configured([]), tmp_path, ())
    assert config.agent._target_ is config.judge._target_ is config.executor._target_ is None
    assert config.evaluators == {} and config.tracking.report_metrics is None
    assert "antigravity" not in sys.modules
