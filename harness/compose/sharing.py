"""The schedule of a run: what is owed, and who may be on which site meanwhile.

Of the embedded sites every lane has its own, so there is nothing to mind. Sites of somebody's own deployment are shared by
all lanes: a task that may change one has it alone (`sites.leases=auto`), on one of its instances.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from harness.compose.deployment import canonical_bases, instances, site_trees
from harness.compose.resetting import resets
from harness.compose.retrying import standing
from harness.config import Config
from harness.errors import ConfigError
from harness.journal.index import Outcome, outcome_of
from harness.journal.log import read
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runner.plan import owed
from harness.runner.resetting import Upkeep
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
) -> Schedule:
    """All that is owed.

    Raises:
        ConfigError: The settings of the sites do not fit.
    """
    jobs = owed(tasks, config.trials, outcomes, standing(config, run.path, tasks, outcomes))
    shared = shared_sites(config)
    if shared is None:
        return Schedule(jobs, stopping=stopping)

    def now(task_id: str, trial: int) -> Outcome | None:
        path = run.journal_path(task_id, trial)
        return outcome_of(read(path)) if path.exists() else None

    sharing = Sharing(shared, outcomes.values(), now)
    configured = resets(config, tell=stopping.tell, sleep=stopping.sleep)
    for sentence in configured.missing() if jobs else ():
        raise ConfigError(sentence)
    able = configured.sites - set(shared.read_only)
    upkeep = Upkeep(configured.reset, able, only_when_asked=configured.only_when_asked or shared.lenient)
    return Schedule(jobs, sharing, upkeep if able else None, stopping=stopping)


def shared_sites(config: Config) -> SharedSites | None:
    """The sites all lanes share; None when every lane has its own."""
    there = instances(config)
    if (leases := config.sites.get("leases", "auto")) not in LEASES:
        raise ConfigError(f"sites.leases={leases!r} is unknown; it is one of {', '.join(LEASES)}")
    if not there:
        return None
    return SharedSites(
        instances=there,
        read_only=frozenset(name for name, tree in site_trees(config).items() if _is_read_only(name, tree)),
        lenient=leases == "none",
        site_of=_Finder(config, there),
    )


def _is_read_only(name: str, tree: Mapping[str, object]) -> bool:
    value = tree.get("read_only", False)
    if not isinstance(value, bool):
        raise ConfigError(f"sites.{name}.read_only must be true or false, not {value!r}")
    return value


class _Finder:
    """Which site an address is on: of those at its host, the one with the longest path before it."""

    def __init__(self, config: Config, there: Mapping[str, tuple[str, ...]]) -> None:
        self._bases: dict[str, list[tuple[str, str]]] = {}
        """Host and port to path and site, the longest path first."""
        for name, canonical in canonical_bases(config).items():
            for url in (canonical, *there.get(name, ())):
                parts = urlsplit(url)
                self._bases.setdefault(parts.netloc.lower(), []).append((parts.path.rstrip("/"), name))
        for found in self._bases.values():
            found.sort(key=lambda base: len(base[0]), reverse=True)

    def __call__(self, url: str) -> str | None:
        parts = urlsplit(url)
        found = self._bases.get(parts.netloc.lower(), [])
        under = (name for path, name in found if f"{parts.path}/".startswith(f"{path}/"))
        return next(under, found[-1][1] if found else None)
