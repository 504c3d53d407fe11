"""Which tasks a fork has, start after start, and the settings that it cannot be combined with."""

import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from harness.cli import configured
from harness.episode.job import task_digest
from harness.errors import ConfigError
from harness.evaluation.config_drift import keep_settings
from harness.evaluation.forks import begin_fork, check_fork, forked_tasks
from harness.evaluation.orchestrator import evaluate
from harness.journal.log import read
from harness.journal.store import RunFolder
from harness.records import Opened
from harness.reports.console import Terminal
from tests.journal.episodes import acted, decided, opened, task

TASKS = tuple(task(str(number)) for number in range(6))
SHORT = "2"
"""Of the parent's tasks the one that ended before the step; of `TASKS`, the parent lacks the last one."""


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    with RunFolder.open(tmp_path / "parent") as run:
        settings = keep_settings(run, {})
        for one in TASKS[:-1]:
            begun = replace(opened(of=one), task_digest=task_digest(one), config_digest=settings)
            first, second = ((decided(step), acted(step)) for step in (1, 2))
            with run.journal(one.task_id) as journal:
                for record in (begun, acted(0), *first, *(second if one.task_id != SHORT else ())):
                    journal.append(record)
    return tmp_path / "parent"


class Fork:
    """A fork at step 2, started again and again."""

    def __init__(self, parent: Path) -> None:
        self.of = f"{parent}@2"
        self.run = RunFolder.open(parent.with_name("fork"))
        self.said: list[str] = []

    def start(self, first: int, last: int, *, trials: int = 1) -> str:
        """The tasks that are played where the settings select those from `first` to `last`."""
        self.said.clear()
        chosen = TASKS[first : last + 1]
        found = begin_fork(self.of, self.run, chosen, trials=trials, measured={}, say=self.said.append)
        journals = [self.run.journal_path(one.task_id, trial) for one in found for trial in range(trials)]
        assert all(path.exists() for path in journals)
        return "".join(one.task_id for one in found)


def test_a_wider_selection_is_forked_too(parent: Path) -> None:
    fork = Fork(parent)
    assert fork.start(0, 1) == "01"
    assert fork.start(0, 5) == "0134" and f"not forked, as they ended before step 2: task {SHORT}" in fork.said
    shutil.rmtree(parent)
    assert fork.start(0, 5) == "0134" and not fork.said, "what lacks the step is known: nothing is asked of the parent"


def test_a_narrower_selection_with_more_trials_keeps_the_other_tasks(parent: Path) -> None:
    fork = Fork(parent)
    assert fork.start(0, 5) == "0134"
    assert fork.start(0, 1, trials=2) == "01"
    shutil.rmtree(parent)
    assert (fork.start(0, 5), fork.start(3, 4), fork.start(0, 1, trials=2)) == ("0134", "34", "01")
    with pytest.raises(ConfigError, match="there is no run"):
        fork.start(3, 4, trials=2)


def test_tasks_that_are_selected_later_and_lack_the_step_are_left_out(parent: Path) -> None:
    fork = Fork(parent)
    assert (fork.start(0, 1), fork.start(1, 2), fork.start(1, 2)) == ("01", "1", "1")


def test_a_dry_start_says_what_a_start_would_fork_and_writes_nothing(parent: Path) -> None:
    def dry(of: str, folder: Path) -> tuple[str, list[str]]:
        found = forked_tasks(of, folder, TASKS, trials=1, say=(said := list[str]()).append)
        return "".join(one.task_id for one in found), said

    fork, absent = parent.with_name("fork"), parent.with_name("absent")
    sentence = f"not forked, as they ended before step 2: task {SHORT}"
    assert dry(f"{parent}@2", fork) == ("0134", [sentence]) and not fork.exists()
    assert dry(f"{parent}/1@2", fork) == ("1", [])
    for of, why in ((f"{absent}/99@7", "there is no run"), (f"{parent}/1@7", "cannot be forked at step 7")):
        with pytest.raises(ConfigError, match=why):
            dry(of, fork)
    begun = Fork(parent)
    begun.start(0, 1)
    before = sorted(begun.run.path.iterdir())
    assert dry(f"{parent}@2", begun.run.path) == ("0134", [sentence]) and sorted(begun.run.path.iterdir()) == before


@pytest.mark.integration
async def test_a_dry_run_refuses_a_fork_of_nothing(tmp_path: Path) -> None:
    config = configured(["task=demo", "run.dry=true", f"run.fork={tmp_path}/nosuch/99@7"])
    with pytest.raises(ConfigError, match="there is no run"):
        await evaluate(config, tmp_path / "fork", Terminal())


def test_a_fork_of_a_fork_keeps_that_a_model_before_was_another_one(parent: Path) -> None:
    runs = (parent, parent.with_name("second"), parent.with_name("third"))
    found: list[Opened | None] = []
    for of, folder in pairwise(runs):
        with RunFolder.open(folder) as run:
            measured = {"llm.model": "other"}
            begin_fork(f"{of}@1", run, TASKS[:1], trials=1, measured=measured, say=lambda _: None)
        found.append(read(folder / "0.traj.jsonl").opened)
    assert [one.fork.same_model for one in found if one and one.fork] == [False, False]


def check(overrides: list[str]) -> None:
    config = configured(overrides)
    check_fork(config.run.fork, executor=config.executor.kind, strategy=config.resume.strategy, agent=config.agent)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ("executor=slurm", "executor=slurm"),
        ("agent=process agent.command=[agent]", "agent=process at a step after 0"),
        ("resume.strategy=restart", "resume.strategy=restart"),
        ("resume.strategy=fail", "resume.strategy=fail"),
    ],
)
def test_a_fork_that_could_not_go_on_from_its_step_is_refused(settings: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=f"run.fork cannot be combined with {sentence}"):
        check(["run.fork=base@3", *settings.split()])


@pytest.mark.integration
def test_a_process_may_begin_at_the_start_page() -> None:
    check(["run.fork=base@0", "agent=process", "agent.command=[agent]"])
