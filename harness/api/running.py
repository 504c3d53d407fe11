"""A run from inside: its context and schedule, what is pending, who plays it, and what is told meanwhile.

For executors that have machines of their own, and for trackers.
"""

from harness.evaluation.builder import build_sinks, pending_policy
from harness.evaluation.config_drift import DRIFT_NAME
from harness.evaluation.executor_choice import Workers, number_of_workers, serving, size_of, supervised
from harness.evaluation.retry_request import RETRY_NAME, standing
from harness.evaluation.run_context import RunContext
from harness.protocols import Phase, Progress, ProgressEvent
from harness.runner.executors.prestart import PLAYER
from harness.runner.pending import is_finished, pending_jobs
from harness.runner.run_budget import budget_reached
from harness.runner.scheduler import Scheduler

__all__ = [
    "DRIFT_NAME",
    "PLAYER",
    "RETRY_NAME",
    "Phase",
    "Progress",
    "ProgressEvent",
    "RunContext",
    "Scheduler",
    "Workers",
    "budget_reached",
    "build_sinks",
    "is_finished",
    "number_of_workers",
    "pending_jobs",
    "pending_policy",
    "serving",
    "size_of",
    "standing",
    "supervised",
]
