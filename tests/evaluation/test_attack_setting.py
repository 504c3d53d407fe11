"""`attack=`: what it gives to tasks is checked as in a file, is measured, and costs nothing when it is not set."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.cli import configured
from harness.codec import dumps
from harness.errors import ConfigError, TaskError
from harness.evaluation.builder import build_attack, check_plugins, load_tasks
from harness.settings.plugin import PluginSettings

pytestmark = pytest.mark.integration

PLACE = f"{__name__}.Marked"
TASK = {
    "task_id": 7,
    "sites": ["shop"],
    "start_url": "__SHOP__/",
    "intent": "look",
    "eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "x"}},
}


class Marked:
    """Gives each task what its arguments say."""

    def __init__(self, keys: Any = None, fails: bool = False) -> None:
        self._keys = keys or {}
        self._fails = fails

    def keys(self, task: Mapping[str, Any], /) -> Mapping[str, Any]:
        if self._fails:
            raise LookupError("nothing is known\nof it")
        return self._keys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (path := tmp_path / "tasks.json").write_bytes(dumps([TASK]))
    return path


def config_of(file: Path, *more: str) -> Any:
    return configured(["task=demo", f"task.path={file}", *more])


def marked(**keys: Any) -> list[str]:
    return [f"attack._target_={PLACE}", *(f"+attack.arguments.keys.{key}={value}" for key, value in keys.items())]


def test_without_one_nothing_is_made_measured_or_changed(file: Path) -> None:
    config = config_of(file)
    assert build_attack(config.attack) is None
    assert not [name for name in config.measured() if name.startswith("attack")], "older run folders are resumed"
    (task,) = load_tasks(config)
    assert "attack" not in task.metadata


def test_its_keys_are_part_of_the_task_with_placeholders_replaced(file: Path) -> None:
    config = config_of(file, *marked(intent="see", mark="__SHOP__/a"))
    check_plugins(config)
    (task,) = load_tasks(config)
    base = config.sites.canonical_bases["shop"]
    assert (task.intent, task.metadata) == ("see", {"mark": f"{base}/a"})
    measured = config.measured()
    assert measured["attack._target_"] == PLACE and measured["attack.arguments.keys.intent"] == "see"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("how", "said"),
    [
        (marked(task_id=8), r"task 7: Marked.keys gives another task_id; leave it out"),
        (marked(start_url="nowhere"), "task 7: field `start_url` contains 'nowhere'"),
        (marked(attack=7), "task 7: field `attack` must be an object"),
        (
            [f"attack._target_={PLACE}", "+attack.arguments.fails=true"],
            "Marked.keys raised LookupError: nothing is known",
        ),
    ],
)
def test_what_it_gives_is_checked(file: Path, how: list[str], said: str) -> None:
    with pytest.raises(TaskError, match=said) as raised:
        load_tasks(config_of(file, *how))
    assert "\n" not in str(raised.value)


def test_a_class_that_is_none_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"attack\._target_=pathlib\.Path has no method keys"):
        build_attack(PluginSettings(_target_="pathlib.Path"))
    with pytest.raises(ConfigError, match="inject"):
        config_of(file, "attack=injct")


def test_the_shipped_ones_are_for_any_task(file: Path) -> None:
    for name in ("inject", "exfiltrate"):
        (task,) = load_tasks(config_of(file, f"attack={name}"))
        assert task.metadata["attack"]["kind"] and "{" not in task.metadata["attack"]["goal"]["url"]
        assert task.task_id == "7" and task.sites == ("shop",)
