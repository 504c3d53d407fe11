"""Whether an attempt continues or a new one begins. Pure."""

from collections.abc import Mapping

from harness.errors import EnvironmentDiverged
from harness.records import Episode
from harness.secrets.symbols import Symbols


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


def check_actions(episode: Episode) -> None:
    """See that what an attempt did, and is about to do, can be done again: that its texts are known.

    Raises:
        EnvironmentDiverged: One was redacted for good, or its secret is no longer configured.
    """
    decided = (*(step.decided for step in episode.steps), *((episode.pending,) if episode.pending else ()))
    for decision in decided:
        missing = Symbols(missing=True)
        missing.text(decision.action.render())
        if missing.names:
            raise EnvironmentDiverged(
                f"the action of step {decision.step} holds {missing}, which was redacted: it cannot be performed again"
            )
