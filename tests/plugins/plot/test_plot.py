"""`harness plot`: the numbers of each figure, the files, what is missing, hostile names."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from harness.choices import Durability
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.plot.command import NAMES
from harness.plugins.plot.drawing import _line_style, _look, _marker
from harness.plugins.plot.figures import PLOTS, Named, Plot
from harness.records import Fork, Opened
from harness.runs import PASSED, Run
from harness.runs.intervals import median_interval
from tests.reports.runs import Shape, assorted, episode, fill, rot, task, write

HOSTILE = "$\\frac{<script>alert(1)</script>-->]]>\x1b[2J \u202e_"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        fill(tmp_path / "one", assorted(30), screenshots=False),
        fill(tmp_path / "two", [Shape(steps=steps) for steps in range(1, 9)], trials=3, screenshots=False),
    ]


def plot(name: str, *runs: Path) -> Plot:
    found = PLOTS[name]([Named(path.name, Run(path)) for path in runs])
    assert found is not None
    return found


def test_each_figure_has_a_name() -> None:
    assert tuple(PLOTS) == NAMES


def test_success_by_budget_is_what_passed_within_it(runs: list[Path]) -> None:
    (panel,) = plot("success_by_steps", *runs).panels
    for one, path in zip(panel.series, runs, strict=True):
        results = Run(path).results
        for point in one.points:
            passed = sum(result.status == PASSED and result.steps <= point.x for result in results)
            assert point.y.value == pytest.approx(passed / len(results))
            assert point.y.low <= point.y.value <= point.y.high
        assert one.points[-1].y == Run(path).statistics().all.rate


def test_cost_is_the_mean_of_an_episode(runs: list[Path]) -> None:
    (panel,) = plot("cost_and_success", *runs).panels
    for one, path in zip(panel.series, runs, strict=True):
        results = Run(path).results
        assert one.points[0].x == pytest.approx(sum(result.cost_usd for result in results) / len(results))
        assert one.points[0].y == Run(path).statistics().all.rate and one.points[0].across is not None
    assert panel.x == "cost of an episode (USD, mean)"


@pytest.mark.slow
def test_effort_is_the_median_of_what_the_steps_took(runs: list[Path]) -> None:
    seconds, tokens = plot("effort_by_step", runs[1]).panels
    taken: dict[int, list[float]] = {}
    for played in Run(runs[1]).episodes():
        for step in played.steps:
            taken.setdefault(step.number, []).append(step.usage.tokens)
    assert [point.x for point in tokens.series[0].points] == [
        step for step, of in sorted(taken.items()) if len(of) >= 5
    ]
    for point in tokens.series[0].points:
        values = sorted(taken[int(point.x)])
        assert point.y.value == values[len(values) // 2] and point.y.low <= point.y.value <= point.y.high
    assert seconds.series[0].points[0].y.value == pytest.approx((1841 + 413) / 1000)


def test_what_a_fork_inherited_is_no_effort_of_it(tmp_path: Path) -> None:
    fork = Fork(run="base", trial=0, attempt=1, step=2, origin="o")
    with RunFolder.open(tmp_path / "fork", durability=Durability.none) as run:
        opened, *rest = episode(run, task(0), Shape(steps=3), screenshots=False)
        assert isinstance(opened, Opened)
        write(run, task(0), [replace(opened, fork=fork, why="fork"), *rest])
    for panel in plot("effort_by_step", tmp_path / "fork").panels:
        assert [point.x for point in panel.series[0].points] == [3, 4]


def test_reliability_is_that_of_the_report(runs: list[Path]) -> None:
    every, one = plot("reliability", *runs).panels
    trials = Run(runs[1]).statistics().trials
    assert trials is not None and [series.run for series in every.series] == ["two"], "one has no repeated trials"
    assert [(point.x, point.y.value) for point in every.series[0].points] == [
        (k, pytest.approx(value)) for k, _, value in trials.at
    ]
    assert [point.y.value for point in one.series[0].points] == [pytest.approx(value) for _, value, _ in trials.at]


def test_sites_and_templates_are_those_of_the_report(runs: list[Path]) -> None:
    for name, groups in (("success_by_site", "sites"), ("success_by_template", "templates")):
        (panel,) = plot(name, *runs).panels
        for one, path in zip(panel.series, runs, strict=True):
            found = {panel.categories[int(point.x)]: point.y for point in one.points}
            assert found == {group.name: group.rate for group in getattr(Run(path).statistics(), groups)}


@pytest.mark.parametrize("count", [6, 7, 10, 25, 60, 101, 1024, 5000])
def test_the_interval_of_a_median_is_that_of_scipy(count: int) -> None:
    from scipy.stats import quantile_test  # type: ignore[import-untyped]

    values = [(number * 37) % 101 + number / 10_000 for number in range(count)]
    ours, theirs = median_interval(values), quantile_test(values, p=0.5).confidence_interval(0.95)
    assert (ours.low, ours.high) == (theirs.low, theirs.high)


def test_a_median_of_few_values_may_be_any_of_them() -> None:
    found = median_interval([3.0, 1.0, 2.0])
    assert (found.value, found.low, found.high) == (2.0, 1.0, 3.0)


@pytest.mark.slow
def test_files_are_pictures_and_the_same_each_time(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    for folder in ("a", "b"):
        assert main(["plot", *map(str, runs), "--out", str(tmp_path / folder)]) == 0
    said = capsys.readouterr()
    assert said.err == "" and said.out.count("\n") == 2 * 2 * len(NAMES)
    for name in NAMES:
        svg = (tmp_path / "a" / f"{name}.svg").read_bytes()
        assert svg == (tmp_path / "b" / f"{name}.svg").read_bytes() and ElementTree.fromstring(svg).tag.endswith("svg")
        with Image.open(tmp_path / "a" / f"{name}.png") as picture:
            assert picture.width >= 1200 and len(set(picture.convert("L").resize((64, 64)).tobytes())) > 5


@pytest.mark.slow
def test_what_cannot_be_drawn_is_said_and_the_rest_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    folder = fill(tmp_path / "run", [Shape(), Shape(open=True, steps=0)], screenshots=False)
    assert main(["plot", str(folder), "--out", str(tmp_path / "out"), "--figure", "reliability"]) == 0
    assert "reliability: no task has several scored trials" in capsys.readouterr().err
    assert main(["plot", str(folder), "--out", str(tmp_path / "out")]) == 0
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".svg", ".png"}


def test_without_the_library_one_sentence_says_how_to_get_it(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["plot", str(runs[0]), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error == "harness: the package matplotlib is not installed; run pip install 'cairn-harness[plot]'\n"
    assert not (tmp_path / "out").exists()
    assert main(["plot", str(runs[0]), "--json"]) == 0, "numbers need no library"
    capsys.readouterr()
    assert main(["plot", str(runs[1]), "--json", "--figure", "reliability"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["name"] == "reliability" and found["panels"][0]["series"][0]["run"] == "two"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--figure", "sucess"], "--figure 'sucess' is unknown"),
        (["nowhere"], "nowhere does not exist"),
        (["--out", "/proc/none"], "/proc/none cannot be written to"),
    ],
)
def test_bad_input_is_one_sentence(
    runs: list[Path], capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    pytest.importorskip("matplotlib")
    try:
        code = main(["plot", str(runs[0]), *more])
    except SystemExit as exit:
        code = int(str(exit.code))
    error = capsys.readouterr().err
    assert code == 2 and said in error and error.count("\n") == 1


@pytest.mark.slow
def test_too_many_runs_are_refused_and_as_many_as_can_be_told_apart_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    paths = [fill(tmp_path / f"run-{number}", [Shape()], screenshots=False) for number in range(15)]
    assert main(["plot", *map(str, paths)]) == 2 and "give at most 14" in capsys.readouterr().err
    given = ["plot", *map(str, paths[:14]), "--out", str(tmp_path / "out"), "--figure", "success_by_steps"]
    assert main(given) == 0


def test_runs_differ_in_more_than_their_colour() -> None:
    for looks in (_line_style, _marker):
        assert len({(_look(place)["color"], looks(place)) for place in range(14)}) == 14


def test_a_damaged_journal_is_named_and_the_rest_is_drawn(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    (runs[0] / "1.traj.jsonl").write_bytes(b"{}\n{}\n")
    assert main(["plot", str(runs[0]), "--json"]) == 3
    assert "1.traj.jsonl:1" in capsys.readouterr().err
    rot(runs[1] / "1.traj.jsonl")
    assert main(["plot", str(runs[1]), "--json"]) == 3
    assert "1.traj.jsonl" in capsys.readouterr().err


@pytest.mark.slow
def test_hostile_names_are_drawn_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    folder = fill(tmp_path / "x", [Shape(), Shape()], screenshots=False)
    hostile = folder.rename(tmp_path / HOSTILE.replace("/", "∕"))
    (hostile / "run.json").write_bytes(dumps({"scoring": "corrected", "tasks": ["0", "1"], "agent": HOSTILE}))
    other = fill(tmp_path / "漢字 🐚", [Shape(), Shape()], screenshots=False)
    assert main(["plot", str(hostile), str(other), "--out", str(tmp_path / "out")]) == 0
    assert "\x1b" not in capsys.readouterr().out
    for path in (tmp_path / "out").glob("*.svg"):
        text = path.read_text("utf-8")
        assert (
            not any(one in text for one in ("\x1b", "\u202e", "<script")) and ElementTree.fromstring(text) is not None
        )
