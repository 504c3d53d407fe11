"""The purse of a run: its budgets from the settings, and what its journals say was spent before."""

from collections.abc import Callable, Mapping

from harness.config import Config
from harness.journal.index import Outcome
from harness.journal.log import read
from harness.journal.store import RunFolder
from harness.runner.purse import Budget, Purse, Spent
from harness.runner.stopping import Stopping


def run_purse(
    config: Config,
    run: RunFolder,
    outcomes: Mapping[tuple[str, int], Outcome],
    *,
    stopping: Stopping,
    tell: Callable[[str], None],
) -> Purse:
    """When it is empty, everybody is told once, and the run stops."""

    def on_empty(why: str) -> None:
        tell(why)
        stopping.ask()

    return Purse(
        Budget(
            max_tokens=config.run.max_tokens,
            max_cost_usd=config.run.max_cost_usd,
            max_working_s=config.run.max_working_s,
        ),
        {
            place: Spent.of(outcome.usage, outcome.judge_usage, outcome.elapsed_ms)
            for place, outcome in outcomes.items()
        },
        read=lambda task_id, trial: read(run.journal_path(task_id, trial)),
        on_empty=on_empty,
    )
