"""An evaluator that compares the answer with a number of the task file."""

from harness.api import Artifacts, Closed, EvaluatorError, Finding, Task


class Total:
    def __init__(self, tolerance: int = 0) -> None:
        self._tolerance = tolerance

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        wanted = task.metadata.get("eval.total")
        if not isinstance(wanted, int):
            raise EvaluatorError("eval.total of the task is no number")
        if closed.answer == "13":
            raise ZeroDivisionError("an evaluator with a fault")
        right = closed.answer.isdigit() and abs(int(closed.answer) - wanted) <= self._tolerance
        return Finding(value=float(right), why=f"the answer is {closed.answer!r}, the total {wanted}")
