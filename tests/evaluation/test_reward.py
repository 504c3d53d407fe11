"""The eval type `reward`: an agent that gives up has failed, unless the benchmark says otherwise."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from harness.api import Benchmark
from harness.cli import configured
from harness.errors import ConfigError, EvaluatorError
from harness.evaluation.builder import build_evaluators
from harness.testing import MemoryArtifacts
from tests.evaluators.evidence import closed, task

pytestmark = pytest.mark.integration


class Silent(Benchmark):
    def tasks(self) -> Iterable[Mapping[str, Any]]:
        return ()


async def score_of(default: Any, reward: float | None) -> float:
    benchmark = Silent()
    if default != "":
        benchmark.default_reward = default
    evaluator = build_evaluators(configured([]), benchmark)["reward"]
    ended = closed()
    ended = replace(ended, evidence=replace(ended.evidence, reward=reward))
    return (await evaluator.evaluate(task("reward"), ended, MemoryArtifacts())).value


@pytest.mark.parametrize(
    ("default", "reward", "score"),
    [("", None, 0.0), (0.25, None, 0.25), (7, None, 1.0), (None, 0.5, 0.5), (1, -2.0, 0.0)],
)
async def test_an_episode_without_reward_scores_the_default(default: Any, reward: float | None, score: float) -> None:
    assert await score_of(default, reward) == score


async def test_a_benchmark_may_leave_it_unscored() -> None:
    with pytest.raises(EvaluatorError, match="gave no reward"):
        await score_of(None, None)


@pytest.mark.sample(1)
@pytest.mark.parametrize("default", ["0", float("nan"), float("inf"), []])
async def test_a_default_that_is_no_number_is_one_sentence(default: Any) -> None:
    with pytest.raises(ConfigError, match=r"^Silent\.default_reward is .*; give a number, or None$"):
        await score_of(default, None)
