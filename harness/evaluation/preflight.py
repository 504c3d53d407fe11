"""What tasks need besides settings, looked at before a browser starts and a model is paid: sites, and a judge."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from harness.api import JudgedEvaluator
from harness.browser.driver.executable import find
from harness.config import Config
from harness.episode.job import Job
from harness.evaluation.builder import build_benchmark, build_evaluators
from harness.evaluation.endpoint_settings import check_keys, load_prices
from harness.evaluation.site_preflight import SiteFindings, look_at_sites
from harness.journal.index import Outcomes
from harness.records import Task
from harness.registry import Registry
from harness.settings.executor import ExecutorSettings

LEFT_JOBS = Registry(group="cairn.left_jobs", noun="executor.kind")
"""Name of an executor, and of its folder in a run folder, to what refuses a start with another one while jobs of it
are at work: called with the run folder, it raises a `UsageError`."""


def refuse_left_jobs(config: Config, run: Path) -> None:
    """Raises: UsageError: Jobs that another executor has left at work play the run's tasks."""
    for name in LEFT_JOBS.names():
        if name != config.executor.kind and (run / name).is_dir():
            LEFT_JOBS.find(name)(run)


async def check_before(
    config: Config,
    run: Path,
    jobs: Sequence[Job],
    outcomes: Outcomes,
    *,
    say: Callable[[str], None],
) -> None:
    """Say what is missing for these jobs of the run in this folder.

    Raises:
        UsageError: Jobs of another executor are playing them.
        ConfigError: A key is missing, sites that they need cannot be reached, or there is no browser.
    """
    refuse_left_jobs(config, run)
    check_keys(config.llm, config.judge)
    found = await _sites(config, tasks_on_sites(jobs, outcomes))
    is_local = is_seen_from_here(config.executor)
    for sentence in (*found.doubtful, *(() if is_local else found.refused)):
        say(sentence)
    if is_local:
        find(config.browser.executable, headless=config.browser.headless)
        found.check()
    for sentence in _unmet(config, [job.task for job in jobs]):
        say(sentence)


async def what_is_missing(config: Config, tasks: Sequence[Task]) -> list[str]:
    """What is missing for tasks that are not played now, a sentence each."""
    found = await _sites(config, tasks)
    return [*found.refused, *found.doubtful, *_unmet(config, tasks)]


def _unmet(config: Config, tasks: Sequence[Task]) -> list[str]:
    """What settings ask for and cannot have, a sentence each."""
    return [sentence for sentence in (missing_judge(config, tasks), missing_price(config)) if sentence]


def missing_price(config: Config) -> str:
    """The sentence about limits of cost for a model without a price; "" = there are none."""
    limits = {"run.max_cost_usd": config.run.max_cost_usd, "limits.max_cost_usd": config.limits.max_cost_usd}
    names = [name for name, limit in limits.items() if limit is not None]
    if not names or config.llm.kind == "none" or config.llm.model in load_prices(config.llm):
        return ""
    return (
        f"llm.model={config.llm.model} has no price, so its replies count as free for {' and '.join(names)}, unless"
        " they name a model that has one; add it to a copy of configs/prices.yaml, and give that as llm.prices"
    )


def missing_judge(config: Config, tasks: Iterable[Task]) -> str:
    """The sentence about tasks that need a judge where none is set; "" = nothing is missing."""
    if not (number := len(unjudged_tasks(config, tasks))):
        return ""
    tasks_may = "1 task may" if number == 1 else f"{number} tasks may"
    return (
        f"{tasks_may} need a judge, and none is set: what only a judge can decide stays unscored; set one, as in"
        " judge=openai judge.model=NAME, now or later with harness score"
    )


def unjudged_tasks(config: Config, tasks: Iterable[Task]) -> set[str]:
    """Ids of the tasks that need a judge, where none is set."""
    if config.judge.model or config.judge._target_:
        return set()
    further = build_evaluators(config, build_benchmark(config.task))
    judged = {name for name, one in further.items() if isinstance(one, JudgedEvaluator)}
    return {task.task_id for task in tasks if _is_judged(task, judged)}


def tasks_on_sites(jobs: Iterable[Job], outcomes: Outcomes) -> Sequence[Task]:
    """The tasks of jobs that use their sites: those that only lack a score do not."""

    def is_played(job: Job) -> bool:
        became = outcomes.get((job.task.task_id, job.trial))
        return became is None or became.closed is None or job.reopens(became.attempt)

    return tuple({job.task.task_id: job.task for job in jobs if is_played(job)}.values())


async def _sites(config: Config, tasks: Sequence[Task]) -> SiteFindings:
    if config.executor.kind == "slurm" and config.executor._target_ is None:
        return SiteFindings()  # each job looks where it runs
    return await look_at_sites(config.sites, tasks)


def is_seen_from_here(executor: ExecutorSettings) -> bool:
    """Whether this machine reaches what the workers reach; those of a cluster may be in another network."""
    return executor._target_ is None and not (executor.kind == "ray" and executor.address)


def _is_judged(task: Task, judged: set[str]) -> bool:
    kinds = task.eval.eval_types
    fuzzy = "string_match" in kinds and "fuzzy_match" in (task.eval.reference_answers or {})
    return fuzzy or not judged.isdisjoint(kinds)
