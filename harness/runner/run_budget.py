"""The limits of a whole run: sums over its journals, which survive every restart and do not include downtime.

The journal of an episode is read again before each of its decisions, after each answer that the agent's process gets,
and when it has ended. Nothing is counted in memory, so the sum is always that of the records on disk. When a limit is
reached, the run stops as after Ctrl-C.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from harness.journal.index import EpisodeResult
from harness.protocols import Phase, Progress, ProgressEvent
from harness.records import Episode, Usage
from harness.settings.run import RunSettings


@dataclass(frozen=True, slots=True)
class Spending:
    """The usage of one (task, trial): all attempts and their judging."""

    tokens: int
    cost_usd: float
    working_s: float

    @classmethod
    def of(cls, usage: Usage, judge_usage: Usage, elapsed_ms: float) -> Self:
        # A run pays for its judge; a model's own cost has no judging in it, or it would look dearer on judged tasks.
        return cls(usage.tokens + judge_usage.tokens, usage.cost_usd + judge_usage.cost_usd, elapsed_ms / 1000)


def budget_reached(settings: RunSettings, results: Iterable[EpisodeResult]) -> str:
    """The limit that these episodes have reached together, as its setting; "" if they have reached none."""
    spent = [Spending.of(one.usage, one.judge_usage, one.elapsed_ms) for one in results]
    return next((limit for limit, _ in _reached(settings, spent)), "")


def _reached(settings: RunSettings, spent: Collection[Spending]) -> list[tuple[str, float]]:
    """Each limit that is reached, as its setting, and how much is used."""
    sums = (
        ("run.max_tokens", settings.max_tokens, sum(one.tokens for one in spent)),
        ("run.max_cost_usd", settings.max_cost_usd, sum(one.cost_usd for one in spent)),
        ("run.max_working_s", settings.max_working_s, sum(one.working_s for one in spent)),
    )
    # Six digits, as of `:g`, would name another limit than the one that was set: 3000001 is not 3e+06.
    return [(f"{name}={limit:.15g}", total) for name, limit, total in sums if limit is not None and total >= limit]


class RunBudget:
    """Compares the usage with the limits."""

    def __init__(
        self,
        settings: RunSettings,
        spent: Mapping[tuple[str, int], Spending],
        *,
        read: Callable[[str, int], Episode],
        on_empty: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._spent = dict(spent)
        self._read = read
        self._on_empty = on_empty
        self.spent_up = ""
        """The limit that is reached, as its setting; "" if none is."""
        self._look()

    def watching(self, progress: Progress) -> Progress:
        """A `Progress` that forwards to `progress` and checks the limits."""
        return _Watch(self, progress) if self._settings.is_limited else progress

    def note(self, event: ProgressEvent) -> None:
        # Only at these may something have been spent, and each look reads a whole journal.
        if not event.task_id or event.phase not in (Phase.deciding, Phase.spending, Phase.retrying, Phase.ended):
            return
        episode = self._read(event.task_id, event.trial)
        self._spent[event.task_id, event.trial] = Spending.of(
            episode.total_usage, episode.total_judge_usage, episode.total_elapsed_ms
        )
        self._look()

    def _look(self) -> None:
        over = _reached(self._settings, self._spent.values())
        if over and not self.spent_up:
            self.spent_up, total = over[0]
            self._on_empty(
                f"run budget reached: {self.spent_up} ({round(total, 6):.15g} used). Running steps finish, and"
                " no new step begins. Raise the limit and run the same command to continue."
            )


class _Watch:
    def __init__(self, budget: RunBudget, progress: Progress) -> None:
        self._budget = budget
        self._progress = progress

    def tell(self, event: ProgressEvent) -> None:
        self._progress.tell(event)
        self._budget.note(event)
