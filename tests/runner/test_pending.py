"""Pending jobs, decided from outcomes alone."""

from dataclasses import replace

import pytest

from harness.choices import Dialect
from harness.journal.index import EpisodeResult, IndexedScore, result_of
from harness.records import CloseReason, Episode, Eval, Opened, Status, Task
from harness.runner.pending import PendingPolicy, is_finished, pending_jobs, wants_retry
from harness.settings.run import RunSettings

TASK = Task(task_id="7", sites=("shop",), intent="Buy tea", start_urls=("about:blank",), eval=Eval(eval_types=()))
OPENED = Opened(attempt=1, trial=0, task=TASK, task_digest="t", config_digest="c", seed=0, at=0.0)
POLICY = PendingPolicy(scoring=Dialect.corrected)


def outcome(*, score: IndexedScore | None = None, failures: int = 0) -> EpisodeResult:
    begun = result_of(Episode(opened=OPENED))
    assert begun is not None
    closed = None if score is None else CloseReason.STOPPED
    return replace(begun, closed=closed, failures=failures, scores={} if score is None else {"corrected": score})


PASSED = IndexedScore(status=Status.OK, value=1.0, evaluator_version="1", why="")
FAILED = replace(PASSED, value=0.0)
UNJUDGED = replace(PASSED, status=Status.ERROR, value=None)


def test_every_trial_of_a_new_task_is_pending() -> None:
    assert [(job.task.task_id, job.trial, job.reopen_at) for job in pending_jobs((TASK,), 2, {}, POLICY)] == [
        ("7", 0, None),
        ("7", 1, None),
    ]


def test_a_scored_task_and_one_out_of_attempts_are_over() -> None:
    assert is_finished(outcome(score=FAILED), POLICY)
    assert is_finished(outcome(failures=3), POLICY)
    assert not is_finished(outcome(failures=2), POLICY)
    assert pending_jobs((TASK,), 1, {("7", 0): outcome(score=PASSED)}, POLICY) == ()


def test_a_closed_task_without_the_score_that_counts_is_pending() -> None:
    closed = replace(outcome(score=PASSED), scores={"webarena": PASSED})
    assert [job.reopen_at for job in pending_jobs((TASK,), 1, {("7", 0): closed}, POLICY)] == [None]


@pytest.mark.parametrize(
    ("retry", "reopened"),
    [
        (None, []),
        ("infra", ["error", "lost"]),
        ("failed", ["failed", "error", "lost"]),
        ("all", ["passed", "failed", "error", "lost"]),
    ],
)
def test_only_the_ended_tasks_that_were_asked_for_are_opened_again(retry: str | None, reopened: list[str]) -> None:
    ended = {
        "passed": outcome(score=PASSED),
        "failed": outcome(score=FAILED),
        "error": outcome(score=UNJUDGED),
        "lost": outcome(failures=3),
    }
    policy = replace(POLICY, run=RunSettings(retry=retry))
    assert [name for name, became in ended.items() if wants_retry(became, policy)] == reopened
