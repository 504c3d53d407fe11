"""The measured error of a judge stands beside every rate it decided, and is said to be unknown where it is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.codec import dumps
from harness.journal.index import INDEX_NAME, index_of, read_index, scan
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.html_report.report import write_report
from harness.records import Opened
from harness.reports.ci import markdown
from harness.reports.summary import Invocation, as_json, summarize
from harness.runs.intervals import Interval, kappa_of
from harness.runs.judge_error import (
    Agreement,
    JudgeError,
    JudgeUse,
    counted_uses,
    judge_sentence,
    known_errors,
    shown,
    with_errors,
)
from harness.runs.outcome import judged_by
from harness.runs.run import Run
from tests.reports.runs import Shape, episode, fill, task, write


@pytest.mark.parametrize("table", [(20, 5, 10, 15), (3, 1, 0, 4), (1, 7, 2, 90), (50, 50, 50, 50)])
def test_kappa_and_its_error_are_those_of_statsmodels(table: tuple[int, int, int, int]) -> None:
    from statsmodels.stats.inter_rater import cohens_kappa as reference  # type: ignore[import-untyped]

    both, first, second, neither = table
    ours = kappa_of(((both, first), (second, neither)))
    theirs = reference([[both, first], [second, neither]])
    assert ours is not None
    assert ours.value == pytest.approx(theirs.kappa)
    assert ours.low == pytest.approx(max(-1.0, theirs.kappa_low))
    assert ours.high == pytest.approx(min(1.0, theirs.kappa_upp))


@pytest.mark.parametrize(
    "table", [((8, 1, 2), (0, 5, 3), (1, 1, 9)), ((4, 0, 0, 1), (2, 6, 1, 0), (0, 3, 7, 2), (1, 0, 2, 9))]
)
def test_kappa_of_more_categories_is_that_of_statsmodels(table: tuple[tuple[int, ...], ...]) -> None:
    from statsmodels.stats.inter_rater import cohens_kappa as reference

    ours, theirs = kappa_of(table), reference(table)
    assert ours is not None
    assert (ours.value, ours.low, ours.high) == pytest.approx((theirs.kappa, theirs.kappa_low, theirs.kappa_upp))


def test_kappa_has_a_width_where_all_agree_and_is_not_defined_where_both_always_say_one_thing() -> None:
    perfect = kappa_of(((10, 0), (0, 10)))
    assert perfect is not None and perfect.value == 1.0 == perfect.high and 0.5 < perfect.low < 0.8
    assert kappa_of(((10, 0), (0, 0))) is None
    assert kappa_of(((0, 0), (0, 0))) is None


@pytest.mark.parametrize("passed", [(10, 5), (1, 5), (7, 31), (3, 1)])
def test_kappa_has_no_interval_where_one_of_them_always_says_the_same(passed: tuple[int, int]) -> None:
    """Its standard error is 0, which is no certainty; rounding makes it a little more."""
    for table in ((passed, (0, 0)), ((passed[0], 0), (passed[1], 0)), ((0, 0), passed)):
        always = kappa_of(table)
        assert always == Interval(value=0.0, low=0.0, high=0.0)
        assert shown(always, percent=False) == "0.00 (no interval: the standard error is 0)"


def test_a_score_that_no_judge_decided_is_none_of_the_judges(tmp_path: Path) -> None:
    """WebArena's rules ask about an episode that a limit ended, the corrected ones give it 0."""
    fill(tmp_path / "run", [Shape(steps=1, score=0.0, judge_tokens=9)], screenshots=False)
    (result,) = scan(tmp_path / "run").outcomes.values()
    score = result.scores["corrected"]
    both = replace(result, scores={"corrected": score, "webarena": replace(score, judge="m", prompt="p")})
    assert (judged_by(both, "webarena"), judged_by(both, "corrected")) == (("m", "p"), None)
    assert judged_by(replace(result, scores={"corrected": score}), "corrected") == ("", ""), "an older version's"


@pytest.mark.parametrize("judge", [("m", "p" * 64), ("", "")])
def test_a_judge_of_an_earlier_attempt_did_not_decide_the_score(tmp_path: Path, judge: tuple[str, str]) -> None:
    folder = fill(tmp_path / "run", [Shape(steps=1, score=0.0, judge_tokens=9, judge=judge)], screenshots=False)
    assert [one.judged for one in Run(folder).results] == [judge]
    of = task(0)
    with RunFolder.open(folder) as run:
        begun, *further = episode(run, of, Shape(steps=1), screenshots=False)
        assert isinstance(begun, Opened)
        write(run, of, [replace(begun, attempt=2, why="retry"), *further])
    (result,) = Run(folder).results
    assert (result.attempts, result.judge.requests, result.judged) == (2, 2, None)
    assert Run(folder).statistics().judges == ()


def test_a_line_of_the_index_that_does_not_say_what_was_judged_is_not_used(tmp_path: Path) -> None:
    shapes = [Shape(steps=1, judge_tokens=9), Shape(steps=1, judge_tokens=9, judge=("m", "p")), Shape(steps=1)]
    folder = fill(tmp_path / "run", shapes, screenshots=False)
    assert len(list(read_index(folder))) == 3
    old = tuple(
        replace(
            one,
            outcome=replace(
                one.outcome,
                scores={name: replace(score, is_judged=None) for name, score in one.outcome.scores.items()},
            ),
        )
        for one in scan(folder).entries
    )
    (folder / INDEX_NAME).write_bytes(index_of(old))
    assert sorted(one.outcome.task_id for one in read_index(folder)) == ["1", "2"]
    assert [one.judged for one in Run(folder).results] == [("", ""), ("m", "p"), None]


def an_error(at: float = 1.0, *, judge: str = "m", prompt: str = "p" * 64, both: int = 30) -> JudgeError:
    return JudgeError(
        judge=judge,
        prompt=prompt,
        method="webjudge",
        labels="annotations.csv",
        labels_digest="d",
        counts=Agreement(both=both, judge_only=10, people_only=5, neither=55),
        unjudged=1,
        unsure=2,
        day="2026-11-22",
        at=at,
    )


def check(root: Path, name: str, error: JudgeError | bytes) -> None:
    folder = root / "judge-check" / name
    folder.mkdir(parents=True)
    (folder / "judge-check.json").write_bytes(error if isinstance(error, bytes) else dumps(error))


def test_the_newest_check_of_this_judge_and_this_prompt_counts(tmp_path: Path) -> None:
    check(tmp_path, "a", an_error(1.0, both=1))
    check(tmp_path, "b", an_error(2.0))
    check(tmp_path, "c", an_error(3.0, judge="other"))
    check(tmp_path, "d", an_error(3.0, prompt="q" * 64))
    check(tmp_path, "e", b'{"judge": "m"')
    assert len(known_errors(tmp_path / "run")) == 3
    pairs = [("m", "p" * 64)] * 3 + [("m", "r" * 64), ("", "")]
    said = [judge_sentence(use) for use in with_errors(counted_uses(pairs), tmp_path / "run")]
    assert said == [
        "1 score by a judge that is not recorded: its error is not known",
        "3 scores by the judge m (prompt pppppppppppp): precision 75.0% [59.8%, 85.8%], recall 85.7% [70.6%, 93.7%],"
        " accuracy 85.0% [76.7%, 90.7%], kappa 0.68 [0.53, 0.83] on 100 labelled trajectories (2026-11-22)",
        "1 score by the judge m (prompt rrrrrrrrrrrr): its error is not known; harness judge-check measures it",
    ]


def test_every_report_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = fill(tmp_path / "run", [Shape(judge=("m", "p" * 64)), Shape(judge=("m", "p" * 64), score=0.0), Shape()])
    unknown, known = "its error is not known; harness judge-check measures it", "precision 75.0%"
    for expected, absent in ((unknown, known), (known, unknown)):
        assert main(["show", str(folder)]) == 0
        shown = capsys.readouterr().out
        page = write_report(Run(folder)).index.read_text()
        for text in (shown, page):
            assert "2 scores by the judge m (prompt pppppppppppp)" in text
            assert expected in text and absent not in text
        if expected == unknown:
            check(tmp_path, "a", an_error())


def test_the_summary_names_the_judges_and_an_unjudged_run_says_nothing(tmp_path: Path) -> None:
    judged = fill(tmp_path / "judged", [Shape(judge=("m", "p"))])
    summary = summarize("judged", Run(judged).results, "corrected", Invocation())
    assert summary.statistics.judges == (JudgeUse(judge="m", prompt="p", episodes=1),)
    assert json.loads(dumps(as_json(summary)))["judges"] == [{"judge": "m", "prompt": "p", "episodes": 1}]
    run = Run(judged)
    assert "1 score by the judge m" in markdown(run.about, run.results, run.statistics())
    plain = fill(tmp_path / "plain", [Shape()])
    run = Run(plain)
    assert run.statistics().judges == () and "judge" not in markdown(run.about, run.results, run.statistics())
