"""The figures below the headline: short, with their unit in the label, and none that is zero."""

from pathlib import Path

import pytest

from harness.plugins.html_report.chart import WIDTH, histogram
from harness.plugins.html_report.pages import columns
from harness.plugins.html_report.report import write_report
from harness.runs.figures import facts
from harness.runs.format import ago
from harness.runs.run import Run
from tests.reports.runs import Shape, assorted, fill


def figures(folder: Path) -> dict[str, str]:
    return {one.label: one.value for one in facts(Run(folder).statistics().all)}


def test_what_is_zero_is_not_shown(tmp_path: Path) -> None:
    calm = figures(fill(tmp_path / "calm", [Shape(), Shape()], screenshots=False))
    assert list(calm) == ["Tasks", "Tokens", "Cost", "Working time"]
    eventful = figures(fill(tmp_path / "eventful", [Shape(resumed=2, doubted=1, diverged=True)], screenshots=False))
    assert (eventful["Resumes"], eventful["Scores in doubt"], eventful["Further attempts"]) == ("1", "1", "1")


def test_no_value_is_longer_than_a_number_with_its_unit(tmp_path: Path) -> None:
    found = figures(fill(tmp_path / "run", assorted(40, steps=2), trials=3, screenshots=False))
    assert all(len(value) <= 10 for value in found.values()), found


@pytest.mark.parametrize("count", range(2, 30))
def test_no_row_holds_a_single_figure(count: int) -> None:
    wide = columns(count)
    assert 1 <= wide <= 7 and count % wide != 1


def test_a_run_in_which_all_passed_has_no_empty_half(tmp_path: Path) -> None:
    page = write_report(Run(fill(tmp_path / "run", [Shape()] * 4, screenshots=False))).index.read_text()
    assert "did not pass" not in page and 'class="halves"' not in page and "By site" in page


def test_a_table_of_templates_is_shown_when_they_differ(tmp_path: Path) -> None:
    alike = write_report(Run(fill(tmp_path / "alike", [Shape()] * 6, screenshots=False))).index.read_text()
    differ = write_report(Run(fill(tmp_path / "differ", [Shape()] * 3 + [Shape(score=0.0)] * 3, screenshots=False)))
    assert "By intent template" not in alike and "By intent template" in differ.index.read_text()


def test_bars_begin_at_zero_are_equally_wide_and_have_an_axis_that_counts() -> None:
    found = histogram("Steps", "count", [(7.0, "passed")] * 9 + [(9.0, "failed")] * 3 + [(30.0, "passed")])
    assert found.bins[0].low == 0 and len({bin.width for bin in found.bins}) == 1
    assert [(bin.low, bin.high) for bin in found.bins][1:] == [(bin.high, bin.high + 5) for bin in found.bins[:-1]]
    assert sum(bin.count for bin in found.bins) == 13
    assert [tick.value for tick in found.upwards] == [0, 10, 20] or found.upwards[-1].value >= 12
    assert found.upwards[0].at > found.upwards[-1].at == 0, "y grows downwards"
    assert found.across[0].value == 0 and all(0 <= tick.at <= WIDTH for tick in found.across)
    assert all(0 <= bar.y and bar.y + bar.height <= 96.01 for bin in found.bins for bar in bin.bars)


def test_whole_numbers_stand_below_the_middle_of_their_bar() -> None:
    found = histogram("Steps", "count", [(1.0, "passed"), (2.0, "passed"), (4.0, "failed")])
    assert found.is_whole and [bin.count for bin in found.bins] == [0, 1, 1, 0, 1]
    assert found.across[1].at == pytest.approx(found.bins[int(found.across[1].value)].x + found.bins[0].width / 2)
    assert found.median_x == pytest.approx(found.bins[2].x + found.bins[2].width / 2)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (7200, "2 h ago"),
        (86400, "1 day ago"),
    ],
)
def test_a_time_is_said_as_a_person_says_it(seconds: float, said: str) -> None:
    assert ago(seconds) == said
    assert ago(3 * 86_400) == "3 days ago"
