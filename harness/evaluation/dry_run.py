"""What a start would do, without doing it: `run.dry=true`.

Reads task files, settings and what a run folder already holds; starts nothing, writes nothing, and needs no address of
a site.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.config.site_settings import SitesSettings
from harness.evaluation.reset_hooks import build_reset_hooks, unresettable
from harness.evaluation.site_preflight import without_address
from harness.journal.index import EpisodeResult, Outcomes
from harness.records import Task
from harness.runner.pending import PendingPolicy, is_finished, wants_retry


def describe_dry_run(  # noqa: PLR0913 (what a start depends on)
    tasks: Sequence[Task],
    outcomes: Outcomes,
    policy: PendingPolicy,
    *,
    trials: int,
    sites: SitesSettings,
    missing: Iterable[str] = (),
) -> str:
    """A line per task, then what is missing, and the number of pending episodes.

    Args:
        outcomes: What the run folder holds, by the references of these tasks.
        policy: Which episodes are pending, a standing retry included.
        missing: Sentences on what else is not there.
    """
    counts: Counter[str] = Counter()
    lines = []
    for task in tasks:
        states = [_state(outcomes.get((task.task_id, trial)), policy) for trial in range(trials)]
        counts.update(states)
        said = _counted(Counter(states)) if trials > 1 else states[0]
        starts = " |AND| ".join(task.start_urls)
        names = ",".join(task.sites) or "no site"
        lines.append(f"{task.task_id}  {names}  {starts}  {'+'.join(task.eval.eval_types) or 'no evaluator'}  {said}")
    lines += ["", *_missing(sites, tasks), *missing]
    pending = sum(number for state, number in counts.items() if not state.startswith("ended"))
    number = f"{len(tasks)} task{'s' * (len(tasks) != 1)}"
    lines.append(f"{number}, {pending} of {len(tasks) * trials} episodes pending: {_counted(counts)}")
    return "\n".join(lines)


def _state(became: EpisodeResult | None, policy: PendingPolicy) -> str:
    if became is None:
        return "pending"
    if is_finished(became, policy):
        return f"pending again (run.retry={policy.run.retry})" if wants_retry(became, policy) else "ended"
    if became.closed is not None:
        return "score pending"
    return f"pending from step {became.steps + 1}" if became.steps else "pending"


def _counted(states: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in states.items())


def _missing(configured: SitesSettings, tasks: Sequence[Task]) -> Iterator[str]:
    """What would stop a real run, one sentence each."""
    sites = configured.by_name
    used = {site for task in tasks for site in task.sites}
    for name in without_address(configured, tasks):
        yield f"no address: set {name.upper()}=… in the environment, or sites.{name}.url=…"
    for name in sorted(used - sites.keys() - {configured.visits.name}):
        yield f"unknown site: tasks name {name}, which is not among sites.*"
    unreset = unresettable(configured, tasks)
    if unreset:
        need = "1 task needs one" if len(unreset) == 1 else f"{len(unreset)} tasks need one"
        yield f"no reset: {need} (require_reset), set sites.reset.command=…"
    yield from build_reset_hooks(configured).missing()
