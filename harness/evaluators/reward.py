"""The reward that a benchmark gave, as a score."""

from harness.api import Artifacts, Closed, EvaluatorError, Finding, Task


class LastReward:
    """The eval type `reward` of benchmarks: the last reward, cut to 0.0 .. 1.0. Fits `harness.api.Evaluator`."""

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        if (reward := closed.evidence.reward) is None:
            raise EvaluatorError("the benchmark gave no reward")
        return Finding(value=min(1.0, max(0.0, reward)), why=f"the last reward is {reward:g}")
