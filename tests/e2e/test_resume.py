"""The same command again, and with something changed: what is kept, what is refused, what is done anew."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Start
from tests.e2e.test_run import running
from tests.waiting import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
Starter = Callable[..., Start]
ONE = ("task=smoke", "task.ids=[0]", "workers=1", "run.report=false")
OTHER = ("task=smoke", "task.ids=[1]", "workers=1", "run.report=false")
TWO = ("task=smoke", "task.ids=[0,1]", "workers=1", "run.report=false")
KEY = "not-a-pattern-7Qz81KxW"
PASSWORD = "thimble.42"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def requests_of(done: Start) -> int:
    return int(done.summary["invocation"]["model_requests"])


def test_other_measuring_settings_are_refused_by_name_or_accepted_and_kept(start: Starter) -> None:
    assert start(*ONE).code == 0
    refused = start(*ONE, "limits.max_steps=20", "llm.temperature=0.5", "run.seed=5")
    assert refused.code == 2
    assert all(name in refused.err for name in ("limits.max_steps", "llm.temperature", "run.seed"))
    # Of another task: with `run.retry` both stand in one table.
    refused = start(*OTHER, "run.retry=failed", "llm.temperature=0.5")
    assert refused.code == 2 and "llm.temperature" in refused.err
    assert not (refused.folder / "drift.jsonl").exists()
    for _ in range(2):
        accepted = start(*ONE, "limits.max_steps=20", "resume.accept_drift=true")
        assert accepted.code == 0, accepted.err
    (drift,) = lines(accepted.folder / "drift.jsonl")
    assert drift["changed"] == {"limits.max_steps": [30, 20]}
    assert start(*ONE, "workers=2", "llm.timeout_s=60").code == 0, "how it is executed may change freely"


def test_what_is_damaged_beside_the_journals_is_a_sentence_before_anything_is_played(start: Starter) -> None:
    done = start(*ONE)
    assert done.code == 0
    journal = (done.folder / "0.traj.jsonl").read_bytes()
    (done.folder / "drift.jsonl").write_bytes(b'{"at":1,"from":"a","to":"b","changed":{}}\n{"at"')
    refused = start(*ONE, "limits.max_steps=20", "resume.accept_drift=true")
    assert refused.code == 3 and "Traceback" not in refused.err + refused.out
    assert "drift.jsonl:2: this line is damaged; restore the file, or move it away" in refused.err
    (done.folder / "drift.jsonl").unlink()

    (config,) = {record["config_digest"] for record in lines(done.folder / "0.traj.jsonl") if "config_digest" in record}
    (done.folder / "artifacts" / config[:2] / config).write_bytes(b"{}")
    refused = start(*ONE, "limits.max_steps=20")
    assert refused.code == 2 and "with other settings (unknown which" in refused.err
    assert start(*ONE, "run.retry=all").code == 0, "with the same settings it is put back"

    journal = (done.folder / "0.traj.jsonl").read_bytes()
    (done.folder / "1.traj.jsonl").write_bytes(journal)
    refused = start(*TWO)
    assert refused.code == 3 and "1.traj.jsonl is a copy of 0.traj.jsonl, or was renamed" in refused.err
    assert (done.folder / "1.traj.jsonl").read_bytes() == journal, "nothing was played on"


def test_a_budget_of_the_whole_run_holds_over_starts_and_can_be_raised(start: Starter) -> None:
    spent = start(*TWO, "run.max_tokens=1000")
    asked = [requests_of(spent)]
    assert spent.code == 3, spent.err
    assert "run.max_tokens=1000 is reached; raise it and run the same command to continue" in spent.out
    assert "run.retry" not in spent.out, "nothing broke: there is nothing to try again"
    assert asked[-1] < 4
    again = start(*TWO, "run.max_tokens=1000")
    assert again.code == 3 and "is reached" in again.out and requests_of(again) == 0
    further = start(*TWO, "run.max_tokens=3000", "executor=inline")
    asked.append(requests_of(further))
    assert further.code == 3 and "run.max_tokens=3000 is reached" in further.out
    assert 0 < asked[-1] < 4
    raised = start(*TWO, "run.max_tokens=1000000")
    asked.append(requests_of(raised))
    assert raised.code == 0 and raised.summary["passed"] == 2
    kept = [line for path in raised.folder.glob("*.traj.jsonl") for line in lines(path)]
    assert sum(asked) == sum(line["kind"] == "decided" for line in kept), "what was paid for was kept"
    done = start(*TWO, "run.max_tokens=1000")
    assert done.code == 0 and "is reached" not in done.out, "no job is pending: there is nothing to stop"


def test_a_retry_is_a_new_attempt_that_leaves_the_old_one_on_disk(start: Starter) -> None:
    first = start(*ONE)
    before = (first.folder / "0.traj.jsonl").read_bytes()
    assert requests_of(start(*ONE, "run.retry=failed")) == 0, "nothing failed"
    again = start(*ONE, "run.retry=all")
    after = (again.folder / "0.traj.jsonl").read_bytes()
    assert again.code == 0 and after.startswith(before) and len(after) > len(before)
    opened = [line for line in lines(again.folder / "0.traj.jsonl") if line["kind"] == "opened"]
    assert [(line["attempt"], line["why"]) for line in opened] == [(1, "first"), (2, "retry")]


def test_a_retry_that_is_killed_half_way_plays_nothing_a_third_time(start: Starter, tmp_path: Path) -> None:
    few = ("task=smoke", "task.limit=4", "workers=1", "run.report=false")
    done = start(*few)
    assert done.code == 0
    begun = {path.name: len(lines(path)) for path in done.folder.glob("*.traj.jsonl")}

    def retried() -> list[int]:
        """Attempts of each task."""
        paths = sorted(done.folder.glob("*.traj.jsonl"))
        return [path.read_bytes().count(b'{"kind":"opened"') for path in paths]

    with running(*few, "run.retry=all", root=tmp_path / "results") as process:
        wait_until(lambda: sum(retried()) >= len(begun) + 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    again = start(*few, "run.retry=all")
    assert again.code == 0, again.err
    assert retried() == [2, 2, 2, 2], "the same command finished what was asked for"
    assert not (done.folder / "retry.json").exists()
    once_more = start(*few, "run.retry=all")
    assert once_more.code == 0 and retried() == [3, 3, 3, 3], "and then asks anew"


def test_trials_are_journals_of_their_own_and_more_can_be_asked_for_later(start: Starter) -> None:
    tokens = start(*ONE).summary["tokens"]
    more = start(*ONE, "trials=2", f"run.max_tokens={2 * tokens}", "run.report=true")
    assert more.code == 0
    assert "run budget reached" in more.out and (more.folder / "report" / "index.html").exists(), (
        "by the last decision: all is done"
    )
    assert [path.name for path in sorted(more.folder.glob("*.traj.jsonl"))] == ["0.traj.jsonl", "0.trial-1.traj.jsonl"]
    assert requests_of(more) == sum(line["kind"] == "decided" for line in lines(more.folder / "0.trial-1.traj.jsonl"))


def test_no_key_and_no_password_is_anywhere_in_a_run_folder(start: Starter) -> None:
    done = start(
        "task=smoke", "task.ids=[2]", f"llm.api_key={KEY}", "llm.max_attempts=2", env={"OTHER_API_KEY": f"{KEY}-2"}
    )
    assert done.code == 0, done.err
    files = [path for path in done.folder.rglob("*") if path.is_file() and "private" not in path.parts]
    assert len(files) > 10
    for path in files:
        data = path.read_bytes()
        assert KEY.encode() not in data, path
        assert PASSWORD.encode() not in data, path
