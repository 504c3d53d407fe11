"""Versions that a run is measured with, besides its settings: Cairn, Chromium, the sites and what is scripted.

Another one is another measurement: it is refused, or accepted by `resume.accept_drift` and recorded in `drift.jsonl`,
as changed settings are. A version that is unknown, as in folders from before they were recorded, is not compared.
Why: docs/decisions/resume.md#another-version-is-drift-another-revision-is-only-recorded
"""

from collections.abc import Callable, Iterable, Mapping

from harness.codec import CodecError, digest
from harness.config.site_settings import SitesSettings
from harness.errors import ResumeMismatch, StorageError
from harness.evaluation.config_drift import DRIFT_NAME, accepted_before, record_drift
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runs.about import DESCRIPTION
from harness.settings.fields import Tree

VERSIONS = "versions"
"""Key of `run.json`."""
SITES = "sites."
"""What the version of a site is named by, before the site."""
PLANS = "llm.plans"
"""Among the versions: digest of what the scripted endpoint plays."""


def versions(environment: Tree, sites: SitesSettings, tasks: Iterable[Task]) -> dict[str, str]:
    """Known versions, by the names used when a change is refused.

    Args:
        environment: As `provenance.environment` gives it.
        tasks: Sites of none of them do not count.
    """
    browser = environment.get("browser") or {}
    # Not the git revision: no run of a checkout would go on after a commit. It is recorded, and counted in reports.
    found = {"Cairn": environment.get("harness"), "browser": browser.get("version")}
    for name in sorted({name for task in tasks for name in task.sites}):
        site = sites.by_name.get(name)
        found[SITES + name] = (site.version if site is not None else None) or sites.version
    return {name: str(version) for name, version in found.items() if version}


def check_version_drift(
    now: Mapping[str, str], run: RunFolder, *, is_begun: bool, accepted: Callable[[str], None] | None
) -> None:
    """Compare the versions with those of the latest start that played.

    Args:
        is_begun: Whether the run folder holds a journal.
        accepted: Hears the sentence on versions that changed; None = they may not (`resume.accept_drift`).

    Raises:
        ResumeMismatch: Naming what changed.
        JournalError: `drift.jsonl` is damaged.
    """
    before = recorded_versions(run)
    changed: dict[str, list[object]] = {
        name: [before[name], now[name]]
        for name in sorted(before.keys() & now.keys())
        if is_begun and before[name] != now[name]
    }
    if not changed:
        return
    named = "; ".join(f"{name}: {was!s:.80} is now {value!s:.80}" for name, (was, value) in changed.items())
    if accepted is None:
        raise ResumeMismatch(
            f"{run.path} was created with other versions ({named}); use those, choose another folder with"
            " run.id=NAME, or continue with the new ones with resume.accept_drift=true"
        )
    digests = digest(dict(sorted(before.items()))), digest(dict(sorted(now.items())))
    if digests in accepted_before(run):
        return
    record_drift(run, *digests, changed)
    accepted(f"continuing with other versions ({named}); recorded in {run.path / DRIFT_NAME}")


def recorded_versions(run: RunFolder) -> dict[str, str]:
    """The versions in `run.json`; what cannot be read is unknown."""
    try:
        found = DESCRIPTION.built(run.read(DESCRIPTION.name) or b"").get(VERSIONS)
    except (StorageError, CodecError):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)} if isinstance(found, dict) else {}
