"""`run.retry` asks once: whatever is killed in between, each task is opened anew once, and then the command asks
anew.
"""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from harness.choices import Dialect
from harness.errors import JournalError
from harness.evaluation.retry_request import RETRY_NAME, remember, settle, standing
from harness.journal.index import EpisodeResult
from harness.journal.store import RunFolder
from harness.runner.pending import PendingPolicy, pending_jobs
from harness.settings.run import RunSettings
from tests.runner.test_pending import FAILED, PASSED, TASK, outcome

TASKS = tuple(replace(TASK, task_id=task_id) for task_id in "123")


def a_policy(retry: str | None = "all") -> PendingPolicy:
    return PendingPolicy(scoring=Dialect.corrected, run=RunSettings(retry=retry))


def came_to(**states: str | tuple[int, str]) -> dict[tuple[str, int], EpisodeResult]:
    """Task `t1` to `passed`, `failed` or `open`, or to its attempt and that."""
    found = {}
    for name, state in states.items():
        attempt, kind = state if isinstance(state, tuple) else (1, state)
        score = {"passed": PASSED, "failed": FAILED}.get(kind)
        found[name[1:], 0] = replace(outcome(score=score), task_id=name[1:], attempt=attempt)
    return found


class Runs:
    """Starts of one command."""

    def __init__(self, run: RunFolder, retry: str | None = "all") -> None:
        self.run, self.policy = run, a_policy(retry)

    def start(self, outcomes: Mapping[tuple[str, int], EpisodeResult]) -> str:
        """Its pending jobs, as in `1+ 2` (+ = opened anew)."""
        jobs = pending_jobs(TASKS, 1, outcomes, standing(self.policy, self.run.path, TASKS, outcomes, trials=1))
        if jobs:
            remember(self.policy, self.run, TASKS, outcomes, trials=1)
        return " ".join(job.task.task_id + "+" * (job.reopen_at is not None) for job in jobs)

    def end(self, outcomes: Mapping[tuple[str, int], EpisodeResult]) -> bool:
        settle(self.policy, self.run, TASKS, outcomes, trials=1)
        return not (self.run.path / RETRY_NAME).exists()


def test_a_retry_that_was_killed_is_finished_and_then_asked_for_anew(run: RunFolder) -> None:
    command = Runs(run)
    assert command.start(came_to(t1="passed", t2="failed", t3="open")) == "1+ 2+ 3"
    half = came_to(t1=(2, "passed"), t2=(2, "open"), t3=(1, "passed"))
    assert command.start(half) == "2", "1 was retried, 2 goes on, 3 was not over when it was asked"
    assert not command.end(half)
    done = came_to(t1=(2, "passed"), t2=(2, "failed"), t3=(1, "passed"))
    assert command.start(done) == "", "killed just before it was said: it is said, and nothing played"
    assert command.end(done)
    assert command.start(done) == "1+ 2+ 3+"


def test_what_was_asked_for_a_trial_that_a_command_leaves_out_is_kept(run: RunFolder) -> None:
    policy, tasks = a_policy(), TASKS[:1]

    def came(*attempts: int) -> dict[tuple[str, int], EpisodeResult]:
        state = came_to(t1="passed")["1", 0]
        return {("1", trial): replace(state, trial=trial, attempt=attempt) for trial, attempt in enumerate(attempts)}

    remember(policy, run, tasks, came(1, 1), trials=2)
    settle(a_policy(None), run, tasks, came(2, 1), trials=1)
    jobs = pending_jobs(tasks, 2, came(2, 1), standing(policy, run.path, tasks, came(2, 1), trials=2))
    assert [(job.trial, job.reopen_at) for job in jobs] == [(1, 1)]


def test_a_divergence_within_the_retry_is_no_second_one(run: RunFolder) -> None:
    command = Runs(run)
    command.start(came_to(t1="passed", t2="passed", t3="passed"))
    assert command.start(came_to(t1=(3, "passed"), t2=(2, "open"), t3=(1, "passed"))) == "2 3+"


def test_what_fails_while_failed_ones_are_retried_is_left_for_the_next_time(run: RunFolder) -> None:
    command = Runs(run, "failed")
    assert command.start(came_to(t1="failed", t2="passed", t3="open")) == "1+ 3"
    later = came_to(t1=(2, "failed"), t2="passed", t3="failed")
    assert command.start(later) == "" and command.end(later)
    assert command.start(later) == "1+ 3+"


def test_another_way_of_asking_is_another_request(run: RunFolder) -> None:
    Runs(run, "all").start(came_to(t1="passed", t2="failed", t3="passed"))
    half = came_to(t1=(2, "passed"), t2=(1, "failed"), t3=(1, "passed"))
    assert Runs(run, None).start(half) == "" and Runs(run, "failed").start(half) == "2+"
    assert Runs(run, "all").start(half) == "1+ 2+ 3+", "that of `failed` took its place"


def test_what_a_plain_command_has_finished_is_asked_for_anew(run: RunFolder) -> None:
    command, plain = Runs(run, "failed"), Runs(run, None)
    assert command.start(came_to(t1="passed", t2="failed", t3="failed")) == "2+ 3+"
    half = came_to(t1="passed", t2=(2, "open"), t3="failed")
    assert plain.start(half) == "2"
    half = came_to(t1="passed", t2=(2, "failed"), t3="failed")
    assert not plain.end(half) and command.start(half) == "3+", "3 was asked for, and not reopened yet"
    assert plain.start(came_to(t1="passed", t2=(2, "failed"), t3=(2, "open"))) == "3"
    done = came_to(t1="passed", t2=(2, "failed"), t3=(2, "failed"))
    assert plain.end(done) and command.start(done) == "2+ 3+"


def test_tasks_left_out_of_the_command_keep_their_request(run: RunFolder) -> None:
    everything, one = came_to(t1="passed", t2="passed", t3="passed"), TASKS[:1]
    remember(a_policy(), run, TASKS, everything, trials=1)
    after = came_to(t1=(2, "passed"), t2="passed", t3="passed")
    settle(a_policy(), run, one, after, trials=1)
    kept = json.loads((run.path / RETRY_NAME).read_bytes())
    assert [entry[0] for entry in kept["asked"]] == ["2", "3"]
    assert pending_jobs(one, 1, after, standing(a_policy(), run.path, one, after, trials=1))[0].reopen_at, (
        "of 1 it is asked anew"
    )


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"retry":"all"}', b'{"retry":"all","asked":[["1"]]}'])
def test_a_damaged_request_is_a_sentence(run: RunFolder, data: bytes) -> None:
    run.write(RETRY_NAME, data)
    with pytest.raises(JournalError, match=r"retry.json is damaged; restore it, or delete it"):
        standing(a_policy(), run.path, TASKS, {}, trials=1)
