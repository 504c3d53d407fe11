"""`harness matrix`: rows, columns, differences, pages with diffs, the end of a sweep, and bad input."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser

from harness.cli import _say_sweep
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.matrix.matrix import Matrix, matrix_of
from harness.runs import Run
from harness.runs.comparison import compare_runs
from tests.looking import fits, keep_picture, serious_violations
from tests.reports.runs import Shape, episode, fill, task, write

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def played(folder: Path, scores: str, **about: object) -> Path:
    """A run whose tasks have these scores, 0 or 1."""
    path = fill(folder, [Shape(steps=1 + int(score), score=float(score)) for score in scores], screenshots=True)
    known = json.loads((path / "run.json").read_bytes())
    (path / "run.json").write_bytes(dumps({**known, "benchmark": "demo", **about}))
    return path


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        played(tmp_path / "a", "110010101010", model="small"),
        played(tmp_path / "b", "111111101010", model="large"),
        played(tmp_path / "c", "0011", model="large", benchmark="forum tasks"),
        played(tmp_path / "d", "110010101010", model="small", agent="tools"),
    ]


def matrix(paths: list[Path]) -> Matrix:
    return matrix_of([Run(path) for path in paths], [path.name for path in paths])


def test_rows_are_agents_and_models_and_differences_are_those_of_compare(runs: list[Path]) -> None:
    found = matrix(runs)
    assert found.benchmarks == ("demo", "forum tasks")
    assert [row.name for row in found.rows] == ["prompt, small", "prompt, large", "tools, small"]
    assert found.comparisons == 2 and found.cells[found.reference, "demo"].comparison is None
    assert (found.reference, "forum tasks") not in found.cells
    forum = found.cells[found.rows[1], "forum tasks"]
    assert (forum.comparison, forum.group.passed, forum.group.episodes) == (None, 2, 4)
    (same,) = compare_runs(Run(runs[0]), [Run(runs[1])])
    ours = found.cells[found.rows[1], "demo"].comparison
    assert ours is not None and len(ours.gained) == 3
    assert (ours.pairs, ours.difference, ours.p) == (same.pairs, same.difference, same.p)


def test_runs_of_one_agent_and_model_are_told_apart_by_their_names(tmp_path: Path) -> None:
    found = matrix([played(tmp_path / name, scores) for name, scores in (("warm", "10"), ("cold", "11"))])
    assert [row.name for row in found.rows] == ["prompt, gpt-4o, warm", "prompt, gpt-4o, cold"]


def test_a_suite_has_a_column_for_each_benchmark(tmp_path: Path) -> None:
    for name in ("one", "two"):
        with RunFolder.open(tmp_path / name) as run:
            ids = [f"{part}.{number}" for part in ("shop", "forum") for number in range(3)]
            for number, task_id in enumerate(ids):
                of = task(task_id)
                write(run, of, episode(run, of, Shape(score=float(number % 2 or name == "two")), screenshots=False))
            about = {"scoring": "corrected", "tasks": ids, "benchmarks": {"shop": 1.0, "forum": 1.0}, "model": name}
            run.write("run.json", dumps(about))
    found = matrix([tmp_path / "one", tmp_path / "two"])
    assert set(found.benchmarks) == {"shop", "forum"}
    differences = [cell.comparison.difference.value for cell in found.cells.values() if cell.comparison]
    assert sorted(differences) == pytest.approx([1 / 3, 2 / 3])


def test_the_command_prints_text_markdown_and_json(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["matrix", *map(str, runs)]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert re.search(r"prompt, large +75\.0% \(30\.1% to 95\.4%; 12 tasks\)", said), "four templates"
    assert "difference from prompt, small on the same tasks" in said
    assert "+25.0 pp (" in said and "3 gained, 0 lost" in said and "2 differences; intervals and p are of each" in said
    assert main([*given, "--markdown"]) == 0
    assert "| agent, model | demo | forum tasks |\n| --- | --- | --- |" in capsys.readouterr().out
    assert main([*given, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [(one["model"], one["benchmark"], one["passed"]) for one in data["cells"]] == [
        ("small", "demo", 6),
        ("large", "demo", 9),
        ("large", "forum tasks", 2),
        ("small", "demo", 6),
    ]
    assert data["cells"][1]["comparison"]["gained"] == ["2", "3", "5"]


def test_the_json_has_what_is_left_out_of_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Task 2 has no score in the reference, task 3 only the reference has."""
    first = fill(tmp_path / "a", [Shape(), Shape(), Shape(score=None), Shape()], screenshots=False)
    second = fill(tmp_path / "b", [Shape(score=0.0), Shape(), Shape()], screenshots=False)
    assert main(["matrix", str(first), str(second), "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)["cells"][1]["comparison"]
    assert (compared["pairs"], compared["only_before"], compared["unscored_before"]) == (2, ["3"], ["2"])
    assert compared["only_after"] == compared["trials_unscored_before"] == compared["trials_unscored_after"] == []


def test_a_run_that_does_not_name_its_benchmark_is_held_against_one_that_has_its_tasks(tmp_path: Path) -> None:
    old = [played(tmp_path / name, "10", model=name, benchmark=None) for name in ("before", "after")]
    assert matrix(old).benchmarks == ("tasks",) and matrix(old).comparisons == 1
    found = matrix([*old, played(tmp_path / "new", "11", model="new")])
    assert found.benchmarks == ("demo",) and found.comparisons == 2


def test_what_cannot_be_paired_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = played(tmp_path / "one", "10"), tmp_path / "other"
    with RunFolder.open(other) as run:
        of = task(1)
        records = episode(run, of, Shape(), screenshots=False)
        write(run, of, [replace(records[0], task_digest="another"), *records[1:]])  # type: ignore[type-var]
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["1"], "model": "m", "benchmark": "demo"}))
    assert main(["matrix", str(one), str(other)]) == 0
    assert "no task in common that both have a score for" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["{0}"], 2, "is given twice"),
        (["{0}/none"], 2, "does not exist"),
        (["--diffs", "-1"], 2, "--diffs -1 is not a number"),
        (["{1}", "--html", "/proc/none"], 2, "cannot be written to"),
    ],
)
def test_bad_input_is_one_sentence(
    runs: list[Path], capsys: pytest.CaptureFixture[str], more: list[str], code: int, said: str
) -> None:
    assert main(["matrix", str(runs[0]), *(one.format(*runs) for one in more)]) == code
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_damaged_journal_is_an_error(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    (runs[1] / "1.traj.jsonl").write_bytes(b"{}\n{}\n")
    assert main(["matrix", *map(str, runs)]) == 3
    assert "1.traj.jsonl:1" in capsys.readouterr().err


def test_a_sweep_ends_with_the_matrix(runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _say_sweep([(runs[0], 0), (tmp_path / "refused", 2), (runs[1], 0)])
    said = capsys.readouterr().out
    assert said.index("sweep of 3 runs") < said.index("difference from prompt, small on the same tasks")
    _say_sweep([(runs[0], 0), (tmp_path / "refused", 2)])
    assert "difference" not in capsys.readouterr().out
    _say_sweep([(runs[0], 0), (runs[0], 2), (runs[1], 0)])
    again = capsys.readouterr()
    assert f"2 runs of the sweep have the folder {runs[0].name}; put what differs into its name" in again.out
    assert "difference from prompt, small" in again.out and again.err == ""


def test_hostile_texts_stay_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = played(tmp_path / "one", "10", model=HOSTILE, benchmark=HOSTILE)
    two = played(tmp_path / "two", "11", agent=HOSTILE, benchmark=HOSTILE)
    for more in ([], ["--markdown"], ["--json"]):
        assert main(["matrix", str(one), str(two), "--html", str(tmp_path / "out"), *more]) == 0
        said = capsys.readouterr().out
        assert not any(bad in said for bad in ("\x1b", "\u202e")) and ("&lt;script" in said or "--markdown" not in more)
    text = (tmp_path / "out" / "index.html").read_text()
    assert "&lt;script&gt;" in text and not any(bad in text for bad in ("<script>alert", "\x1b", "\u202e"))


def test_nothing_of_a_run_is_markup_in_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = "![x](http://evil.test/pixel.png) | <img src=x>"
    one, two = (played(tmp_path / name, "10", model=name + bad, benchmark=bad) for name in ("one", "two"))
    assert main(["matrix", str(one), str(two), "--markdown"]) == 0
    said = re.sub(r"\\.", "", capsys.readouterr().out)  # without what is escaped
    assert not any(markup in said for markup in ("![", "](", "<img"))
    assert {line.count("|") for line in said.splitlines() if line.startswith("|")} == {3}


@pytest.mark.sample(1)
@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_cells_lead_to_the_diff_of_a_task(browser: Browser, runs: list[Path], tmp_path: Path, theme: str) -> None:
    assert main(["matrix", *map(str, runs), "--html", str(tmp_path / "out"), "--diffs", "2"]) == 0
    page = await browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    await page.goto((tmp_path / "out" / "index.html").as_uri())
    assert await serious_violations(page) == [] and await fits(page)
    await keep_picture(page, f"matrix-{theme}")
    await page.get_by_role("link", name="3 gained, 0 lost").click()
    assert await page.get_by_role("link", name="where they part").count() == 2
    assert await page.get_by_text("no diff").count() == 1
    await page.get_by_role("link", name="where they part").first.click()
    assert "side by side" in await page.title()
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto((tmp_path / "out" / "index.html").as_uri())
    assert await fits(page)
    await page.close()


def test_what_is_not_counted_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(fill(tmp_path / name, [Shape()] * 3, screenshots=False)) for name in ("one", "two")]
    about = json.loads((tmp_path / "two" / "run.json").read_bytes())
    (tmp_path / "two" / "run.json").write_text(json.dumps(about | {"tasks": ["0", "1"]}))
    assert main(["matrix", *folders]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "not counted" in line]
    assert told == [
        f"harness: {folders[1]}: not counted: 1 episode of earlier starts with other tasks or trials (task 2)"
    ]
