"""What a run has spent is what its journals say, whoever wrote them and however often it was started."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from harness.actions import Stop
from harness.evaluation.builder import build_run_budget
from harness.journal.store import RunFolder
from harness.protocols import ProgressEvent
from harness.records import Record, Usage
from harness.runner.run_budget import RunBudget
from harness.runner.shutdown import ShutdownSignal
from harness.settings.run import RunSettings
from tests.journal.episodes import acted, closed, decided, failed, opened, resumed, scored, task, whole_episode

ONE_STEP = (opened(), acted(0), decided(1), acted(1))
"""12 tokens, 0.5 USD and 120 ms of work."""
LIMITS: Mapping[str, tuple[float, float]] = {
    "max_tokens": (24, 25),
    "max_cost_usd": (1.0, 1.1),
    "max_working_s": (0.24, 0.25),
}
"""Each budget: what two steps in two journals spend, and a little more."""


class Silent:
    def tell(self, news: ProgressEvent) -> None:
        """Nobody looks on."""


class Start:
    """One start of the run, as far as its budget goes."""

    def __init__(self, run: RunFolder, **limits: float) -> None:
        self.run = run
        self.said: list[str] = []
        self.stopping = ShutdownSignal(self.said.append)
        settings = RunSettings(**limits)  # type: ignore[arg-type]
        self.budget: RunBudget = build_run_budget(settings, run, run.scan().outcomes, stopping=self.stopping)
        self.progress = self.budget.watching(Silent())

    def write(self, task_id: str, *records: Record, trial: int = 0) -> None:
        with self.run.journal(task_id, trial) as journal:
            for record in records:
                journal.append(record)

    def tell(self, task_id: str, phase: str = "deciding", *, trial: int = 0) -> None:
        self.progress.tell(ProgressEvent(lane=0, task_id=task_id, trial=trial, phase=phase))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.mark.parametrize("name", LIMITS)
def test_a_budget_is_over_all_tasks_holds_over_starts_and_can_be_raised(folder: Path, name: str) -> None:
    limit, more = LIMITS[name]
    with RunFolder.open(folder) as run:
        start = Start(run, **{name: limit})
        start.write("7", *ONE_STEP)
        start.tell("7")
        assert not start.stopping() and not start.budget.spent_up
    with RunFolder.open(folder) as run:
        start = Start(run, **{name: limit})
        assert not start.stopping(), "half of it was left by the start before"
        start.write("8", opened(of=task("8")), *ONE_STEP[1:])
        start.tell("8")
        start.tell("8", "ended")
        assert start.stopping() and start.budget.spent_up
        (sentence,) = start.said
        assert (
            sentence.startswith(f"run budget reached: run.{name}={limit:g} ({limit:g} used)")
            and "run the same command" in sentence
        )
    with RunFolder.open(folder) as run:
        assert Start(run, **{name: limit}).stopping(), "before anything begins"
        raised = Start(run, **{name: more})
        assert not raised.stopping() and raised.said == []


def test_attempts_and_trials_count_downtime_and_the_way_back_do_not(folder: Path) -> None:
    again = (failed(), opened(2, why="retry"), acted(0), decided(1), acted(1))
    with RunFolder.open(folder) as run:
        start = Start(run, max_working_s=0.36, max_tokens=36)
        start.write("7", *ONE_STEP, resumed(1))
        start.tell("7")
        start.write("7", *again)
        start.tell("7", "retrying")
        assert not start.stopping(), "twice 120 ms; that the records are seconds apart is nobody's work"
        start.write("7", opened(trial=1), *ONE_STEP[1:], trial=1)
        start.tell("7", "ended", trial=1)
        assert start.stopping()
        assert "run.max_tokens=36 (36 used)" in start.said[0]


def test_a_large_budget_is_named_to_its_last_digit(folder: Path) -> None:
    usage = Usage(prompt_tokens=3_708_620)
    with RunFolder.open(folder) as run:
        start = Start(run, max_tokens=3_000_001)
        start.write("7", opened(), acted(0), replace(decided(1), usage=usage))
        start.tell("7")
        assert "run.max_tokens=3000001 (3708620 used)" in start.said[0]


@pytest.mark.parametrize("limit", [{"max_tokens": 18}, {"max_cost_usd": 0.75}])
def test_a_judge_is_paid_from_the_same_budget(folder: Path, limit: dict[str, float]) -> None:
    asked = Usage(prompt_tokens=5, completion_tokens=1, cost_usd=0.25, requests=1)
    end = (decided(1, Stop(answer="yes")), closed())
    with RunFolder.open(folder) as run:
        start = Start(run, **limit)
        start.write("7", opened(), acted(0), *end)
        start.tell("7")
        assert not start.stopping()
        start.write("7", scored(judge=asked))
        start.tell("7", "ended")
        assert start.stopping()
    with RunFolder.open(folder) as run:
        assert Start(run, **limit).stopping(), "as the index has it, too"


def test_without_a_budget_no_journal_is_read_for_it(folder: Path) -> None:
    with RunFolder.open(folder) as run:
        start = Start(run)
        start.tell("no such journal", "ended")
        assert not start.stopping()


def test_what_is_told_between_decisions_costs_no_look_at_the_journal(folder: Path) -> None:
    with RunFolder.open(folder) as run:
        start = Start(run, max_tokens=1)
        start.write("7", *whole_episode())
        for phase in ("restoring", "acting", "gathering", "scoring"):
            start.tell("7", phase)
        assert not start.stopping()
        start.tell("7")
        assert start.stopping()
