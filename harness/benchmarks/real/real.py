"""REAL's tasks: the replica is configured, played on, and asked for the difference that it made.

As in REAL's own runner an episode begins at `{url}/config?run_id=0&task_id=…`, and its end state is the JSON in the
page `{url}/finish`. A check is a JMESPath query on that state with the value it must have, or a rubric for the answer.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from harness.api import Benchmark, BenchmarkPage, Evaluator, Task
from harness.benchmarks.real.state_checks import NAME, StateChecks, checked_query
from harness.benchmarks.sealed_answers import seal
from harness.benchmarks.task_rows import address, id_of, needed_text, read_rows
from harness.config.live_settings import LIVE
from harness.errors import PluginFailed
from harness.tasks.validation import Fields

_STATE = """async (limit_ms) => {
  for (const end = performance.now() + limit_ms; performance.now() < end;) {
    const found = document.querySelector("pre");
    if (found && found.innerText.trim()) { try { return { state: JSON.parse(found.innerText) }; } catch (error) {} }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}"""
_WITHIN_S = 5.0


class Real(Benchmark):
    """Tasks `{id, goal, website: {id, url}, evals: […], …}`: a folder of JSON files, or one of them.

    Args:
        path: The task file or folder.
        urls: By the id of a website where it is served, in the place of the address in the tasks.
    """

    def __init__(self, path: str | None = None, urls: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._urls = {str(name): str(url).rstrip("/") for name, url in (urls or {}).items()}

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        for row in read_rows(self._path):
            task_id, website = id_of(row, "id"), row.inner("website")
            site = website.text("id", "")
            url = (self._urls.get(site) or address(website, "url")).rstrip("/")
            yield {
                "task_id": task_id,
                "sites": [LIVE],
                "start_url": f"{url}/",
                "intent": needed_text(row, "goal"),
                "eval": {"eval_types": [NAME], NAME: seal([_check(one) for one in _checks(row)], task_id)},
                "metadata": {"website": site, "difficulty": row.get("difficulty"), "url": url},
            }

    async def prepare(self, page: BenchmarkPage, task: Task, /) -> None:
        query = urlencode({"run_id": "0", "task_id": task.task_id, "latency": "0"})
        await page.goto(f"{_url(task)}/config?{query}")
        await page.goto(f"{_url(task)}/")

    async def evidence(self, page: BenchmarkPage, task: Task, /) -> Any:
        await page.goto(f"{_url(task)}/finish")
        found = await page.evaluate(_STATE, _WITHIN_S * 1000)
        if not isinstance(found, dict):
            raise PluginFailed(f"{_url(task)}/finish shows no state as JSON within {_WITHIN_S:g} s")
        return found["state"]

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {NAME: StateChecks()}


def _url(task: Task) -> str:
    return str(task.metadata["metadata"]["url"])


def _checks(row: Fields) -> tuple[Fields, ...]:
    if not (found := row.inners("evals")):
        raise row.wrong("evals", "is empty; a task needs a check")
    return found


def _check(fields: Fields) -> dict[str, Any]:
    kind = fields.text("type", "script" if fields.has("script") else None)
    about = fields.text("description", "")
    match kind:
        case "jmespath":
            query = needed_text(fields, "query")
            try:
                checked_query(query)
            except ValueError as error:
                raise fields.wrong("query", f"is not JMESPath: {error}") from error
            return {"type": kind, "query": query, "expected": fields.get("expected_value"), "about": about}
        case "llm_boolean":
            return {"type": kind, "rubric": needed_text(fields, "rubric"), "about": about}
        case "script":
            raise fields.wrong("type", "is script: the checks of a task are not run as programs; leave this task out")
    raise fields.wrong("type", f"is {kind[:40]!r}; jmespath and llm_boolean are evaluated here; leave this task out")
