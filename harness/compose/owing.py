"""Which settings decide what a run still owes."""

from harness.config import Config
from harness.runner.plan import Policy


def policy(config: Config) -> Policy:
    """What counts as owed."""
    return Policy(dialect=config.scoring.value, max_attempts=config.resume.max_attempts, retry=config.run.retry)
