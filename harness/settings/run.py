"""A run as a whole, its folder and its journals."""

from dataclasses import dataclass

from harness.choices import MAX_NUMBER, RETRIES, Display, Durability, ValueRange
from harness.settings.fields import setting


@dataclass(frozen=True)
class JournalSettings:
    """How journals are written."""

    durability: Durability = setting(Durability.record, named=False)
    """When a record must be on the disk itself, so that a power cut cannot take it. A killed process never can."""


@dataclass(frozen=True)
class RunSettings:
    """The run as a whole, and its folder."""

    id: str = setting("${task.name}-${agent.name}-${slug:${llm.model}}", measured=False, named=False, filled=True)
    """Name of the run folder; derived from task, agent and model, so that the same command resumes."""
    root: str = setting("results", measured=False, named=False, filled=True)
    """Folder in which the run folder is made."""
    fork: str | None = setting(None, measured=False, named=False)
    """`RUN@STEP` or `RUN/TASK@STEP`: episodes begin with the steps that run folder RUN recorded up to STEP."""
    retry: str | None = setting(None, measured=False, named=False, choices=RETRIES)
    """Re-open finished tasks as new attempts: `infra`, `failed` or `all`."""
    # Budgets stop a run and do not change what an episode may do, so a higher one does not count as drift.
    max_tokens: int | None = setting(None, measured=False, named=False)
    """Tokens of all tasks, trials and attempts together, their judging included. A run that has spent them stops, and
    can go on."""
    max_cost_usd: float | None = setting(None, measured=False, named=False)
    """Cost of all tasks, trials and attempts together, their judging included. A run that has spent it stops, and can
    go on."""
    max_working_s: float | None = setting(None, measured=False, named=False, bounds=ValueRange(0, MAX_NUMBER))
    """Seconds of work of all tasks, trials and attempts together. A run that has spent them stops, and can go on."""
    seed: int = setting(0, added=True, bounds=ValueRange(-MAX_NUMBER, MAX_NUMBER))
    """What random agents and benchmarks begin with; each trial has its own, made from it."""
    dry: bool = setting(False, measured=False, named=False)
    """Only print what would be done: sites, start pages and evaluators of each task, and the pending episodes."""
    display: Display = setting(Display.auto, measured=False, named=False)
    """How progress is shown."""
    report: bool = setting(True, measured=False, named=False)
    """Bring the HTML report up to date at the end."""

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit of all episodes together."""
        return (self.max_tokens, self.max_cost_usd, self.max_working_s) != (None, None, None)
