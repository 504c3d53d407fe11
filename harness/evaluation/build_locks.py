"""The scheduler of a run: the pending jobs and the locks on the sites they use.

Each lane has its own embedded sites, reset before each task. Sites of your own deployment are shared by all lanes: a
task that may change one locks one of its instances (`sites.locks=auto`). `runner.site_state` and `runner.dirty_sites`
decide for both kinds what is reset and when.
"""

from collections.abc import Sequence
from dataclasses import replace

from harness.browser.network.addresses import SiteFinder
from harness.browser.network.http import is_up
from harness.browser.network.site_health import WaitPolicy
from harness.choices import ResetWhen, SiteLocking
from harness.config import Config
from harness.config.deployment import lane_base
from harness.config.site_settings import SitesSettings
from harness.errors import ConfigError
from harness.evaluation.builder import pending_policy
from harness.evaluation.preflight import is_seen_from_here
from harness.evaluation.reset_hooks import EmbeddedResetHooks, ResetHooks, build_reset_hooks
from harness.evaluation.retry_request import standing
from harness.journal.index import EpisodeResult, Outcomes, result_of
from harness.journal.log import read
from harness.journal.site_log import SiteInstance, SiteLog
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runner.dirty_sites import DirtySites, ResetHook
from harness.runner.pending import pending_jobs
from harness.runner.scheduler import Scheduler
from harness.runner.shutdown import ShutdownSignal
from harness.runner.site_locks import LockableSites, LockPlanner
from harness.runner.site_outages import SiteOutages

_ANSWERS_S = 10.0
"""How long a site that an episode found gone may take to answer before it counts as down."""


def build_scheduler(  # noqa: PLR0913 (what the order of jobs follows from)
    config: Config,
    run: RunFolder,
    tasks: Sequence[Task],
    *,
    outcomes: Outcomes,
    stopping: ShutdownSignal,
    is_open: bool = False,
) -> tuple[Scheduler, EmbeddedResetHooks]:
    """All pending jobs, and the reset of the embedded sites, which needs their addresses first.

    Args:
        is_open: None is pending at first; they are added while the run goes on.

    Raises:
        ConfigError: The settings of the sites do not fit.
    """
    policy = standing(pending_policy(config), run.path, tasks, outcomes, trials=config.trials)
    jobs = () if is_open else pending_jobs(tasks, config.trials, outcomes, policy)
    shared = shared_sites(config.sites, tasks)

    def now(task_id: str, trial: int) -> EpisodeResult | None:
        path = run.journal_path(task_id, trial)
        return result_of(read(path)) if path.exists() else None

    sharing = LockPlanner(shared, outcomes.values(), now)
    patience = WaitPolicy(
        limit_s=config.browser.site_limit_s,
        tell=lambda note: stopping.tell(note) if note else None,
        sleep=stopping.sleep,
    )
    embedded = EmbeddedResetHooks(patience)
    log = SiteLog(run.path) if jobs or is_open else None
    if shared.of_lane is not None:
        upkeep = DirtySites(embedded.reset, shared.instances, log=log)
    else:
        upkeep = _upkeep(
            build_reset_hooks(config.sites, patience, run.redactor.said), shared, log=log, stopping=stopping
        )
    outages = None
    if shared.of_lane is None and config.sites.max_outage_s and is_seen_from_here(config.executor):
        outages = SiteOutages(
            # A run that is stopping does not wait for the answer.
            lambda url: stopping.wait_for(is_up(url, timeout_s=_ANSWERS_S)),
            replace(patience, limit_s=config.sites.max_outage_s),
        )
    scheduler = Scheduler(
        jobs,
        sharing,
        upkeep,
        outages=outages,
        keeps_sites=config.resume.keeps_sites,
        is_open=is_open,
        stopping=stopping,
    )
    return scheduler, embedded


def _upkeep(
    configured: ResetHooks, shared: LockableSites, *, log: SiteLog | None, stopping: ShutdownSignal
) -> DirtySites:
    """The reset of sites. `log` is None when no job is pending."""
    for sentence in configured.missing() if log else ():
        raise ConfigError(sentence)

    async def reset(wanted: tuple[SiteInstance, ...], task: Task) -> None:
        # A reset may take a quarter of an hour, so a run that is stopping ends it.
        await stopping.wait_for(configured.reset(wanted, task))

    return dirty_sites(reset, configured, shared, log=log)


def dirty_sites(
    reset: ResetHook, configured: ResetHooks, shared: LockableSites, *, log: SiteLog | None = None
) -> DirtySites:
    """Which sites are reset by `reset`, and when, as configured."""
    able = {site for site in shared.instances if configured.covers(site)} - set(shared.read_only)
    # Without locks, other tasks are on the site: only one that asks for a reset has it alone.
    when = ResetWhen.ASKED if shared.lenient else configured.settings.when
    return DirtySites(reset, able, when=when, together=shared.together, log=log if able else None)


def shared_sites(sites: SitesSettings, tasks: Sequence[Task]) -> LockableSites:
    """The sites of a run: shared by all lanes, or one set for each lane."""
    there = sites.instances
    site_of = SiteFinder(
        [(name, url) for name, site in sites.by_name.items() for url in (site.canonical, *there.get(name, ()))]
    )
    if sites.embedded:
        own = {name: (name,) for name, site in sites.by_name.items() if site.is_embedded}
        return LockableSites(
            instances=own,
            read_only=sites.read_only,
            safe_to_open=sites.safe_to_open,
            site_of=site_of,
            of_lane=lane_base,
        )
    configured = build_reset_hooks(sites)
    # A hook for all sites resets these, too; it is given their name in the place of an address.
    unnamed = {site for task in tasks for site in task.sites or ("",)} - there.keys()
    there |= {site: (site,) for site in sorted(unnamed) if configured.covers(site)}
    return LockableSites(
        instances=there,
        read_only=sites.read_only,
        safe_to_open=sites.safe_to_open,
        lenient=sites.locks is SiteLocking.none,
        site_of=site_of,
        together=configured.together(there),
    )
