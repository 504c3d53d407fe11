"""The report's files: what is made, when it is made again, and what damaged runs look like."""

import os
import re
from pathlib import Path

import pytest

from harness.choices import Durability
from harness.codec import dumps, loads
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.html_report.pages import TEMPLATES
from harness.plugins.html_report.report import write_report
from harness.runs.run import Run
from tests.reports.runs import Shape, assorted, episode, fill, task, write


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return fill(
        tmp_path / "small", [Shape(), Shape(score=0.0, refused=2), Shape(failure="BrowserCrashed", diverged=True)]
    )


def test_every_task_gets_a_page_and_the_index_names_them_all(small: Path) -> None:
    written = write_report(Run(small))
    index = written.index.read_text()
    assert written.pages == 3
    for page in ("0.html", "1.html", "2.html"):
        assert (small / "report" / "tasks" / page).exists()
        assert f'href="tasks/{page}"' in index
    assert "BrowserCrashed" in index and "wrong result (string_match)" in index


def test_a_judge_is_counted_apart_on_the_pages(tmp_path: Path) -> None:
    folder = fill(tmp_path / "run", [Shape(), Shape(judge_tokens=300)], screenshots=False)
    main(["report", str(folder)])
    pages = {path.name: path.read_text() for path in (folder / "report").rglob("*.html")}
    assert "<dt>Judge&#39;s tokens</dt><dd>600 <small>$6.00, not included</small></dd>" in pages["index.html"]
    assert "judge: 600 tokens, $6.00" in pages["1.html"] and "judge:" not in pages["0.html"]


def test_a_second_time_nothing_is_written(small: Path) -> None:
    write_report(Run(small))
    before = {path: path.stat().st_mtime_ns for path in (small / "report").rglob("*")}
    assert write_report(Run(small)).pages == 0
    assert {path: path.stat().st_mtime_ns for path in (small / "report").rglob("*")} == before


def test_only_the_page_of_a_journal_that_grew_is_made_again(small: Path) -> None:
    write_report(Run(small))
    with RunFolder.open(small, durability=Durability.none) as run:
        of = task(1, template=0)
        os.truncate(run.journal_path("1"), 0)
        write(run, of, episode(run, of, Shape(steps=1)))
    assert write_report(Run(small)).pages == 1
    assert "Step 3" not in (small / "report" / "tasks" / "1.html").read_text()


def test_pages_that_are_not_there_are_made_again(small: Path) -> None:
    report = write_report(Run(small)).index.parent
    first, second = sorted((report / "tasks").iterdir())[:2]
    for gone, pages in ((first, 1), (report / "report.css", 0), (report / "figures.html", 0)):
        gone.unlink()
        kept = second.stat().st_mtime_ns
        assert write_report(Run(small)).pages == pages and gone.exists() and second.stat().st_mtime_ns == kept


def test_the_pages_of_a_renamed_run_have_its_new_name(small: Path) -> None:
    write_report(Run(small))
    renamed = small.rename(small.with_name("renamed"))
    report = write_report(Run(renamed)).index.parent
    assert all('href="../index.html">renamed</a>' in page.read_text() for page in (report / "tasks").iterdir())


def test_journals_and_artifacts_are_left_alone(small: Path) -> None:
    before = {path: path.read_bytes() for path in small.rglob("*") if path.is_file()}
    write_report(Run(small))
    after = {path: path.read_bytes() for path in small.rglob("*") if path.is_file() and "report" not in path.parts}
    assert after == before


def test_a_damaged_journal_is_named_and_the_others_are_shown(small: Path) -> None:
    path = small / "1.traj.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Lantern", b"Kantern", 1))
    index = write_report(Run(small)).index.read_text()
    assert "1.traj.jsonl:" in index and "checksum" in index
    assert 'href="tasks/0.html"' in index


def test_a_torn_tail_is_left_out(small: Path) -> None:
    path = small / "1.traj.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    write_report(Run(small))
    assert (small / "report" / "tasks" / "1.html").exists()


def test_a_missing_screenshot_is_said_and_stops_nothing(small: Path) -> None:
    for path in (small / "artifacts").rglob("*"):
        if path.is_file() and path.read_bytes().startswith(b"\x89PNG"):
            path.unlink()
    write_report(Run(small))
    page = (small / "report" / "tasks" / "0.html").read_text()
    assert "its screenshot is missing" in page and "<img" not in page


def test_tasks_not_begun_count_as_unscored(tmp_path: Path) -> None:
    folder = fill(tmp_path / "r", [Shape()] * 3)
    (folder / "2.traj.jsonl").unlink()
    index = write_report(Run(folder)).index.read_text()
    assert "not begun" in index
    assert re.search(r"2</b> passed.*1</b> unscored", index) and "</b> failed" not in index
    assert 'aria-label="2 passed, 0 failed, 1 unscored"' in index
    assert "66.7%" in index


def test_a_message_sent_with_every_step_stands_on_the_page_once(small: Path) -> None:
    write_report(Run(small))
    page = (small / "report" / "tasks" / "0.html").read_text()
    assert page.count("You are an autonomous agent.") == 1
    assert 'as in <a href="#step-1">step 1</a>' in page
    assert "[the observation above, " in page


def test_both_scorings_can_be_shown(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(small), "--scoring", "webarena"]) == 0
    assert "webarena scoring" in Path(capsys.readouterr().out.strip()).read_text()


def test_a_folder_without_a_run_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert "contains no run" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.integration
def test_the_index_of_a_large_run_stays_small(tmp_path: Path) -> None:
    """A quarter of WebArena's 812 tasks: the index of all of them is less than 2 MB."""
    folder = fill(tmp_path / "big", assorted(203, steps=1), screenshots=False)
    assert write_report(Run(folder)).index.stat().st_size < 500_000


def test_templates_never_switch_escaping_off() -> None:
    for path in TEMPLATES.glob("*.html"):
        assert not re.search(r"\|\s*safe|autoescape|Markup|<script(?!>\{\{ js)|\sstyle=|\son\w+=", path.read_text()), (
            path
        )
    for path in TEMPLATES.glob("*.js"):
        assert not re.search("</script|innerHTML", path.read_text()), path
    assert "</style" not in (TEMPLATES / "report.css").read_text()


def test_the_first_page_says_what_made_the_run(small: Path) -> None:
    assert "What made it" not in write_report(Run(small)).index.read_text(), "nobody wrote it down"
    known = loads((small / "run.json").read_bytes())
    made = {
        "harness": "0.1.0",
        "revision": {"commit": "abc123", "dirty": True},
        "browser": {"program": "chromium", "version": "Chromium 150.0.1"},
        "fonts": {"files": 3, "sha256": "f" * 64},
        "packages": {"playwright": "1.60.0", "openai": "3.0.0"},
    }
    (small / "run.json").write_bytes(
        dumps({**known, **made, "earlier": [{"browser": {"version": "Chromium 149.0.7"}}]})
    )
    index = write_report(Run(small)).index.read_text()
    assert 'title="abc123">abc123</code>, with uncommitted changes</dd>' in index
    assert "<dt>Browser</dt><dd>Chromium 150.0.1</dd>" in index
    assert f'title="{"f" * 64}">{"f" * 64}</code>, 3 files</dd>' in index, "copied in full, shown abbreviated"
    assert "<summary>2 packages</summary>" in index and "<li>playwright 1.60.0</li>" in index
    assert "<dt>Packages</dt>" not in index
    assert "An earlier invocation used other versions" in index and "Chromium 149.0.7" in index


@pytest.mark.parametrize("evil", [None, 3, "x", [], {"x": []}, [{"revision": []}], "<script>alert(1)</script>"])
def test_whatever_stands_there_the_page_is_made(small: Path, evil: object) -> None:
    names = ("harness", "revision", "browser", "fonts", "packages", "earlier", "python", "platform")
    known = loads((small / "run.json").read_bytes())
    (small / "run.json").write_bytes(dumps({**known, **dict.fromkeys(names, evil)}))
    assert "<script>alert" not in write_report(Run(small)).index.read_text()


def test_what_was_made_is_noted_with_its_reasons(small: Path) -> None:
    write_report(Run(small))
    made = loads((small / "report" / ".made.json").read_bytes())
    assert set(made["pages"]) == {"0.html", "1.html", "2.html"}
    assert made["pages"]["1.html"][2:] == ["0.html", "2.html"]
