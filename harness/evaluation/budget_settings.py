"""The budget of a run: its limits from the settings, and the usage already in its journals."""

from collections.abc import Callable, Mapping

from harness.config import RunConfig
from harness.journal.index import EpisodeResult
from harness.journal.log import read
from harness.journal.store import RunFolder
from harness.runner.run_budget import BudgetLimits, RunBudget, Spending
from harness.runner.shutdown import ShutdownSignal


def build_run_budget(
    settings: RunConfig,
    run: RunFolder,
    outcomes: Mapping[tuple[str, int], EpisodeResult],
    *,
    stopping: ShutdownSignal,
    tell: Callable[[str], None],
) -> RunBudget:
    """When a limit is reached, a message says so once, and the run stops."""

    def on_empty(why: str) -> None:
        tell(why)
        stopping.ask()

    return RunBudget(
        BudgetLimits(
            max_tokens=settings.max_tokens,
            max_cost_usd=settings.max_cost_usd,
            max_working_s=settings.max_working_s,
        ),
        {
            place: Spending.of(outcome.usage, outcome.judge_usage, outcome.elapsed_ms)
            for place, outcome in outcomes.items()
        },
        read=lambda task_id, trial: read(run.journal_path(task_id, trial)),
        on_empty=on_empty,
    )
