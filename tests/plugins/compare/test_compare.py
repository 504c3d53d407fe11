"""Two runs with planted differences: exactly those are found, and the numbers beside them are right."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from harness.choices import Durability
from harness.journal.store import RunFolder
from harness.main import main
from harness.records import CloseReason
from tests.looking import keep_picture, serious_violations
from tests.reports.runs import Shape, assorted, episode, fill, task, write

Output = pytest.CaptureFixture[str]


def flipped(shapes: Sequence[Shape], lost: int, gained: int) -> tuple[list[Shape], set[str], set[str]]:
    """The shapes with so many flips, and the ids of the tasks that lost and gained."""
    other, down, up = list(shapes), set[str](), set[str]()
    for number, shape in enumerate(shapes):
        if shape.failure or shape.reason is not CloseReason.STOPPED:
            continue
        if shape.score == 1.0 and len(down) < lost:
            other[number] = replace(shape, score=0.0)
            down.add(str(number))
        elif shape.score == 0.0 and len(up) < gained:
            other[number] = replace(shape, score=1.0)
            up.add(str(number))
    return other, down, up


def pair(tmp_path: Path, before: Sequence[Shape], after: Sequence[Shape], **kinds: int) -> tuple[str, str]:
    first = fill(tmp_path / "before", before, screenshots=False, **kinds)
    return str(first), str(fill(tmp_path / "after", after, screenshots=False, **kinds))


def compared(capsys: Output, *arguments: str) -> tuple[int, dict[str, object]]:
    capsys.readouterr()
    code = main(["compare", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)[0]


def test_five_planted_flips_are_found_and_p_is_scipys(tmp_path: Path, capsys: Output) -> None:
    from scipy import stats

    shapes = assorted(60, steps=2)
    other, lost, gained = flipped(shapes, 4, 1)
    before, after = pair(tmp_path, shapes, other)
    assert main(["compare", before, after]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[2].rstrip(":") for line in lines if line.startswith("lost: ")} == lost
    assert {line.split()[2].rstrip(":") for line in lines if line.startswith("gained: ")} == gained
    _, found = compared(capsys, before, after)
    assert found["p"] == pytest.approx(stats.binomtest(1, 5, 0.5).pvalue, abs=1e-9)
    difference = found["difference"]
    assert isinstance(difference, dict)
    assert difference["value"] == pytest.approx(-3 / found["pairs"])  # type: ignore[operator]
    assert difference["low"] <= difference["value"] <= difference["high"]


def test_a_run_compared_with_itself_changed_nothing(tmp_path: Path, capsys: Output) -> None:
    before, after = pair(tmp_path, assorted(20, steps=1), assorted(20, steps=1))
    _, found = compared(capsys, before, after)
    assert (found["gained"], found["lost"], found["p"]) == ([], [], 1.0)


@pytest.mark.parametrize(
    ("lost", "level", "code"), [(8, "0.05", 1), (8, "0.001", 0), (1, "0.05", 0), (1, "1", 1), (0, "1", 0)]
)
def test_a_regression_fails_when_it_is_unlikely_enough(tmp_path: Path, lost: int, level: str, code: int) -> None:
    shapes = [Shape(steps=1)] * 10
    other, _, _ = flipped(shapes, lost, 0)
    before, after = pair(tmp_path, shapes, other)
    assert main(["compare", before, after, "--fail-if-regressed", level]) == code


def test_a_gate_says_which_of_several_runs_fails_and_why(tmp_path: Path, capsys: Output) -> None:
    shapes = [Shape(steps=1)] * 8
    before, same = pair(tmp_path, shapes, shapes)
    worse = str(fill(tmp_path / "worse", [Shape(steps=1, score=0.0)] * 8, screenshots=False))
    without = str(
        fill(tmp_path / "without", [*shapes[:7], Shape(steps=1, failure="BrowserCrashed")], screenshots=False)
    )
    assert main(["compare", before, same, worse, without, "--fail-if-regressed", "0.05"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "harness: worse has regressed: 8 tasks lost, 0 gained, p = 0.00781 is at most 0.05",
        "harness: without has no score where before has one: 7",
    ]


def test_equal_rates_are_no_regression(tmp_path: Path, capsys: Output) -> None:
    """Six tasks lose their first trial, and as many thirds are gained elsewhere: the sum is 0 but for its last digit."""
    for name, trials in (("before", ((1,), (0,))), ("after", ((0, 1, 1), (0, 1, 0)))):
        with RunFolder.open(tmp_path / name, durability=Durability.none) as run:
            for number in range(12):
                for trial, score in enumerate(trials[number >= 6]):
                    of, shape = task(number), Shape(steps=0, score=float(score))
                    write(run, of, episode(run, of, shape, trial=trial, screenshots=False), trial)
    both = (str(tmp_path / "before"), str(tmp_path / "after"))
    assert main(["compare", *both, "--fail-if-regressed", "0.05"]) == 0
    said = capsys.readouterr().out
    assert "passed 50.0% → 50.0%, difference +0.0 pp" in said and "lost 6, exact two-sided p = 0.03125" in said


def test_a_gate_that_compares_nothing_or_cannot_fail_says_so(tmp_path: Path, capsys: Output) -> None:
    before, after = pair(tmp_path, [Shape(steps=1)] * 5, [Shape(steps=1, score=0.0)] * 5)
    gate = ("--fail-if-regressed", "0.05")
    assert main(["compare", before, after, *gate]) == 0
    assert "cannot fail with 5 common tasks: p is at least 0.0625" in capsys.readouterr().err
    for journal in Path(before).glob("*.traj.jsonl"):
        journal.unlink()
    page = tmp_path / "page.html"
    assert main(["compare", before, after, *gate, "--html", str(page)]) == 3
    said, text = capsys.readouterr().out, page.read_text()
    assert "no task has a score in both" in said and "No task has a score in both." in text
    assert "per episode" not in said and "Passed before" not in text, "figures of nothing"


def test_what_a_run_is_no_longer_about_is_not_compared(tmp_path: Path, capsys: Output) -> None:
    """Journals of an earlier start, as of a restored cache, stay in the folder."""
    before, after = pair(tmp_path, [Shape(steps=1)] * 10, [Shape(steps=1)] * 2 + [Shape(steps=1, score=0.0)] * 8)
    about = json.loads((Path(after) / "run.json").read_bytes())
    (Path(after) / "run.json").write_text(json.dumps(about | {"tasks": ["0", "1"]}))
    assert main(["compare", before, after, "--fail-if-regressed", "0.05"]) == 0
    _, found = compared(capsys, before, after)
    assert (found["pairs"], found["rate_after"]) == (2, 1.0)


def test_unscored_tasks_are_never_a_success(tmp_path: Path, capsys: Output) -> None:
    shapes = [Shape(steps=1)] * 6
    before, after = pair(tmp_path, shapes, [Shape(steps=1), *[Shape(steps=1, failure="BrowserCrashed")] * 5])
    assert main(["compare", before, after, "--fail-if-regressed", "0.05"]) == 3
    _, found = compared(capsys, before, after)
    assert (found["pairs"], found["unscored_after"]) == (1, ["1", "2", "3", "4", "5"])
    for number in range(1, 6):
        (Path(after) / f"{number}.traj.jsonl").unlink()
    assert main(["compare", before, after, "--fail-if-regressed", "0.05"]) == 3, "nor are those that were not begun"
    _, found = compared(capsys, before, after)
    assert (found["pairs"], found["unscored_after"], found["only_before"]) == (1, ["1", "2", "3", "4", "5"], [])
    assert main(["compare", after, before, "--fail-if-regressed", "0.05"]) == 0
    _, found = compared(capsys, after, before)
    assert (found["unscored_before"], found["only_after"]) == (["1", "2", "3", "4", "5"], [])


def test_trials_without_a_score_are_named_and_never_a_success(tmp_path: Path, capsys: Output) -> None:
    """Their tasks are compared by their other trials, so nothing else tells that they are missing."""
    before, after = pair(tmp_path, [Shape(steps=1)] * 3, [Shape(steps=1)] * 3, trials=3)
    for trial in (1, 2):
        (Path(after) / f"1.trial-{trial}.traj.jsonl").unlink()
    assert main(["compare", before, after, "--fail-if-regressed", "0.05"]) == 3
    assert "left out, trials unscored in the second: 1 · trial 1, 1 · trial 2" in capsys.readouterr().out
    assert main(["compare", after, before, "--fail-if-regressed", "0.05"]) == 0
    _, found = compared(capsys, before, after)
    assert (found["pairs"], found["episodes_before"], found["episodes_after"]) == (3, 9, 7)
    once = str(fill(tmp_path / "once", [Shape(steps=1)] * 3, screenshots=False))
    assert main(["compare", once, after, "--fail-if-regressed", "0.05"]) == 0, "the first was not asked for more trials"


def test_effort_is_that_of_scored_trials(tmp_path: Path, capsys: Output) -> None:
    long = Shape(steps=9, failure="BrowserCrashed")
    before, after = pair(tmp_path, [Shape(steps=2)] * 2, [Shape(steps=2)] * 2, trials=2)
    with RunFolder.open(Path(after), durability=Durability.none) as run:
        of = task(1, template=0)
        (Path(after) / "1.trial-1.traj.jsonl").unlink()
        write(run, of, episode(run, of, long, trial=1, screenshots=False), 1)
    _, found = compared(capsys, before, after)
    steps = next(one for one in found["effort"] if one["name"] == "Steps")  # type: ignore[attr-defined]
    assert steps["before"] == steps["after"]


def test_what_is_not_common_is_named(tmp_path: Path, capsys: Output) -> None:
    before, after = pair(tmp_path, [Shape(steps=1)] * 3, [Shape(steps=1)] * 5)
    _, found = compared(capsys, before, after)
    assert (found["pairs"], found["only_before"], found["only_after"]) == (3, [], ["3", "4"])


def test_trials_of_a_task_are_one_pair_and_give_pass_at_k(tmp_path: Path, capsys: Output) -> None:
    before, after = pair(tmp_path, [Shape(steps=1)] * 4, [Shape(steps=1, score=0.0)] * 4, trials=3)
    _, found = compared(capsys, before, after)
    assert (found["pairs"], len(found["lost"])) == (4, 4)  # type: ignore[arg-type]
    assert found["rate_before"] == pytest.approx(2 / 3)
    assert found["p"] == 0.125
    trials = found["trials_before"]
    assert isinstance(trials, dict)
    assert [pytest.approx(row) for row in trials["at"]] == [[1, 2 / 3, 2 / 3], [2, 1.0, 1 / 3], [3, 1.0, 0.0]]


def test_trials_are_in_the_page_as_in_the_terminal(tmp_path: Path, capsys: Output) -> None:
    before, after = pair(tmp_path, [Shape(steps=1)] * 4, [Shape(steps=1, score=0.0)] * 4, trials=3)
    page = tmp_path / "page.html"
    assert main(["compare", before, after, "--html", str(page)]) == 0
    rates = ("100.0%", "66.7%", "33.3%", "0.0%")
    (shown,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("k = 2 "))
    assert tuple(cell.strip() for cell in shown.split("│")[1:]) == rates
    assert "<tr><td>2</td>" + "".join(f'<td class="num">{rate}</td>' for rate in rates) + "</tr>" in page.read_text()


@pytest.mark.parametrize("arguments", [["nowhere", "nowhere"], ["--fail-if-regressed", "2", ".", "."]])
def test_wrong_usage_is_one_sentence(
    arguments: list[str], capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_damaged_journal_stops_a_comparison(tmp_path: Path, capsys: Output) -> None:
    before, after = pair(tmp_path, [Shape(steps=1)] * 2, [Shape(steps=1)] * 2)
    path = Path(after) / "1.traj.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Lantern", b"Kantern", 1))
    assert main(["compare", before, after]) == 3
    assert "1.traj.jsonl" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_the_page_shows_the_same(tmp_path: Path, browser: Browser) -> None:
    shapes = assorted(60, steps=2)
    other, lost, _ = flipped(shapes, 4, 1)
    before, after = pair(tmp_path, shapes, other)
    target = tmp_path / "compare.html"
    assert main(["compare", before, after, "--html", str(target)]) == 0
    page = await browser.new_page()
    await page.goto(target.as_uri())
    await expect(page.get_by_role("heading", name="Lost 4")).to_be_visible()
    first = page.get_by_role("table").first.get_by_role("row")
    assert {await row.get_by_role("cell").first.inner_text() for row in (await first.all())[1:]} == lost
    await keep_picture(page, "compare")
    assert await serious_violations(page) == []


def test_what_is_not_counted_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(fill(tmp_path / name, [Shape()] * 3, screenshots=False)) for name in ("one", "two")]
    about = json.loads((tmp_path / "two" / "run.json").read_bytes())
    (tmp_path / "two" / "run.json").write_text(json.dumps(about | {"tasks": ["0", "1"]}))
    assert main(["compare", *folders]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "not counted" in line]
    assert told == [
        f"harness: {folders[1]}: not counted: 1 episode of earlier starts with other tasks or trials (task 2)"
    ]
