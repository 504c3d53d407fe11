"""Tasks, trials and episodes counted apart, pass@k wherever a run is summed up, and what is advised about the
unscored.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.errors import ExitCode
from harness.evaluation.conditions import exit_code
from harness.journal.index import scan
from harness.main import main
from harness.plugins.html_report.report import write_report
from harness.records import Task
from harness.reports.ci import markdown
from harness.reports.summary import Invocation, Summary, as_json, summarize
from harness.reports.table import NOTHING_LEFT, StillPending, print_summary
from harness.runs.outcome import UNSCORED
from harness.runs.results import result_of
from harness.runs.run import Run
from harness.runs.statistics import Group, statistics_of
from harness.runs.trials import counted, trials_of
from tests.reports.runs import Shape, fill, task

BROKEN = Shape(steps=1, failure="BrowserCrashed")


@pytest.mark.parametrize(
    ("tasks", "episodes", "is_even", "said"),
    [
        (40, 40, True, "40 tasks"),
        (1, 1, True, "1 task"),
        (40, 120, True, "40 tasks × 3 trials = 120 episodes"),
        (40, 119, False, "119 episodes of 40 tasks"),
        (2, 4, False, "4 episodes of 2 tasks"),
        (0, 0, True, "0 tasks"),
    ],
)
def test_tasks_and_episodes_are_counted_apart(tasks: int, episodes: int, is_even: bool, said: str) -> None:
    assert counted(tasks, episodes, is_even=is_even) == said


def test_tasks_with_different_numbers_of_trials_are_never_called_a_product(tmp_path: Path) -> None:
    folder, _ = run(tmp_path / "run", Shape(steps=1), Shape(steps=1), trials=3)
    rows = [row for row in Run(folder).results if (row.task_id, row.trial) not in (("1", 1), ("1", 2))]
    whole = statistics_of(rows).all
    assert (whole.tasks, whole.episodes, whole.counted) == (2, 4, "4 episodes of 2 tasks")


def test_the_tasks_behind_pass_at_k_are_told_by_their_scored_trials(tmp_path: Path) -> None:
    """Of three trials each lost one, so none has all of them scored."""
    folder, _ = run(tmp_path / "run", *[Shape(steps=1)] * 2, trials=3)
    rows = [replace(row, status=UNSCORED) if row.trial == 2 else row for row in Run(folder).results]
    summary = summarize("run", rows, "corrected", Invocation(episodes_run=6))
    assert "over 2 tasks with 2 scored trials" in printed(summary)
    assert "means over 2 tasks with 2 scored trials" in markdown(Run(folder).about, rows, statistics_of(rows))


@pytest.mark.parametrize("passed", range(1, 100))
def test_a_rate_that_is_exactly_what_was_asked_for_is_not_below_it(passed: int) -> None:
    found = Group(tasks=100, episodes=100, passed=passed, failed=100 - passed)
    assert exit_code(Console(), found, float(f"0.{passed:02}")) is ExitCode.DONE
    assert exit_code(Console(quiet=True), found, float(f"0.{passed:02}1")) is ExitCode.BELOW


def test_pass_at_k_is_a_mean_over_the_tasks_with_all_trials() -> None:
    found = trials_of({"a": [1, 0, 0], "b": [1, 1, 1], "half": [1]})
    assert found is not None and found.tasks == 2
    assert [pytest.approx(row) for row in found.at] == [(1, 2 / 3, 2 / 3), (2, 5 / 6, 1 / 2), (3, 1.0, 1 / 2)]
    assert trials_of({"a": [1], "b": [0]}) is None and trials_of({}) is None


def run(folder: Path, *shapes: Shape, trials: int = 1) -> tuple[Path, Summary]:
    """A run folder and its summary."""
    fill(folder, shapes, trials=trials, screenshots=False)
    outcomes = scan(folder).outcomes
    tasks: list[Task] = [task(number, template=number // 3) for number in range(len(shapes))]
    results = [result_of(outcomes[of.task_id, trial], "corrected") for trial in range(trials) for of in tasks]
    return folder, summarize("run", results, "corrected", Invocation(episodes_run=len(results)))


def printed(summary: Summary, left: StillPending = NOTHING_LEFT, *, width: int = 160) -> str:
    console = Console(record=True, width=width)
    print_summary(console, summary, "results/run", left)
    return console.export_text()


def test_a_summary_of_repeated_trials_says_so_everywhere(tmp_path: Path) -> None:
    folder, summary = run(tmp_path / "run", *[Shape(steps=1)] * 4, trials=3)  # each passes, fails, passes
    found = as_json(summary)
    assert (found["tasks"], found["episodes"], found["passed"]) == (4, 12, 8)
    assert found["success_rate"] == pytest.approx(2 / 3)
    assert found["trials"] == {
        "tasks": 4,
        "pass_at_k": {"1": pytest.approx(2 / 3), "2": 1.0, "3": 1.0},
        "pass_hat_k": {"1": pytest.approx(2 / 3), "2": pytest.approx(1 / 3), "3": 0.0},
    }
    said = printed(summary)
    assert "4 tasks × 3 trials = 12 episodes; pass@1 66.7%, pass@2 100.0%, pass@3 100.0%, pass^3 0.0%" in said
    assert "this invocation: 12 episodes, " in said
    narrow = printed(summary, width=80)
    assert any(line.split()[:5] == ["all", "4", "×", "3", "8"] for line in narrow.splitlines()), narrow
    assert " shop " in narrow, "the name of a site is not cut away"
    known, rows = Run(folder).about, Run(folder).results
    text = markdown(known, rows, statistics_of(rows))
    assert "unscored of 4 tasks × 3 trials = 12 episodes" in text and "| site | tasks | episodes | passed |" in text
    assert "| 2 | 100.0% | 33.3% |" in text
    assert (
        "<dt>Episodes</dt><dd>12 <small>4 tasks × 3 trials</small></dd>" in write_report(Run(folder)).index.read_text()
    )


def test_one_trial_of_each_task_is_not_called_anything_else(tmp_path: Path) -> None:
    folder, summary = run(tmp_path / "run", Shape(steps=1), Shape(steps=1, score=0.0))
    assert as_json(summary)["trials"] is None
    said = printed(summary)
    assert "this invocation: 2 tasks, " in said and "episode" not in said
    assert "pisode" not in write_report(Run(folder)).index.read_text()


def test_two_runs_say_of_how_many_episodes_their_pairs_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (one, _), (three, _) = (run(tmp_path / str(trials), *[Shape(steps=1)] * 4, trials=trials) for trials in (1, 3))
    assert main(["compare", str(three), str(three)]) == 0
    assert "scored in both: 4 tasks × 3 trials = 12 episodes" in capsys.readouterr().out
    assert main(["compare", str(one), str(three)]) == 0
    assert "scored in both: 4 tasks, 4 and 12 episodes" in capsys.readouterr().out


def test_runs_that_do_not_differ_leave_room_for_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder, _) = run(tmp_path / "run", *[Shape(steps=1)] * 6)
    assert main(["compare", str(folder), str(folder)]) == 0
    assert "difference +0.0 pp (95% from −65.8 pp to +65.8 pp" in capsys.readouterr().out, "two templates"


def test_all_of_few_passed_is_not_certainty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = run(tmp_path / "run", *[Shape(steps=1)] * 2, trials=1)
    fill(tmp_path / "six", [Shape(steps=1)] * 2, trials=1, screenshots=False)
    rows = Run(folder).results
    six = [replace(row, trial=trial) for row in rows for trial in range(3)]
    view = statistics_of(six)
    assert (view.all.passed, view.all.episodes, view.all.tasks) == (6, 6, 2)
    assert view.method == "Wilson over intent templates"
    assert view.all.rate.low < 0.35 and view.all.rate.high == 1.0
    assert view.sites[0].rate.low < 0.35, "a part of the run is not surer than the whole"
    assert view.templates[0].rate.low < 0.35


@pytest.mark.parametrize(
    ("left", "advised", "not_advised"),
    [
        (NOTHING_LEFT, ["2 unscored: run the same command with run.retry=infra to try them again"], ["not finished"]),
        (StillPending(pending=2), ["2 not finished: run the same command to continue"], ["run.retry"]),
        (
            StillPending(pending=1),
            [
                "1 not finished: run the same command to continue",
                "1 unscored: run the same command with run.retry=infra",
            ],
            ["is reached"],
        ),
        (
            StillPending(pending=1, spent="run.max_cost_usd=0.5"),
            ["1 not finished: run.max_cost_usd=0.5 is reached; raise it and run the same command to continue"],
            ["run.retry"],
        ),
        (
            StillPending(judgeable=1),
            [
                "1 ended without a score: harness score ",
                "1 unscored: run the same command with run.retry=infra to try them again",
            ],
            ["2 unscored"],
        ),
        (
            StillPending(spent="run.max_cost_usd=0.5"),
            ["2 unscored: run.max_cost_usd=0.5 is reached; raise it and run the same command with run.retry=infra"],
            ["not finished"],
        ),
        (StillPending(pending=3), ["3 not finished: run the same command to continue"], ["unscored: run"]),
    ],
)
def test_a_retry_is_advised_for_what_was_given_up_alone(
    tmp_path: Path, left: StillPending, advised: list[str], not_advised: list[str]
) -> None:
    _, summary = run(tmp_path / "run", Shape(steps=1), BROKEN, BROKEN)
    said = printed(summary, left)
    assert all(line in said for line in advised), said
    assert not any(line in said for line in not_advised), said
