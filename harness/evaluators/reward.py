"""The reward that a benchmark gave, as a score."""

from harness.api import Artifacts, Closed, EvaluatorError, Finding, Task


class LastReward:
    """The eval type `reward` of benchmarks: the last reward, cut to 0.0 .. 1.0. Fits `harness.api.Evaluator`."""

    def __init__(self, default: float | None) -> None:
        """`default`: see `Benchmark.default_reward`."""
        self._default = default

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        if (reward := closed.evidence.reward) is not None:
            return Finding(value=_cut(reward), why=f"the last reward is {reward:g}")
        if self._default is None:
            raise EvaluatorError("the benchmark gave no reward")
        return Finding(
            value=_cut(self._default), why=f"the benchmark gave no reward, which counts as {self._default:g}"
        )


def _cut(reward: float) -> float:
    return min(1.0, max(0.0, reward))
