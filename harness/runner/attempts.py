"""Whether an attempt continues or a new one begins. Pure."""

from collections.abc import Mapping

from harness.records import Episode


def new_attempt_reason(episode: Episode, instances: Mapping[str, str], *, reopen: bool) -> str | None:
    """Why a new attempt begins, as in `Opened.why`; None if the current one continues.

    Args:
        episode: What the journal holds.
        instances: Where it would be played, see `Job.instances`.
        reopen: Whether the person asked for a new attempt.
    """
    if episode.opened is None:
        return "first"
    # A job that comes back from a lost worker may still say `reopen` although its new attempt is recorded already.
    if reopen and (episode.closed is not None or episode.failures):
        return "retry"
    if episode.has_diverged:
        return "diverged"
    # What an attempt did to its sites it did on these instances; without a record of them there was only one of each.
    before = episode.opened.instances
    moved = (before.get(site) != url for site, url in instances.items() if site in before or episode.arrival is None)
    return "moved" if any(moved) else None
