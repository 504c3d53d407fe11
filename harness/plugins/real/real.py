"""REAL's tasks: the replica is configured, played on, and asked for the difference that it made.

As in REAL's own runner a second tab opens `{url}/config?run_id=0&task_id=v1.…` and `{url}/finish` before the agent's
opens the site, and the end state is the JSON in the page `{url}/finish`. A check is a JMESPath query on that state with
the value it must have, a program that reads it (of the tasks of version 2), or a rubric for the answer.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from harness.api import LIVE, Benchmark, BenchmarkPage, CodecError, Evaluator, Task, loads
from harness.api.sealed_answers import seal
from harness.api.tasks import Fields, address, id_of, needed_text, read_rows
from harness.errors import PluginFailed
from harness.plugins.real.check_scripts import CheckScripts
from harness.plugins.real.state_checks import NAME, StateChecks, checked_query

_STATE = """async (limit_ms) => {
  for (const end = performance.now() + limit_ms; performance.now() < end;) {
    const found = document.querySelector("pre");
    if (found && found.innerText.trim()) { try { JSON.parse(found.innerText); return found.innerText; } catch {} }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}"""
_WITHIN_S = 5.0
_VERSION = "v1"
"""The version of tasks that do not name one, as in REAL's own code."""


class Real(Benchmark):
    """Tasks `{id, goal, website: {id, url}, evals: […], …}`: a folder of JSON files, or one of them.

    Args:
        path: The task file or folder.
        urls: By the id of a website where it is served, in the place of the address in the tasks.
    """

    def __init__(self, path: str | None = None, urls: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._scripts = CheckScripts(None if path is None else Path(path))
        self._urls = {str(name): str(url).rstrip("/") for name, url in (urls or {}).items()}

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        for row in read_rows(self._path):
            task_id, website = id_of(row, "id"), row.inner("website")
            site = website.text("id", "")
            version = row.text("version", _VERSION)
            url = (self._urls.get(site) or address(website, "url")).rstrip("/")
            yield {
                "task_id": task_id,
                "sites": [LIVE],
                "start_url": f"{url}/",
                "intent": needed_text(row, "goal"),
                "eval": {"eval_types": [NAME], NAME: seal([self._check(one) for one in _checks(row)], task_id)},
                "metadata": {"website": site, "difficulty": row.get("difficulty"), "url": url}
                | ({} if version == _VERSION else {"version": version}),
            }

    async def prepare(self, page: BenchmarkPage, task: Task, /) -> None:
        version = task.metadata["metadata"].get("version", _VERSION)
        query = urlencode({"run_id": "0", "task_id": f"{version}.{task.task_id}", "latency": "0"})
        async with page.tab(f"{_url(task)}/config?{query}") as second:
            await second.goto(f"{_url(task)}/finish")
        await page.goto(f"{_url(task)}/")

    async def evidence(self, page: BenchmarkPage, task: Task, /) -> Any:
        async with page.tab(f"{_url(task)}/finish") as second:
            found = await second.evaluate(_STATE, _WITHIN_S * 1000)
        if not isinstance(found, str):
            raise PluginFailed(f"{_url(task)}/finish shows no state as JSON within {_WITHIN_S:g} s")
        try:
            return loads(found)
        except CodecError as error:
            raise PluginFailed(f"the state that {_url(task)}/finish shows cannot be read: {error}") from error

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {NAME: StateChecks(self._scripts)}

    def _check(self, fields: Fields) -> dict[str, Any]:
        kind = fields.text("type", "") or ("script" if fields.has("script") else "")
        about = fields.text("description", "")
        match kind:
            case "jmespath":
                query = needed_text(fields, "query")
                try:
                    checked_query(query)
                except ValueError as error:
                    raise fields.wrong("query", f"is not JMESPath: {error}") from error
                if not fields.is_given("expected_value"):
                    raise fields.wrong("expected_value", "is missing; give the value that the query must have")
                return {"type": kind, "query": query, "expected": fields.get("expected_value"), "about": about}
            case "llm_boolean":
                return {"type": kind, "rubric": needed_text(fields, "rubric"), "about": about}
            case "script":
                try:
                    return {"type": kind, **self._scripts.check_of(needed_text(fields, "script")), "about": about}
                except ValueError as error:
                    raise fields.wrong("script", str(error)) from error
        raise fields.wrong("type", f"is {kind[:40]!r}; choose jmespath, llm_boolean or script, or leave this task out")


def _url(task: Task) -> str:
    return str(task.metadata["metadata"]["url"])


def _checks(row: Fields) -> tuple[Fields, ...]:
    if not (found := row.inners("evals")):
        raise row.wrong("evals", "is empty; a task needs a check")
    return found
