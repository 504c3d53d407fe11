"""Rates by benchmark and their weighted mean."""

import random
from pathlib import Path

import pytest

from harness.codec import dumps, loads
from harness.main import main
from harness.runs.about import run_info
from harness.runs.figures import suite_table
from harness.runs.intervals import Interval, weighted_mean, wilson
from harness.runs.results import Result
from harness.runs.statistics import statistics_of


def episodes(name: str, *statuses: str, trials: int = 1) -> list[Result]:
    return [
        Result(task_id=f"{name}.{number}", trial=trial, cluster=f"{name} {number}", status=status)
        for number, status in enumerate(statuses)
        for trial in range(trials)
    ]


def test_each_benchmark_counts_by_its_weight_however_many_tasks_it_has() -> None:
    few, many = episodes("few", "passed", "failed"), episodes("many", *["passed"] * 30, *["unscored"] * 10)
    found = statistics_of([*few, *many], {"few": 3.0, "many": 1.0, "absent": 5.0}).suite
    assert found is not None
    first, second = found.benchmarks
    assert (first.name, first.tasks, first.passed, first.failed) == ("few", 2, 1, 1)
    assert (second.passed, second.unscored, second.rate.value, found.weights) == (30, 10, 0.75, (0.75, 0.25))
    assert found.mean.value == pytest.approx(0.75 * 0.5 + 0.25 * 0.75)
    assert first.rate == wilson(1, 2)


def test_the_table_says_how_many_trials_the_counts_are_of() -> None:
    even, odd = (
        episodes("even", *["passed"] * 4, trials=3),
        [*episodes("odd", "passed", "failed"), *episodes("odd", "passed")],
    )
    found = statistics_of([*even, *odd, *episodes("once", "passed")], dict.fromkeys(("even", "odd", "once"), 1.0)).suite
    assert found is not None
    assert [row[2:4] for row in suite_table(found)[:3]] == [("4 × 3", "12"), ("2 (3)", "2"), ("1", "1")]


def test_a_run_that_is_no_suite_has_no_rates_by_benchmark() -> None:
    assert statistics_of(episodes("demo", "passed"), {}).suite is None
    assert statistics_of([Result(task_id="12", trial=0, cluster="t", status="passed")], {"demo": 1.0}).suite is None


def test_trials_of_one_task_do_not_narrow_the_interval_as_other_tasks_would() -> None:
    repeated = statistics_of(episodes("a", "passed", "failed", trials=10), {"a": 1.0}).suite
    independent = statistics_of(episodes("a", *["passed", "failed"] * 10), {"a": 1.0}).suite
    assert repeated is not None and independent is not None
    assert repeated.mean.high - repeated.mean.low > 1.5 * (independent.mean.high - independent.mean.low)


def test_one_benchmark_has_its_own_interval() -> None:
    assert weighted_mean([(Interval(value=0.2, low=0.1, high=0.5), 1.0)]) == Interval(
        value=0.2, low=pytest.approx(0.1), high=pytest.approx(0.5)
    )


@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.95, 0.3), (0.99, 0.97), (0.02, 0.6)])
def test_the_interval_holds_the_true_mean_as_often_as_it_says(rates: tuple[float, float]) -> None:
    draw, sizes, weights = random.Random(7), (40, 15), (0.6, 0.4)
    truth = sum(rate * weight for rate, weight in zip(rates, weights, strict=True))
    held = 0
    for _ in range(2000):
        parts = [
            (wilson(sum(draw.random() < rate for _ in range(size)), size), weight)
            for rate, size, weight in zip(rates, sizes, weights, strict=True)
        ]
        found = weighted_mean(parts)
        assert 0 <= found.low <= found.value <= found.high <= 1
        held += found.low <= truth <= found.high
    assert held / 2000 >= 0.93


@pytest.mark.parametrize("forged", [[], {"a": -1, "b": "x", "c": True}, {"a": 1e300}, 7])
def test_forged_weights_are_left_out(tmp_path: Path, forged: object) -> None:
    (tmp_path / "run.json").write_bytes(dumps({"benchmarks": forged, "tasks": ["a.1"]}))
    assert all(weight > 0 for weight in run_info(tmp_path).benchmarks.values())
    assert main(["show", str(tmp_path)]) == 0
    assert loads(dumps(run_info(tmp_path)))["name"] == tmp_path.name
