"""Which settings decide what a run still owes."""

from harness.config import Config
from harness.runner.pending import PendingPolicy


def pending_policy(config: Config) -> PendingPolicy:
    """What counts as owed."""
    return PendingPolicy(dialect=config.scoring.value, max_attempts=config.resume.max_attempts, retry=config.run.retry)
