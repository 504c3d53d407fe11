"""`task.split`: parts of a benchmark's tasks that have names; MiniWoB++'s are those of its package."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.api import Benchmark
from harness.cli import configured
from harness.errors import ConfigError, TaskError, UsageError
from harness.evaluation.builder import load_tasks

pytest.importorskip("miniwob", reason="the package miniwob is not installed")
pytestmark = pytest.mark.integration
UNREGISTERED = {"button-delay", "chase-circle", "hover-shape", "moving-items", "simon-says"}
MINE = f"task._target_={__name__}.Mine"


class Mine(Benchmark):
    split = "small"

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        base = {"sites": ["shop"], "start_url": "__SHOP__/", "intent": "x", "eval": {"eval_types": ["reward"]}}
        return [{"task_id": number, **base} for number in range(5)]

    def splits(self) -> Mapping[str, Collection[str]]:
        return {"small": ("0", "3"), "wrong": ("9",)}


def chosen(*settings: str) -> list[str]:
    return [task.task_id for task in load_tasks(configured(list(settings)))]


@pytest.mark.slow
def test_the_splits_of_miniwob_are_the_environments_that_its_package_registers() -> None:
    import gymnasium
    import miniwob

    gymnasium.register_envs(miniwob)
    environments = {
        one.id.removeprefix("miniwob/").removesuffix("-v1"): one.nondeterministic
        for one in gymnasium.registry.values()
        if one.id.startswith("miniwob/")
    }
    pages = set(chosen("task=miniwob", "task.split=all"))
    registered = set(chosen("task=miniwob"))
    assert pages - registered == UNREGISTERED == pages - environments.keys() and len(pages) == 130
    assert registered == set(chosen("task=miniwob", "task.split=registered")) and len(registered) == 125
    deterministic = set(chosen("task=miniwob", "task.split=deterministic"))
    assert deterministic == {name for name in registered if not environments[name]} and len(deterministic) == 103


@pytest.mark.slow
def test_pages_that_are_named_are_played_whatever_the_split() -> None:
    assert chosen("task=miniwob", "task.arguments.pages=[simon-says,click-test]") == ["simon-says", "click-test"]
    with pytest.raises(
        TaskError, match=r"asks for simon-says, .* task\.split=registered, and task\.split=all has more"
    ):
        chosen("task=miniwob", "task.ids=[simon-says]")
    assert chosen("task=miniwob", "task.split=all", "task.ids=[simon-says]") == ["simon-says"]


def test_a_benchmark_of_a_plug_in_has_splits() -> None:
    assert chosen(MINE) == ["0", "3"]
    assert chosen(MINE, "task.split=all", "task.limit=4") == ["0", "1", "2", "3"]
    assert chosen(MINE, "task.ids=[1-4]") == ["3"]


@pytest.mark.slow
def test_a_split_of_a_benchmark_in_a_suite(tmp_path: Path) -> None:
    file = tmp_path / "mix.yaml"
    file.write_text("benchmarks:\n  one: {task: miniwob, split: deterministic}\n  two: {task: miniwob, split: all}\n")
    ids = chosen("task=suite", f"task.path={file}")
    assert [sum(one.startswith(name) for one in ids) for name in ("one.", "two.")] == [103, 130]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (("task=miniwob", "task.split=dev"), "task.split=dev is unknown; choose one of registered, deterministic, all"),
        (("task=demo", "task.split=dev"), "task.split=dev is unknown; these tasks have no splits; leave it out"),
        ((MINE, "task.split=wrong"), "no task is selected; change task.split, task.ids or task.sites"),
    ],
)
def test_a_split_there_is_not_is_one_sentence(settings: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        chosen(*settings)
    assert sentence in str(raised.value) and "\n" not in str(raised.value)


def test_a_split_of_a_whole_suite_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mix.yaml"
    file.write_text("benchmarks:\n  miniwob: {}\n")
    with pytest.raises(ConfigError, match="give `split` in its entry of the suite file"):
        chosen("task=suite", f"task.path={file}", "task.split=all")


@pytest.mark.slow
def test_which_split_is_played_is_no_measured_setting() -> None:
    measured = [configured(["task=miniwob", f"task.split={name}"]).measured() for name in ("all", "registered")]
    assert measured[0] == measured[1]
