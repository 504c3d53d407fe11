"""Budgets hold against requests that a process sends at the same time: over real HTTP, to an endpoint that counts."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.protocols import ProgressEvent
from harness.records import CloseReason, EpisodeLimits
from harness.testing import MemoryJournal, ScriptedPages, a_task, play
from tests.plugins.process_agent.processes import HEAD, Model, agent_of

pytestmark = pytest.mark.integration
TOKENS = 10_000
TOGETHER = (
    HEAD
    + """
from concurrent.futures import ThreadPoolExecutor
ask("cheap")
with ThreadPoolExecutor(120) as pool:
    list(pool.map(lambda number: ask(str(number)), range(120)))
print(json.dumps({"answer": "done"}))
"""
)
"""Asks something that costs little, and then 120 questions at once."""


class Quiet:
    def tell(self, news: ProgressEvent) -> None:
        pass


class Costly(Model):
    """Counts what it is asked at once; everything but its first answer costs a lot."""

    def _answer(self, path: str) -> dict[str, Any]:
        tokens = 10 if len(self.seen) == 1 else TOKENS
        return super()._answer(path) | {"usage": {"prompt_tokens": tokens - 1, "completion_tokens": 1}}


async def test_120_requests_at_once_overspend_by_one_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.testing._LIMITS", EpisodeLimits(max_tokens=2 * TOKENS))
    journal, model = MemoryJournal(), Costly()
    async with agent_of(TOGETHER, tmp_path, model) as agent:
        episode = await play(agent, journal=journal)
    assert episode.closed is not None and episode.closed.reason is CloseReason.BUDGET
    assert len(model.seen) == 3 and 2 * TOKENS <= episode.usage.tokens < 3 * TOKENS


async def test_without_a_budget_they_are_under_way_together(tmp_path: Path) -> None:
    model = Costly()
    async with agent_of(TOGETHER, tmp_path, model) as agent:
        episode = await play(agent)
    assert episode.closed is not None and episode.closed.answer == "done" and len(model.seen) == 121


async def test_a_limit_of_the_tasks_own_benchmark_holds_for_its_requests(tmp_path: Path) -> None:
    journal, model = MemoryJournal(), Costly()
    async with agent_of(TOGETHER, tmp_path, model) as agent:
        deps = EpisodeDeps(
            agent=agent,
            evaluators={},
            artifacts=journal.artifacts,
            checkpoints=journal.artifacts,
            limits=EpisodeLimits(),
            limits_of=lambda task: EpisodeLimits(max_tokens=TOKENS),
            config_digest="",
            seed=0,
            progress=Quiet(),
            stopping=lambda: False,
        )
        await EpisodeRunner(deps, Job(task=a_task()), journal).play(nullcontext(ScriptedPages("[1] link 'one'")))
    assert journal.episode.closed is not None and journal.episode.closed.reason is CloseReason.BUDGET
    assert len(model.seen) == 2
