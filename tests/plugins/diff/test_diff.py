"""`harness diff`: where episodes part, rows, forks, pages, and what is not a pair."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser

from harness.actions import Click, Stop, Target, Type
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.diff.alignment import Move, parting_of, rows_of
from harness.plugins.diff.whole_runs import part_runs
from harness.records import Acted, Decided, Opened, Record, Refused
from harness.runs import Run
from tests.looking import keep_picture, serious_violations
from tests.reports.runs import Shape, episode, fill, rot, task, write

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def move(number: int, action: str, url: str = "u", text: str = "t", outcome: str = "done") -> Move:
    return Move(number=number, url=url, text=text, action=action, said=action, outcome=outcome)


def moves(*actions: str) -> list[Move]:
    return [move(number, action) for number, action in enumerate(actions, start=1)]


def test_the_first_difference_is_found_and_named() -> None:
    same = moves("a", "b", "c")
    assert parting_of([same, same, same]) is None and parting_of([[], []]) is None
    found = parting_of([same, moves("a", "x", "c")])
    assert found is not None and (found.step, found.kind, found.said) == (2, "another action", ("b", "x"))
    ended = parting_of([same, same[:2]])
    assert ended is not None and (ended.step, ended.kind, ended.said) == (3, "one has ended", ("c", ""))
    page = parting_of([same, [*same[:2], move(3, "c", url="other")]])
    assert page is not None and (page.step, page.kind) == (3, "another page")
    refused = parting_of([same, [*same[:2], move(3, "c", outcome="refused")]])
    assert refused is not None and (refused.step, refused.kind) == (3, "another outcome")
    clock = parting_of([same, [same[0], replace(same[1], text="10:42"), move(3, "x")]])
    assert clock is not None and (clock.step, clock.other_text_from) == (3, 2)
    assert parting_of([same, [same[0], replace(same[1], text="10:42"), same[2]]]) is None


@pytest.mark.parametrize("seed", range(30))
def test_every_step_has_one_place_and_keeps_its_order(seed: int) -> None:
    draw = random.Random(seed)
    episodes = [moves(*draw.choices("abcd", k=draw.randint(0, 25))) for _ in range(draw.randint(2, 7))]
    rows = rows_of(episodes, parting_of(episodes))
    for column, one in enumerate(episodes):
        assert [row[column] for row in rows if row[column] is not None] == list(range(len(one)))
    assert all(len(row) == len(episodes) and any(at is not None for at in row) for row in rows)


def test_the_same_is_aligned_again_after_a_detour() -> None:
    episodes = [moves("a", "b", "c", "stop"), moves("a", "x", "y", "b", "c", "stop")]
    rows = rows_of(episodes, parting_of(episodes))
    assert rows == ((0, 0), (1, 1), (None, 2), (None, 3), (2, 4), (3, 5)), (
        "what was decided at the parting is side by side"
    )


def forked(records: list[Record], step: int, number: int) -> list[Record]:
    """A fork at `step`: the same up to there, with other ids on each page, then another action."""
    found: list[Record] = []
    for one in records:
        if isinstance(one, Decided) and one.step == step + 1:
            one = replace(one, action=Type(target=Target(id="1", role="textbox", name="Note"), text=f"fork {number}"))
        elif isinstance(one, Decided) and one.step <= step:
            one = replace(one, action=one.action.with_targets(lambda target: replace(target, id=f"{target.id}7")))
        elif isinstance(one, Opened):
            one = replace(one, config_digest=f"fork {number}")
        found.append(one)
    return found


@pytest.mark.slow
def test_forks_part_at_the_step_of_the_fork(tmp_path: Path) -> None:
    draw, expected = random.Random(36), dict[tuple[int, int], int]()
    for fork in range(4):
        with RunFolder.open(tmp_path / f"run-{fork}") as run:
            for number in range(40):
                records = episode(run, task(number), Shape(steps=12), screenshots=False)
                if fork:
                    expected[fork, number] = step = draw.randint(0, 11)
                    records = forked(records, step, fork)
                write(run, task(number), records)
            run.write("run.json", dumps({"scoring": "corrected", "tasks": [str(number) for number in range(40)]}))
    parent = Run(tmp_path / "run-0")
    found = {
        (fork, int(one.task)): one.parting.step - 1 if one.parting else None
        for fork in (1, 2, 3)
        for one in part_runs([parent, Run(tmp_path / f"run-{fork}")])
    }
    assert len(found) == 120 and found == expected


def two(folder: Path) -> tuple[Path, Path]:
    before = fill(folder / "before", [Shape(), Shape(score=0.0), Shape(steps=0)], screenshots=True)
    after = fill(folder / "after", [Shape(), Shape(steps=5), Shape(steps=1), Shape()], screenshots=True)
    return before, after


def test_whole_runs_name_what_parts_and_what_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = two(tmp_path)
    assert main(["diff", str(before), str(after)]) == 0
    said = capsys.readouterr().out
    assert "2 of 3 tasks part; 1 is the same to the end" in said and "left out, not in all of them: 3" in said
    assert main(["diff", str(before), str(after), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["task"], one["parting"] and one["parting"]["step"]) for one in found["tasks"]] == [
        ("0", None),
        ("1", 4),
        ("2", 1),
        ("3", None),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--html", "x.html"], "--html is of one task; give --task, too"),
        (["--task", "99"], "has no journal for task 99"),
        (["--task", "../x"], "has no journal for task ../x"),
        (["--trial", "-1"], "--trial -1 is not a trial"),
        (["--task", "1", "--html", "/proc/none/x.html"], "cannot be written"),
    ],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    before, after = two(tmp_path)
    assert main(["diff", str(before), str(after), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_one_run_needs_trials_and_too_many_runs_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, _ = two(tmp_path)
    assert main(["diff", str(before), "--task", "1"]) == 2
    assert "has one trial" in capsys.readouterr().err
    assert main(["diff", *[str(before)] * 8]) == 2
    assert "give at most 7" in capsys.readouterr().err
    trials = fill(tmp_path / "trials", [Shape(), Shape(steps=0)], trials=3, screenshots=False)
    assert main(["diff", str(trials)]) == 0
    assert "0 of 2 tasks part" in capsys.readouterr().out


def test_all_trials_of_a_run_are_compared_and_a_task_without_any_is_said_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunFolder.open(tmp_path / "run") as run:
        for trial in range(12):
            write(run, task(0), episode(run, task(0), Shape(steps=2 if trial == 11 else 1), trial=trial), trial)
        write(run, task(1), episode(run, task(1), Shape()))
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["0", "1", "2"], "trials": 12}))
    assert main(["diff", str(tmp_path / "run"), "--json"]) == 0
    known = {one["task"]: one for one in json.loads(capsys.readouterr().out)["tasks"]}
    assert (
        len(known["0"]["outcomes"]) == 12
        and known["0"]["parting"]["said"][:11] == known["0"]["parting"]["said"][:1] * 11
    )
    assert (known["1"]["left_out"], known["2"]["left_out"]) == ("has one trial", "has no trial")


def test_a_damaged_journal_is_named_and_the_others_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = two(tmp_path)
    (after / "1.traj.jsonl").write_bytes(b"{}\n{}\n")
    assert main(["diff", str(before), str(after)]) == 3
    said = capsys.readouterr()
    assert "1.traj.jsonl:1" in said.err and "1 of 2 tasks part" in said.out
    assert main(["diff", str(before), str(after), "--task", "1"]) == 3


def test_what_reading_shows_to_be_damaged_is_left_out_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = two(tmp_path)
    rot(after / "1.traj.jsonl")
    assert main(["diff", str(before), str(after), "--json"]) == 3
    said = capsys.readouterr()
    (left,) = [one["left_out"] for one in json.loads(said.out)["tasks"] if one["task"] == "1"]
    assert "1.traj.jsonl" in left and left in said.err


def hostile(folder: Path) -> list[str]:
    """Two runs of a task whose texts are hostile, in seven trials."""
    with RunFolder.open(folder) as run:
        for trial in range(7):
            of = task(0, intent=HOSTILE)
            records: list[Record] = []
            for one in episode(run, of, Shape(steps=3 + trial, score=float(trial % 2)), trial=trial):
                if isinstance(one, Decided):
                    target = Target(id="1", role="button", name=HOSTILE, line=HOSTILE)
                    action = Stop(answer=HOSTILE) if isinstance(one.action, Stop) else Click(target=target)
                    one = replace(one, action=action)
                elif isinstance(one, Acted) and one.step:
                    seen = replace(one.observation, title=HOSTILE, url=f"http://x/{HOSTILE}")
                    outcome = Refused(why=HOSTILE) if one.step == 2 else one.outcome
                    one = replace(one, observation=seen, outcome=outcome)
                records.append(one)
            write(run, of, records, trial)
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["0"], "trials": 7}))
    return ["diff", str(folder), "--task", "0", "--html", str(folder.parent / "diff.html")]


def test_hostile_texts_stay_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(hostile(tmp_path / "run")) == 0
    assert "\x1b" not in capsys.readouterr().out
    text = (tmp_path / "diff.html").read_text()
    assert "&lt;script&gt;" in text and not any(bad in text for bad in ("<script>alert", "\x1b", "\u202e"))


def test_titles_and_addresses_of_any_length_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with RunFolder.open(tmp_path / "run") as run:
        for trial in range(2):
            records = [
                replace(one, observation=replace(one.observation, title="t" * 100_000, url=f"http://x/{'u' * 100_000}"))
                if isinstance(one, Acted)
                else one
                for one in episode(run, task(0), Shape(steps=3), trial=trial)
            ]
            write(run, task(0), records, trial)
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["0"], "trials": 2}))
    page = tmp_path / "diff.html"
    assert main(["diff", str(tmp_path / "run"), "--task", "0", "--html", str(page)]) == 0
    assert "t" * 1001 not in page.read_text() and "u" * 4001 not in page.read_text()
    assert max(map(len, capsys.readouterr().out.splitlines())) < 1000


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_seven_columns_fit_and_a_phone_shows_two(browser: Browser, tmp_path: Path, theme: str) -> None:
    assert main(hostile(tmp_path / "run")) == 0
    page = await browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    await page.goto((tmp_path / "diff.html").as_uri())
    box = "document.querySelector('.sides')"
    assert await page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth"), "all seven are seen"
    assert await page.evaluate("document.documentElement.scrollWidth") == 1440
    assert await page.evaluate(
        "[...document.querySelectorAll('thead th')].every((cell) => cell.scrollWidth <= cell.clientWidth)"
    )
    assert await serious_violations(page) == []
    await keep_picture(page, f"diff-{theme}-1440")
    await page.set_viewport_size({"width": 390, "height": 844})
    await keep_picture(page, f"diff-{theme}-390")
    assert await page.evaluate("document.documentElement.scrollWidth") == 390
    edges = await page.evaluate(
        "[...document.querySelectorAll('thead th')].map((cell) => cell.getBoundingClientRect().right)"
    )
    assert sum(edge <= 391 for edge in edges) == 2, "the others are reached by swiping"
    await page.close()


def test_what_is_not_counted_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(fill(tmp_path / name, [Shape()] * 3, screenshots=False)) for name in ("one", "two")]
    about = json.loads((tmp_path / "two" / "run.json").read_bytes())
    (tmp_path / "two" / "run.json").write_text(json.dumps(about | {"tasks": ["0", "1"]}))
    assert main(["diff", *folders]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "not counted" in line]
    assert told == [
        f"harness: {folders[1]}: not counted: 1 episode of earlier starts with other tasks or trials (task 2)"
    ]
