"""Jobs, outcomes and shared sites to schedule with."""

from collections.abc import Mapping
from typing import Any

from harness.episode.job import Job
from harness.journal.index import EpisodeResult, result_of
from harness.records import Eval, Record, Task
from harness.runner.executors.worker_messages import WorkerSetup
from harness.runner.site_locks import LockableSites, LockPlanner
from tests.journal.episodes import folded

ONE_EACH = {"shop": ("http://shop.a",), "forum": ("http://forum.a",)}
FOUR = {"shop": tuple(f"http://shop.{letter}" for letter in "abcd"), "forum": ("http://forum.a",)}


def a_job(task_id: str = "1", *sites: str, trial: int = 0, reopen_at: int | None = None, **fields: Any) -> Job:
    task = Task(
        task_id=task_id, sites=sites or ("shop",), intent="x", start_urls=(), eval=Eval(eval_types=()), **fields
    )
    return Job(task=task, trial=trial, reopen_at=reopen_at)


def reader(task_id: str, *sites: str) -> Job:
    return a_job(task_id, *sites, mutates=False)


def writer(task_id: str, *sites: str) -> Job:
    return a_job(task_id, *sites, mutates=True)


def site_of(url: str) -> str | None:
    host = url.split("/")[2]
    return host.removesuffix(".localhost") if host.endswith(".localhost") else None


class Journals:
    """What has become of jobs, by task id and trial; stands for the journals of a run folder."""

    def __init__(self, *outcomes: EpisodeResult) -> None:
        self.outcomes = {(outcome.task_id, outcome.trial): outcome for outcome in outcomes}

    def write(self, *records: Record) -> EpisodeResult:
        outcome = result_of(folded(records))
        assert outcome is not None
        self.outcomes[outcome.task_id, outcome.trial] = outcome
        return outcome

    def sharing(self, instances: Mapping[str, tuple[str, ...]] = ONE_EACH, **more: Any) -> LockPlanner:
        sites = LockableSites(instances=instances, site_of=site_of, **more)
        return LockPlanner(sites, tuple(self.outcomes.values()), lambda *place: self.outcomes.get(place))


def a_setup(number: int) -> WorkerSetup:
    """What a worker that is played by a test is made from: nothing."""
    return WorkerSetup(
        number=number,
        lanes=1,
        config={},
        config_digest="",
        prices={},
        secrets={},
        readable=(),
        folder="",
        lock_token=None,
        sites_port=None,
        base_url=None,
    )
