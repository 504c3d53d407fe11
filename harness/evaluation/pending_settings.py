"""The settings that decide which jobs of a run are pending."""

from harness.choices import Dialect
from harness.config import ResumeConfig, RunConfig
from harness.runner.pending import PendingPolicy


def pending_policy(scoring: Dialect, resume: ResumeConfig, run: RunConfig) -> PendingPolicy:
    """What counts as pending."""
    return PendingPolicy(dialect=scoring.value, max_attempts=resume.max_attempts, retry=run.retry)
