"""A figure of a run is computed in one place, and everything that prints figures prints it."""

from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from harness.choices import Durability
from harness.codec import dumps, loads
from harness.errors import ConfigError, JournalError
from harness.journal.store import RunFolder
from harness.plugins.html_report.report import write_report
from harness.reports.show_text import show_run
from harness.reports.summary import Invocation, as_json, summarize
from harness.reports.table import print_summary
from harness.reports.write_all import write_reports
from harness.runs import Fact, Group, Run, Statistics, as_data, facts, figures, headline, statistics_of
from harness.runs.intervals import wilson
from harness.runs.results import Result
from tests.reports.runs import Shape, fill

SHAPES = [
    Shape(doubted=2, judge_tokens=7, judge=("j", "p")),
    Shape(score=0.0, resumed=1),
    Shape(diverged=True),
    Shape(score=None),
    Shape(open=True),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path / "run", SHAPES, screenshots=False)


def printed(folder: Path) -> dict[str, str]:
    """What each of those that print the figures of a run says of this one."""
    run, table, shown = Run(folder), StringIO(), StringIO()
    print_summary(Console(file=table, width=200), summarize("run", run.results, "corrected", Invocation()), str(folder))
    show_run(Console(file=shown, width=2000), run, [])
    with RunFolder.open(folder, durability=Durability.none) as opened:
        write_reports(opened, run.about, run, console=Console(file=StringIO()))
    return {
        "table": table.getvalue(),
        "show": shown.getvalue(),
        "Markdown": (folder / "summary.md").read_text(),
        "HTML": write_report(run).index.read_text(),
    }


def test_all_of_them_print_every_figure(folder: Path) -> None:
    said, found = printed(folder), facts(Run(folder).statistics().all)
    assert {"Judge's tokens", "Resumes", "Divergences", "Scores in doubt", "Further attempts"} <= {
        fact.label for fact in found
    }
    for fact in found:
        html = f"<dt>{fact.label.replace(chr(39), '&#39;')}</dt><dd>{fact.value}"
        assert html in said["HTML"]
        if not fact.is_headline:
            assert all(str(fact) in said[where] for where in ("table", "show", "Markdown")), fact
    assert all(headline(Run(folder).statistics()) in said[where] for where in ("show", "Markdown"))


def test_a_figure_more_is_printed_by_all_of_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new figure takes two files, `harness/runs/statistics.py` and `harness/runs/figures.py`: whatever prints figures
    prints what these say.
    """
    known = figures._facts

    def more(group: Group) -> Iterator[Fact]:
        yield from known(group)
        yield Fact(label="Steps of the longest", value="7")

    monkeypatch.setattr(figures, "_facts", more)
    said = printed(folder)
    assert "<dt>Steps of the longest</dt><dd>7</dd>" in said.pop("HTML")
    assert all("steps of the longest: 7" in text for text in said.values())


def test_the_summary_has_the_same_numbers(folder: Path) -> None:
    run = Run(folder)
    written = loads(dumps(as_json(summarize("run", run.results, "corrected", Invocation()))))
    found = run.statistics()
    assert {key: written[key] for key in as_data(found.all)} == as_data(found.all)
    assert {site: loads(dumps(one)) for site, one in written["by_site"].items()} == {
        site.name: as_data(site) for site in found.sites
    }


def test_what_is_nothing_is_not_said() -> None:
    nothing = statistics_of([])
    assert isinstance(nothing, Statistics) and nothing.all.of_scored is None
    assert headline(nothing) == (
        "0 passed, 0 failed, 0 unscored of 0 tasks; 0.0% (95% from 0.0% to 100.0%, Wilson); 0 tokens, $0.00,"
        " 0.0 s of work"
    )


def test_tasks_of_one_template_are_no_more_independent_than_trials_of_one_task() -> None:
    passed = [number % 6 for number in range(20)]  # of the five tasks of each template
    once = [
        Result(
            task_id=f"{template}.{task}",
            trial=0,
            cluster=f"template {template}",
            status="passed" if task < passed[template] else "failed",
        )
        for template in range(20)
        for task in range(5)
    ]
    found = statistics_of(once)
    twice = statistics_of([replace(one, trial=trial) for one in once for trial in range(2)])
    assert (found.all.passed, found.method) == (46, "Wilson over intent templates")
    assert found.all.rate.high - found.all.rate.low > 1.5 * (wilson(46, 100).high - wilson(46, 100).low)
    assert (found.all.rate.low, found.all.rate.high) == pytest.approx((twice.all.rate.low, twice.all.rate.high))
    apart = statistics_of([replace(one, cluster=f"task {one.task_id}") for one in once])
    assert (apart.all.rate, apart.method) == (wilson(46, 100), "Wilson")
    suite = statistics_of([replace(one, task_id=f"one.{one.task_id}") for one in once], {"one": 1.0}).suite
    assert suite is not None and suite.benchmarks[0].rate == found.all.rate


def test_a_part_of_a_run_has_statistics_of_its_own(folder: Path) -> None:
    run = Run(folder)
    passed = statistics_of([one for one in run.results if one.status == "passed"])
    assert (passed.all.rate.value, passed.all.episodes, passed.causes) == (1.0, 2, ())
    assert [(one.episodes, one.status) for one in run.statistics().causes] == [
        (1, "unscored"),
        (1, "unscored"),
        (1, "failed"),
    ]


def test_a_damaged_run_has_no_statistics(folder: Path) -> None:
    (folder / "1.traj.jsonl").write_bytes(b"{}\n")
    (folder / ".index.jsonl").unlink(missing_ok=True)
    with pytest.raises(JournalError, match=r"1\.traj\.jsonl"):
        Run(folder).statistics()
    readable = Run(folder).statistics_of_readable().all
    assert (readable.tasks, readable.passed) == (5, 2), "its task counts as not begun"


def test_an_episode_has_every_attempt(folder: Path) -> None:
    assert [one.attempt for one in Run(folder).episode(2).attempts] == [1, 2]


@pytest.mark.parametrize("task_id", ["../run/0", "x/../0", ".0", ""])
def test_a_task_id_chooses_no_path(folder: Path, task_id: str) -> None:
    with pytest.raises(ConfigError, match="has no journal for task"):
        Run(folder).episode(task_id)
