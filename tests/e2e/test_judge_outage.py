"""A judge whose endpoint is down, in a run and in `harness score`: found out once, and made up for later."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.codec import loads
from harness.main import main
from tests.e2e.conftest import PROJECT, Start
from tests.stub_endpoint import Said, Sent, said, stub_endpoint

pytestmark = pytest.mark.browser
TASKS, ATTEMPTS = 6, 2


def fuzzy_tasks(path: Path) -> str:
    """One demo task, several times, that only a judge can score."""
    task = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())[0]
    task["eval"] |= {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["anything"]}}
    path.write_text(json.dumps([task | {"task_id": number} for number in range(TASKS)]))
    return str(path)


def scored(folder: Path) -> list[float | None]:
    found = loads((folder / "rescored-corrected.json").read_bytes())
    return [one["scored"]["value"] for one in found["results"]]


def test_a_judge_that_is_down_is_found_out_once_and_the_run_is_scored_later(
    start: Callable[..., Start], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # `harness score` keeps what the judge replies
    is_down = True

    def answer(sent: Sent) -> Said:
        return Said(b'{"error": {"message": "overloaded"}}', status=503) if is_down else said({"content": "correct"})

    with stub_endpoint(answer) as judge:
        settings = ("judge.model=j", f"judge.base_url={judge.url}", f"judge.max_attempts={ATTEMPTS}")
        tasks = fuzzy_tasks(tmp_path / "tasks.json")
        done = start("agent=null", f"task.path={tasks}", "workers=1", "executor.lanes=1", *settings)
        assert done.code == 3 and done.summary["unscored"] == TASKS, done.out + done.err
        assert len(judge.sent) == ATTEMPTS, "one question, in one dialect"
        assert "not asked, as its endpoint has been down for" in done.out
        assert "; score the run again" in done.out
        assert f"{TASKS} ended without a score: harness score {done.folder}, with the settings" in done.out
        assert "unscored: run the same command" not in done.out
        second = start("agent=null", f"task.path={tasks}", "workers=1", "executor.lanes=1", *settings)
        assert f"{TASKS} ended without a score: harness score {done.folder}, with the settings" in second.out

        again = ("score", str(done.folder), *settings, "--scoring", "corrected")
        assert main(list(again)) == 3 and scored(done.folder) == [None] * TASKS
        assert len(judge.sent) <= ATTEMPTS * (1 + TASKS), "those that are asked at once are asked together"

        is_down = False
        assert main(list(again)) == 0 and scored(done.folder) == [1.0] * TASKS
