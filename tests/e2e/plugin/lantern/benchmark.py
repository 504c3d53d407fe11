"""A benchmark of its own: each page of the row is worth something, and the last one ends the episode."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness.api import Action, Artifacts, Benchmark, BenchmarkPage, Closed, Evaluator, Finding, Reward, Task


class Row(Benchmark):
    def __init__(self, pages: int, patience: int | None = None) -> None:
        self._pages = pages
        self._patience = patience

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        for number in range(2):
            yield {
                "task_id": f"row-{number}",
                "sites": ["lantern"],
                "start_url": "__LANTERN__/0",
                "intent": "Turn all pages",
                "mutates": False,
                "eval": {"eval_types": ["reward", "seeded"]},
            }

    async def prepare(self, page: BenchmarkPage, task: Task, /) -> None:
        await page.evaluate("(seed) => { document.body.dataset.seed = seed; }", page.seed)
        await page.evaluate("(text) => document.body.append(text)", f" begins with {page.seed}")

    async def reward(self, page: BenchmarkPage, task: Task, /) -> Reward:
        number = int(page.url.rpartition("/")[2])
        return Reward(value=number / self._pages, done=number >= self._pages)

    async def evidence(self, page: BenchmarkPage, task: Task, /) -> Any:
        return {"seed": page.seed, "title": await page.evaluate("document.title")}

    def stop(self, task: Task, actions: Sequence[Action], /) -> str | None:
        """Ends with so many actions of one kind in a row."""
        kinds = {action.kind for action in actions[-(self._patience or 1) :]}
        is_enough = self._patience is not None and len(actions) >= self._patience and len(kinds) == 1
        return f"{self._patience} times {kinds.pop()} is enough" if is_enough else None

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {"seeded": Seeded()}


class Seeded:
    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        assert closed.evidence.benchmark is not None
        kept = json.loads(artifacts.read(closed.evidence.benchmark))
        return Finding(value=float(kept["title"] == "Lantern"), why=f"seed {kept['seed']}")
