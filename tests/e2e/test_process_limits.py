"""What an agent's process cannot do to its run: end it, overspend it, fill its disk."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.journal.log import read
from harness.records import CloseReason, Episode
from tests.e2e.conftest import Start
from tests.plugins.process_agent.processes import HEAD
from tests.plugins.process_agent.test_budgets import TOGETHER, TOKENS
from tests.stub_endpoint import Said, Sent, said, stub_endpoint

pytestmark = [pytest.mark.browser, pytest.mark.integration]
Plays = Callable[..., Start]
ODD = (
    HEAD
    + """
found = [post("/v1/chat/completions", {"model": "nope", "messages": []})[0]]
found += [post("/v1/chat/completions", {"model": "m", "messages": 7})[0] for _ in range(9)]
act("stop", answer=json.dumps(found))
"""
)
FLOOD = (
    HEAD
    + """
for number in range(60):
    ask(str(number) + "x" * 1_000_000)
print(json.dumps({"answer": "done"}))
"""
)


@pytest.fixture
def plays(start: Callable[..., Start], tmp_path: Path) -> Plays:
    """Run a script as the agent, at an endpoint."""

    def run(script: str, url: str, *settings: str) -> Start:
        (path := tmp_path / "agent.py").write_text(script)
        own = ("agent=process", f"agent.command=[{sys.executable},{path}]", "agent.sandbox=none", "llm=openai")
        return start(*own, "llm.model=m", f"llm.base_url={url}", "llm.api_key=key", *settings)

    return run


def episodes(done: Start) -> list[Episode]:
    return [read(path) for path in sorted(done.folder.glob("*.traj.jsonl"))]


def test_odd_requests_of_every_process_are_answered_and_every_task_is_scored(plays: Plays) -> None:
    with stub_endpoint(lambda sent: Said(b"{}", 404 if b"nope" in sent.body else 400)) as endpoint:
        done = plays(ODD, endpoint.url, "task.limit=2", "executor=inline")
    assert done.code == 0 and done.summary["unscored"] == 0, done.err
    answers = {one.closed.answer for one in episodes(done) if one.closed is not None}
    assert answers == {str([404] + [400] * 9)}


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_a_budget_of_the_run_is_overspent_by_one_request_a_lane(plays: Plays, executor: str) -> None:
    def answer(sent: Sent) -> Said:
        return said({"content": "hi"}, usage={"prompt_tokens": TOKENS - 1, "completion_tokens": 1})

    with stub_endpoint(answer) as endpoint:
        lanes = ("task.limit=2", "executor.lanes=2", f"executor={executor}")
        done = plays(TOGETHER, endpoint.url, "run.max_tokens=30000", *lanes)
    spent = sum(one.total_usage.tokens for one in episodes(done))
    assert 3 * TOKENS <= spent <= 5 * TOKENS and len(endpoint.sent) <= 5, (spent, done.err)
    assert "run.max_tokens=30000" in done.out + done.err


@pytest.mark.slow
def test_the_disk_of_an_attempt_is_bounded(plays: Plays) -> None:
    most = 8
    with stub_endpoint(lambda _: said({"content": "hi"})) as endpoint:
        done = plays(FLOOD, endpoint.url, "task.limit=1", "executor=inline", f"limits.max_disk_mb={most}")
    (episode,) = episodes(done)
    assert episode.closed is not None and episode.closed.reason is CloseReason.BUDGET, done.err
    assert "8 MB on disk" in episode.closed.detail and done.code == 0
    kept = sum(path.stat().st_size for path in (done.folder / "artifacts").rglob("*") if path.is_file())
    assert most - 2 < kept >> 20 < most + 2 and len(endpoint.sent) < 12
