"""WebVoyager's tasks: start on the given site, judged by the answer and the last screenshots."""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.api import LIVE, Benchmark, Evaluator
from harness.api.tasks import address, id_of, needed_text, read_rows
from harness.plugins.webvoyager.last_screenshots import LastScreenshots


class WebVoyager(Benchmark):
    """Rows `{web_name, id, ques, web}` of `WebVoyager_data.jsonl`.

    Args:
        path: The task file.
        last: Screenshots that the judge is shown.
        prompts: Of the judge, in the published scoring.
    """

    def __init__(self, path: str | None = None, last: int = 15, prompts: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._judge = LastScreenshots(last, prompts)

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        for row in read_rows(self._path):
            yield {
                "task_id": id_of(row, "id"),
                "sites": [LIVE],
                "start_url": address(row, "web"),
                "intent": needed_text(row, "ques"),
                "eval": {"eval_types": ["last_screenshots"]},
                "metadata": {"web_name": row.get("web_name")},
            }

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {"last_screenshots": self._judge}
