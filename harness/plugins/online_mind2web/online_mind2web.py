"""Online-Mind2Web's tasks: start on the given site, judged by WebJudge."""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.api import LIVE, Benchmark, Evaluator
from harness.api.tasks import address, id_of, needed_text, read_rows
from harness.plugins.online_mind2web.webjudge import WebJudge


class OnlineMind2Web(Benchmark):
    """Rows `{task_id, confirmed_task, website, reference_length, level}` of `Online_Mind2Web.json`.

    Args:
        path: The task file.
        threshold: Of WebJudge.
        max_screenshots: Of WebJudge.
        prompts: Of WebJudge, in the published scoring.
    """

    def __init__(
        self,
        path: str | None = None,
        threshold: int = 3,
        max_screenshots: int = 50,
        prompts: Mapping[str, str] | None = None,
    ) -> None:
        self._path = path
        self._judge = WebJudge(threshold, max_screenshots, prompts)

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        for row in read_rows(self._path):
            yield {
                "task_id": id_of(row, "task_id"),
                "sites": [LIVE],
                "start_url": address(row, "website"),
                "intent": needed_text(row, "confirmed_task"),
                "eval": {"eval_types": ["webjudge"]},
                "metadata": {"level": row.get("level"), "reference_length": row.get("reference_length")},
            }

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {"webjudge": self._judge}
