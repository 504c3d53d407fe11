"""Settings of one part of a run, as the code of that part receives them, and the words they choose among.

For plug-ins whose settings are declared by the core, because runs are measured by them.
"""

from harness.choices import Dialect, Durability, ObservationType, OnDivergence, Sandbox, ValueRange
from harness.settings.agents import ComputerSettings, PromptSettings
from harness.settings.executor import ExecutorSettings
from harness.settings.fields import Tree
from harness.settings.models import EndpointSettings, LlmSettings, RetryPolicy
from harness.settings.observation import ObservationSettings
from harness.settings.process_agent import ProcessSettings
from harness.settings.tracking import TrackingSettings

__all__ = [
    "ComputerSettings",
    "Dialect",
    "Durability",
    "EndpointSettings",
    "ExecutorSettings",
    "LlmSettings",
    "ObservationSettings",
    "ObservationType",
    "OnDivergence",
    "ProcessSettings",
    "PromptSettings",
    "RetryPolicy",
    "Sandbox",
    "TrackingSettings",
    "Tree",
    "ValueRange",
]
