"""What two runs have in common, and which differences count."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import pytest

from harness.runs.about import RunInfo
from harness.runs.comparison import Side, compare
from harness.runs.results import Result


def side(passed: Sequence[int], trials: int) -> Side:
    """A run of which so many trials of each task passed."""
    names = tuple(map(str, range(len(passed))))
    about = RunInfo(name="run", dialect="corrected", model="m", agent="prompt", tasks=names, trials=trials)
    statuses = [
        (name, trial, trial < count) for name, count in zip(names, passed, strict=True) for trial in range(trials)
    ]
    rows = (
        Result(task_id=name, trial=trial, cluster=name, status="passed" if good else "failed", digest=name)
        for name, trial, good in statuses
    )
    return Side(about=about, rows=tuple(rows))


def test_a_p_that_speaks_for_the_later_run_is_no_regression() -> None:
    """Twenty tasks gained a trial, and five lost all of theirs: most tasks are better, and the rate is lower."""
    found = compare(side([0] * 20 + [5] * 5, 5), side([1] * 20 + [0] * 5, 5))
    assert (len(found.gained), len(found.lost)) == (20, 5) and found.difference.value < 0 and found.p < 0.01
    assert not found.regressed(0.05)
    assert compare(side([5] * 6, 5), side([1] * 6, 5)).regressed(0.05)


def test_trials_that_only_one_run_has_make_no_regression() -> None:
    """One agent whose tasks pass in two of three trials, played once and three times. Two of three are less than one,
    so by their means 42 tasks were lost and 21 gained.
    """

    def played(trials: int, passes: Callable[[int, int], bool]) -> Side:
        whole = side([0] * 63, trials)
        rows = (
            replace(row, status="passed" if passes(int(row.task_id), row.trial) else "failed") for row in whole.rows
        )
        return replace(whole, rows=tuple(rows))

    once = played(1, lambda task, _: task // 3 % 3 != 0)
    thrice = played(3, lambda task, trial: task % 3 != trial)
    for found in (compare(once, thrice), compare(thrice, once)):
        assert found.difference.value == pytest.approx(0)
        assert (len(found.gained), len(found.lost), found.p) == (14, 14, 1.0)
        assert [sum(site.gained for site in found.sites), sum(site.lost for site in found.sites)] == [14, 14]


def test_pass_at_k_is_that_of_the_tasks_that_are_compared() -> None:
    found = compare(side([2, 2, 0, 0, 0], 2), side([2, 2], 2))
    assert found.pairs == 2 and found.trials_before == found.trials_after
    assert found.trials_before is not None and found.trials_before.at == ((1, 1.0, 1.0), (2, 1.0, 1.0))


def test_trials_are_compared_with_those_that_the_same_reference_scored() -> None:
    """As where a run was scored again with a corrected reference, and stopped meanwhile."""

    def scored_by(*references: str, unscored: Collection[int] = ()) -> Side:
        whole = side([1], len(references))
        status = {"new": "passed", "old": "failed"}
        rows = [
            replace(row, digest=digest, status="unscored" if row.trial in unscored else status[digest])
            for row, digest in zip(whole.rows, references, strict=True)
        ]
        return replace(whole, rows=tuple(rows))

    played = scored_by("new", "new")
    stopped = compare(scored_by("new", "old"), played)
    assert (stopped.pairs, stopped.rate_before, stopped.gained) == (1, 1.0, ())
    assert stopped.differing == ("0 · trial 1",) and stopped.episodes_before == 1
    without_first = compare(scored_by("old", "new", unscored=(0,)), played)
    assert (without_first.pairs, without_first.rate_before, without_first.differing) == (1, 1.0, ())
    assert without_first.trials_unscored_before == ("0 · trial 0",)
    other = compare(scored_by("old", "old"), played)
    assert (other.pairs, other.differing) == (0, ("0",))
