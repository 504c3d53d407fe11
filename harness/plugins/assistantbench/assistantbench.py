"""AssistantBench's tasks: one start page for all, scored by the benchmark's own rule without a model."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from harness.api import LIVE, Artifacts, Benchmark, Closed, Evaluator, EvaluatorError, Finding, Task
from harness.api.sealed_answers import seal, unseal
from harness.api.tasks import id_of, needed_text, read_rows
from harness.plugins.assistantbench.answer_score import check_reference, score

NAME = "assistantbench"


class AssistantBench(Benchmark):
    """Rows `{id, task, answer, …}` of the validation split; the test split has no answers and cannot be scored here.

    Args:
        path: The task file.
        start_url: Where every task begins.
    """

    def __init__(self, path: str | None = None, start_url: str = "https://www.google.com/") -> None:
        self._path = path
        self._start_url = start_url

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        for row in read_rows(self._path):
            task_id = id_of(row, "id")
            answer = needed_text(row, "answer")
            try:
                check_reference(answer)
            except EvaluatorError as error:
                raise row.wrong("answer", f"cannot be scored: {error}") from error
            yield {
                "task_id": task_id,
                "sites": [LIVE],
                "start_url": self._start_url,
                "intent": needed_text(row, "task"),
                "mutates": False,
                "eval": {"eval_types": [NAME], NAME: seal(answer, task_id)},
                "metadata": {"difficulty": row.get("difficulty")},
            }

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {NAME: AnswerScore()}


class AnswerScore:
    """The score of the answer, from 0 to 1."""

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        value = await asyncio.to_thread(score, closed.answer, str(unseal(task, NAME)))
        return Finding(value=value, why=f"AssistantBench's rule gives {value:.3f}")
