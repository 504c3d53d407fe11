"""Shaping: rewards before the end, by a class of one's own, the same after a restart."""

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.api import PluginFailed, Step, Task
from harness.errors import ConfigError
from harness.main import main
from harness.plugins.environments.clients import trl
from harness.plugins.environments.rewards import Shaping, shaping_of
from tests.plugins.environments.conftest import Server, client

HERE = "tests.plugins.environments.test_rewards"


class Fewer:
    """A little less for each step."""

    def reward(self, task: Task, steps: Sequence[Step], /) -> float | None:
        return None if len(steps) == 2 else -0.25 * len(steps)


class Nothing:
    """No such method."""


class Needs:
    """Cannot be made without an argument."""

    def __init__(self, what: str) -> None: ...


class Mine(Exception):
    """An error of the person's own."""


class Panic(BaseException):
    """As an extension in Rust raises."""


class Gives:
    def __init__(self, value: Any) -> None:
        self.value = value

    def reward(self, task: Task, steps: Sequence[Step], /) -> Any:
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


@pytest.mark.parametrize(
    ("value", "given", "found"), [(None, None, None), (None, 0.5, 0.5), (1, None, 1.0), (0.25, 0.5, 0.75)]
)
def test_it_is_added_to_what_the_benchmark_gives(value: Any, given: float | None, found: float | None) -> None:
    steps: Any = (object(),)
    task: Any = None
    assert Shaping(Gives(value), "x").of(task, steps, given) == found
    assert Shaping(Gives(value), "x").of(task, (), given) == given, "the start page has none"


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, True, "1", 10**400, ValueError("no"), OSError("no"), Mine("no"), Panic()]
)
def test_what_is_no_reward_fails_its_episode_by_name(value: Any) -> None:
    steps: Any = (object(),)
    task: Any = None
    with pytest.raises(PluginFailed, match=r"rewards\._target_=x"):
        Shaping(Gives(value), "x").of(task, steps, None)


@pytest.mark.parametrize(
    "target", ["Fewer", "no.such.Class", f"{HERE}.Missing", f"{HERE}.Nothing", f"{HERE}.Needs", f"{HERE}.HERE", ".", ""]
)
def test_a_class_that_cannot_be_used_is_one_sentence(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match=r"rewards\._target_="):
        shaping_of(target)
    assert main(["serve", "task=demo", f"rewards._target_={target}"]) == 2
    said = capsys.readouterr().err
    assert "rewards._target_=" in said and said.count("\n") == 1 and "Traceback" not in said


@pytest.mark.parametrize(("installed", "is_refused"), [("1.5.1", True), ("1.6.0", False), ("1.10.0", False)])
def test_a_trl_that_makes_a_reward_of_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, installed: str, is_refused: bool
) -> None:
    monkeypatch.setattr(trl, "version", lambda name: installed)
    page = (Path(__file__).parents[3] / "docs" / "pages" / "environments.md").read_text()
    assert "'trl>=1.6'" in page
    if not is_refused:
        assert trl.reward([trl.CairnTools()]) == [None]
        return
    with pytest.raises(RuntimeError, match=r"trl 1\.5\.1 trains on a reward of 0 .* pip install 'trl>=1\.6'"):
        trl.reward([trl.CairnTools()])


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.browser
async def test_steps_have_rewards_and_the_end_has_the_score_also_after_a_kill(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=1", f"rewards._target_={HERE}.Fewer", PYTHONPATH=":".join(sys.path))
    async with client(server) as one:
        assert (await one.reset(task="0", episode_id="x"))["reward"] is None
        ways = ("scroll [down]", "scroll [up]", "scroll [down]")
        rewards = [(await one.step(way, request_id=f"r{number}"))["reward"] for number, way in enumerate(ways)]
        assert rewards == [-0.25, None, -0.75]
    server.kill()
    server.start()
    async with client(server) as one:
        assert (await one.reset(episode_id="x", resume=True))["reward"] == -0.75
        again = [(await one.step(way, request_id=f"r{number}"))["reward"] for number, way in enumerate(ways)]
        assert again == rewards, "the same from the journal"
        end = await one.step("stop [x]")
        assert (end["reward"], end["done"]) == (0.0, True), "the score, and nothing else"
