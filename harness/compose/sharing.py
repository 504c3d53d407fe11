"""The schedule of a run: what is owed, and who may be on which site meanwhile.

Of the embedded sites every lane has its own, reset before each task. Sites of somebody's own deployment are shared by
all lanes: a task that may change one has it alone (`sites.leases=auto`), on one of its instances. What is reset and when is
decided for both in one place, `runner.resetting`.
"""

from collections.abc import Mapping, Sequence

from harness.browser.addresses import SiteFinder
from harness.choices import Strategy
from harness.compose.deployment import canonical_bases, instances, is_embedded, is_read_only, lane_base, site_trees
from harness.compose.resetting import EmbeddedResets, patience_of, resets
from harness.compose.retrying import standing
from harness.config import Config
from harness.errors import ConfigError
from harness.journal.index import Outcome, outcome_of
from harness.journal.log import read
from harness.journal.site_log import SiteLog
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runner.plan import owed
from harness.runner.resetting import Instance, Upkeep, When
from harness.runner.schedule import Schedule
from harness.runner.sharing import SharedSites, Sharing
from harness.runner.stopping import Stopping

LEASES = ("auto", "none")


def schedule(
    config: Config,
    run: RunFolder,
    tasks: Sequence[Task],
    *,
    outcomes: Mapping[tuple[str, int], Outcome],
    stopping: Stopping,
) -> tuple[Schedule, EmbeddedResets]:
    """All that is owed, and what resets the embedded sites once it is told where they are.

    Raises:
        ConfigError: The settings of the sites do not fit.
    """
    jobs = owed(tasks, config.trials, outcomes, standing(config, run.path, tasks, outcomes))
    shared = shared_sites(config, tasks)

    def now(task_id: str, trial: int) -> Outcome | None:
        path = run.journal_path(task_id, trial)
        return outcome_of(read(path)) if path.exists() else None

    sharing = Sharing(shared, outcomes.values(), now)
    embedded = EmbeddedResets(patience_of(config, tell=stopping.tell, sleep=stopping.sleep))
    log = SiteLog(run.path) if jobs else None
    upkeep = _upkeep(config, shared, embedded, log=log, stopping=stopping)
    keeps = config.resume.strategy is Strategy.checkpoint
    return Schedule(jobs, sharing, upkeep, keeps_sites=keeps, stopping=stopping), embedded


def _upkeep(
    config: Config, shared: SharedSites, embedded: EmbeddedResets, *, log: SiteLog | None, stopping: Stopping
) -> Upkeep | None:
    """What resets sites; None when nothing does. `log` is None when nothing is owed."""
    if shared.of_lane is not None:
        return Upkeep(embedded.reset, shared.instances, log=log)
    configured = resets(config, tell=stopping.tell, sleep=stopping.sleep)
    for sentence in configured.missing() if log else ():
        raise ConfigError(sentence)
    able = {site for site in shared.instances if configured.covers(site)} - set(shared.read_only)
    when = When.ASKED if shared.lenient else configured.when

    async def reset(wanted: tuple[Instance, ...], task: Task) -> None:
        await stopping.wait_for(configured.reset(wanted, task))

    return Upkeep(reset, able, when=when, together=shared.together, log=log) if able else None


def shared_sites(config: Config, tasks: Sequence[Task]) -> SharedSites:
    """The sites of a run, shared by all lanes or one of each for every lane."""
    if (leases := config.sites.get("leases", "auto")) not in LEASES:
        raise ConfigError(f"sites.leases={leases!r} is unknown; it is one of {', '.join(LEASES)}")
    there = instances(config)
    bases = [
        (name, url) for name, canonical in canonical_bases(config).items() for url in (canonical, *there.get(name, ()))
    ]
    trees = site_trees(config)
    read_only = frozenset(name for name, tree in trees.items() if is_read_only(name, tree))
    if config.sites.get("embedded"):
        own = {name: (name,) for name, tree in trees.items() if is_embedded(config, tree)}
        return SharedSites(instances=own, read_only=read_only, site_of=SiteFinder(bases), of_lane=lane_base)
    configured = resets(config)
    unnamed = {site for task in tasks for site in task.sites or ("",)} - there.keys()
    there |= {site: (site,) for site in sorted(unnamed) if configured.covers(site)}
    return SharedSites(
        instances=there,
        read_only=read_only,
        lenient=leases == "none",
        site_of=SiteFinder(bases),
        together=configured.together(there),
    )
