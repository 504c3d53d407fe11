"""What `run.json` says of a run: what it is about, and with what it is made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.codec import JsonObject, digest
from harness.config import Config
from harness.evaluation.config_drift import check_config_drift, check_task_drift
from harness.evaluation.embedded import plans_digest
from harness.evaluation.provenance import describe, describe_asked, environment
from harness.evaluation.version_drift import PLANS, SITES, VERSIONS, check_version_drift, recorded_versions, versions
from harness.journal.index import Outcomes
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runs.about import DESCRIPTION, RunInfo, run_info
from harness.runs.measures import TASK_KEYS
from harness.tasks.further_keys import TASK_KEYS as KNOWN


def check_drift(  # noqa: PLR0913 (what a start is compared with)
    config: Config,
    run: RunFolder,
    tasks: Sequence[Task],
    *,
    digests: Mapping[str, str],
    outcomes: Outcomes,
    accepted: Callable[[str], None] | None,
) -> str:
    """See that a start goes on with what the run began with; arguments and errors are as of `check_config_drift`.

    Returns:
        The digest of the settings.
    """
    check_task_drift(tasks, run, digests=digests, outcomes=outcomes, accepted=accepted)
    ids = about(config, tasks, run.path).tasks
    found = check_config_drift(config.measured(), run, tasks=ids, outcomes=outcomes, accepted=accepted)
    # What the scripted endpoint plays is a setting: other plans are refused also where no job is pending.
    check_version_drift(_plans_version(config), run, is_begun=bool(outcomes), accepted=accepted)
    return found


def _plans_version(config: Config) -> dict[str, str]:
    plans = plans_digest(config.llm, config.task)
    return {} if plans is None else {PLANS: plans}


def describe_run(  # noqa: PLR0913 (what a run is)
    config: Config,
    run: RunFolder,
    tasks: Sequence[Task],
    *,
    config_digest: str,
    is_begun: bool,
    accepted: Callable[[str], None] | None,
    is_open: bool = False,
) -> None:
    """Write down with what the run is made, once it can be: versions are those of before.

    Args:
        is_open: Its episodes are asked for while it goes on: which they are is left to its journals.
    """
    now, measured = environment(config.browser), config.measured()
    found = versions(now, config.sites, tasks)
    check_version_drift(found, run, is_begun=is_begun, accepted=accepted)
    # `check_drift` has compared it, also where no job is pending.
    found |= _plans_version(config)
    ours = {name for task in tasks for name in task.sites}
    if is_begun:  # of sites that only tasks have which are left out now: a later start is compared with them
        before = {name: version for name, version in recorded_versions(run).items() if name.startswith(SITES)}
        found |= {name: before[name] for name in before if name.removeprefix(SITES) not in ours}
    names = sorted(ours | _sites_of_the_rest(config, run.path))
    known = {
        "config_digest": config_digest,
        VERSIONS: found,
        **_task_keys(config, run.path, tasks),
        "sites": {name: found.get(SITES + name) for name in names},
        "prompt": digest(
            {name: measured[name] for name in sorted(measured) if name.startswith(("agent.", "action_set"))}
        ),
    }
    info = about(config, tasks, run.path)
    describe(run, config.tree(), replace(info, tasks=()) if is_open else info, now=now, known=known)


def describe_unplayed(config: Config, run: RunFolder, tasks: Sequence[Task]) -> None:
    """Write down what a start asks for that plays nothing."""
    describe_asked(run, about(config, tasks, run.path), known=_task_keys(config, run.path, tasks))


def about(config: Config, tasks: Sequence[Task], folder: Path) -> RunInfo:
    """What the run is about now: a retry of some of its tasks leaves it the others.

    Why: docs/decisions/resume.md#a-retry-of-some-tasks-leaves-a-run-the-others
    """
    ids, trials = [task.task_id for task in tasks], config.trials
    if config.run.retry is not None:
        before = run_info(folder)
        ids, trials = [*before.tasks, *ids], max(trials, before.trials)
    return RunInfo(
        name=config.run.id,
        dialect=config.scoring.value,
        model=config.llm.model,
        agent=config.agent.name,
        tasks=tuple(dict.fromkeys(ids)),
        trials=trials,
        benchmarks=weights(config),
        benchmark=config.task.name,
    )


def _before_retry(config: Config, folder: Path) -> JsonObject:
    """`run.json`, as far as a retry keeps what it says of tasks; {} = this is none."""
    return {} if config.run.retry is None else DESCRIPTION.find(folder) or {}


def _task_keys(config: Config, folder: Path, tasks: Sequence[Task]) -> dict[str, list[str]]:
    """The keys of plug-ins that some tasks of the run have; {} = none has any."""
    had = _before_retry(config, folder).get(TASK_KEYS)
    kept = had if isinstance(had, list) else []
    found = [key for key in KNOWN.names() if key in kept or any(key in task.metadata for task in tasks)]
    return {TASK_KEYS: found} if found else {}


def _sites_of_the_rest(config: Config, folder: Path) -> set[str]:
    found = _before_retry(config, folder).get("sites")
    return set(found) if isinstance(found, dict) else set()


def weights(config: Config) -> dict[str, float]:
    return {name: member["weight"] for name, member in config.task.members.items()}
