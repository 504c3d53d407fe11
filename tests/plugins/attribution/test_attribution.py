"""`harness attribute` on synthetic folders: rules one at a time, damaged and hostile folders, what keeps an entry valid."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Click, Goto, Stop, Target
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.attribution.answer_form import is_wrong_form
from harness.plugins.attribution.page_signs import sign_of
from harness.plugins.attribution.refusals import kind_of_refusal
from harness.plugins.attribution.rules import VERSION, attribute
from harness.plugins.attribution.run_attributions import attributions_of, write_attributions
from harness.plugins.html_report.report import write_report
from harness.records import Acted, CloseReason, Decided, Eval, Observation, Record, Refused, Scored
from harness.runs import Run
from harness.runs.comparison import compare_runs
from tests.journal.episodes import scored, whole_episode
from tests.reports.runs import Shape, episode, fill, rot, task, write

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"


def page(title: str = "", text: str = "", url: str = "http://shop.localhost/x") -> Observation:
    return Observation(
        url=url, title=title, tabs=(), text=f"Tab 0 (current): {title}\n\n{text}", fingerprint=title + text
    )


@pytest.mark.parametrize(
    ("seen", "rule"),
    [
        (page("403 Forbidden", "[1] RootWebArea '403 Forbidden'"), "access denied"),
        (page("Error 429", "[1] heading 'Too many requests'"), "access denied"),
        (page("Just a moment...", "[1] checkbox 'Verify you are human'"), "captcha page"),
        (page("502 Bad Gateway", "[1] heading '502 Bad Gateway'"), "site error"),
        (page(url="chrome-error://chromewebdata/"), "site error"),
        (page("Log in", "[1] textbox 'Name'\n[2] textbox 'Password'", "http://shop.localhost/login"), "login wall"),
        (page("Profile", "[1] textbox 'Password'", "http://shop.localhost/account"), None),
        (page("What 403 Forbidden means", "[1] StaticText 'a long article'\n" + "x" * 2000), None),
        (page("500 ways to bake", "[1] textbox 'a'\n[2] textbox 'b'"), None),
        (page("Lanterns", "[1] StaticText 'A robot that is not a lamp'"), None),
    ],
)
def test_pages_say_what_is_wrong_with_them(seen: Observation, rule: str | None) -> None:
    found = sign_of(seen)
    assert (found.rule if found else None) == rule


@pytest.mark.parametrize(
    ("answer", "reference", "is_form"),
    [
        ("44.5 dollars", "$44.50", True),
        ("It costs $1,044.50.", "1044.5", True),
        ("wanda nowak!", "Wanda Nowak", True),
        ("144.50", "$44.50", False),
        ("$45.50", "$44.50", False),
        ("1234567.89", "1234567.88", False),
        ("", "$44.50", False),
        ("anything", "", False),
        ("9" * 5000, "9" * 3999, False),
    ],
)
def test_an_answer_in_another_form_is_told_from_a_wrong_one(answer: str, reference: str, is_form: bool) -> None:
    assert is_wrong_form(answer, [reference]) is is_form


def test_refusals_are_told_apart_by_their_sentence() -> None:
    assert kind_of_refusal("there is no element [9] in the current observation")[1] == "element not there"
    assert kind_of_refusal("x failed: strict mode violation: resolved to 24 elements")[1] == "ambiguous target"
    assert kind_of_refusal("http://shop/ could not be opened: net::ERR_CONNECTION_REFUSED")[0] == "environment"
    assert kind_of_refusal("http://evil/ could not be opened: net::ERR_BLOCKED_BY_CLIENT")[0] == "model"
    assert kind_of_refusal(HOSTILE) == ("model", "action refused")


def changed(records: list[Record], **pages: Any) -> list[Record]:
    """The records with `url`, `title` and `text` of every page after the first as given."""
    return [
        replace(one, observation=replace(one.observation, **pages)) if isinstance(one, Acted) and one.step else one
        for one in records
    ]


def of(folder: Path, records: list[Record]) -> tuple[str, str, int | None] | None:
    with RunFolder.open(folder) as run:
        write(run, task(0), records)
    found = attribute(Run(folder).episode("0"))
    return found and (found.kind, found.rule, found.step)


def test_rules_of_an_episode(tmp_path: Path) -> None:
    def played(name: str, shape: Shape) -> list[Record]:
        with RunFolder.open(tmp_path / f"made-{name}") as run:
            return episode(run, task(0), shape, screenshots=False)

    failed = played("a", Shape(steps=4, score=0.0))
    assert of(tmp_path / "form", failed) == ("model", "wrong answer form", 5), "it answered `It costs $44.50.`"
    assert of(tmp_path / "passed", played("b", Shape())) is None
    assert of(tmp_path / "open", played("c", Shape(open=True))) is None
    assert of(tmp_path / "lost", played("d", Shape(failure="BrowserLost"))) == ("harness", "browser crashed", 3)
    assert of(tmp_path / "site", played("e", Shape(failure="SiteUnavailable"))) == (
        "environment",
        "site not available",
        3,
    )
    assert of(tmp_path / "judge", played("f", Shape(score=None))) == ("harness", "judge not available", 4)
    assert of(tmp_path / "doubt", played("g", Shape(score=0.0, doubted=2))) == ("harness", "action in doubt", 2)
    replies = played("h", Shape(score=0.0, steps=12, reason=CloseReason.PARSE_FAILURES))
    assert of(tmp_path / "replies", replies) == ("model", "unreadable replies", 12)
    denied = changed(failed, title="403 Forbidden", text="[1] heading 'Forbidden'")
    assert of(tmp_path / "denied", denied) == ("environment", "access denied", 1)
    made_up = [
        replace(one, action=Goto(url="http://x/admin")) if isinstance(one, Decided) and one.step == 1 else one
        for one in denied
    ]
    assert of(tmp_path / "made up", made_up) == ("model", "wrong answer form", 5), "an address of the agent's own"
    nothing = [one for one in failed if not (isinstance(one, Acted | Decided) and 0 < one.step < 5)]
    nothing = [replace(one, step=1) if isinstance(one, Decided) else one for one in nothing]
    said = [replace(one, action=Stop(answer="")) if isinstance(one, Decided) else one for one in nothing]
    said = [replace(one, answer="") if hasattr(one, "answer") else one for one in said]
    assert of(tmp_path / "early", said) == ("model", "stopped early", 1)
    at_end = [
        replace(one, outcome=Refused(why="no")) if isinstance(one, Acted) and one.step == 4 else one for one in failed
    ]
    assert of(tmp_path / "refused", at_end) == ("model", "action refused", 4)
    again = [
        replace(one, action=Click(target=Target(id=str(one.step), role="link", name="Next")))
        if isinstance(one, Decided) and one.step < 5
        else one
        for one in failed
    ]
    assert of(tmp_path / "loop", again) == ("model", "loop", 1), "another id each time"


@pytest.mark.parametrize(
    ("wanted", "called"),
    [
        ("lanterns?page=9", ("model", "other parameters", 5)),
        ("cart", ("model", "never reached the page", 5)),
    ],
)
def test_a_page_that_was_asked_for(tmp_path: Path, wanted: str, called: tuple[str, str, int]) -> None:
    judged = Eval(eval_types=("url_match",), reference_url=f"http://shop.localhost/{wanted}")
    with RunFolder.open(tmp_path / "run") as run:
        records: list[Record] = []
        for one in episode(run, replace(task(0), eval=judged), Shape(steps=4, score=0.0), screenshots=False):
            if isinstance(one, Scored):
                one = replace(one, verdicts=tuple(replace(said, evaluator="url_match") for said in one.verdicts))
            if isinstance(one, Acted):
                one = replace(one, observation=replace(one.observation, fingerprint=str(one.step)))
            records.append(one)
        write(run, task(0), records)
    found = attribute(Run(tmp_path / "run").episode("0"))
    assert found is not None and (found.kind, found.rule, found.step) == called


def run_of(folder: Path) -> Path:
    shapes = [Shape(), Shape(score=0.0), Shape(failure="BrowserCrashed"), Shape(score=None), Shape(open=True)]
    return fill(folder, shapes, screenshots=False)


def test_the_command_prints_tables_json_and_moves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (
        run_of(tmp_path / "before"),
        fill(tmp_path / "after", [Shape(score=0.0), Shape()], screenshots=False),
    )
    assert main(["attribute", str(before), str(after)]) == 0
    said = capsys.readouterr().out
    assert "before (corrected scoring): 2 of 3 failures are not the model's (2 harness, 1 model)" in said
    assert "1 model → passed: 1" in said and "1 passed → model: 0" in said
    assert main(["attribute", str(before), "--json", "--class", "harness"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["classes"] == {"harness": 2} and {one["rule"] for one in found["episodes"]} == {
        "browser crashed",
        "judge not available",
    }
    assert Run(before).statistics().notes[0].startswith("2 of 3 failures are not the model's")
    (compared,) = compare_runs(Run(before), [Run(after)])
    assert [(one.before, one.after, one.tasks) for one in compared.moves] == [
        ("model", "passed", ("1",)),
        ("passed", "model", ("0",)),
    ]


def test_of_a_run_without_failures_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = fill(tmp_path / "run", [Shape()], screenshots=False)
    assert main(["attribute", str(folder)]) == 0
    assert "no failure to attribute" in capsys.readouterr().out and not (folder / "attribution.json").exists()


def test_what_is_no_run_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attribute", str(tmp_path / "none")]) == 2
    assert main(["attribute", str(tmp_path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "does not exist" in said[0] and "contains no run" in said[1]


def test_a_damaged_journal_is_named_and_the_others_are_attributed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_of(tmp_path / "run")
    (folder / "1.traj.jsonl").write_bytes(b"{}\n{}\n")
    assert main(["attribute", str(folder)]) == 3
    said = capsys.readouterr()
    assert "1.traj.jsonl:1" in said.err and "2 of 2 failures are not the model's (2 harness)" in said.out


def test_what_reading_shows_to_be_damaged_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_of(tmp_path / "run")
    rot(folder / "1.traj.jsonl")
    assert main(["attribute", str(folder), "--json"]) == 3
    said = capsys.readouterr()
    assert "1.traj.jsonl" in said.err and "1.traj.jsonl" in json.loads(said.out)[0]["damaged"][0]


def test_an_entry_counts_only_for_what_it_was_made_of(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    write_attributions(Run(folder))
    assert [one.verdict for one in Run(folder).results] == ["passed", "model", "harness", "harness", "unscored"]
    data = json.loads((folder / "attribution.json").read_bytes())
    assert data["rules"] == VERSION
    data["episodes"][0]["made_of"]["steps"] += 1
    data["episodes"] += [{"task_id": "0", "trial": 0, **data["episodes"][1], "class": "harness"}, {"task_id": 7}, None]
    (folder / "attribution.json").write_text(json.dumps(data))
    assert [one.verdict for one in Run(folder).results] == ["passed", "failed", "harness", "harness", "unscored"]
    write_attributions(Run(folder))
    assert Run(folder).results[1].verdict == "model"


def test_another_scoring_leaves_the_attributions_of_the_runs_own(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    assert main(["attribute", str(folder)]) == 0
    kept = (folder / "attribution.json").read_bytes()
    assert main(["attribute", str(folder), "--scoring", "published"]) == 0, "as WebArena's is called elsewhere"
    assert (folder / "attribution.json").read_bytes() == kept


def test_what_is_scored_in_another_scoring_only_is_nobodys_failure(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run") as run, run.journal("7") as journal:
        for record in (*whole_episode()[:-2], scored(dialect="corrected")):
            journal.append(record)
    (one,) = Run(tmp_path / "run", scoring="webarena").results
    assert (one.cause, one.why) == ("not judged in this scoring",) * 2
    assert attributions_of(Run(tmp_path / "run", scoring="webarena")).by_trial == {}


def test_a_forged_file_is_text_and_a_link_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_of(tmp_path / "run")
    write_attributions(Run(folder))
    data = json.loads((folder / "attribution.json").read_bytes())
    for one in data["episodes"]:
        one |= {"rule": HOSTILE, "why": HOSTILE}
    (folder / "attribution.json").write_text(json.dumps(data))
    write_report(Run(folder))
    pages = [path.read_text() for path in (folder / "report").rglob("*.html")]
    assert any("&lt;script&gt;" in text for text in pages)
    assert not any("<script>alert" in text or "\x1b" in text or "\u202e" in text for text in pages)
    assert main(["attribute", str(folder)]) == 0
    assert "\x1b" not in capsys.readouterr().out
    (folder / "attribution.json").unlink()
    (folder / "attribution.json").symlink_to("/etc/hostname")
    assert main(["attribute", str(folder)]) == 3
    assert "attribution.json" in capsys.readouterr().err


def test_the_report_links_to_the_step_and_filters_by_class(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    write_report(Run(folder))
    write_attributions(Run(folder))
    assert write_report(Run(folder)).pages == 3, "pages of what is attributed now are written again, and no other"
    index = (folder / "report" / "index.html").read_text()
    assert 'href="tasks/1.html#step-4"' in index and 'data-kind="model"' in index
    assert '<option value="harness">harness</option>' in index
    assert "The model’s failure" in (folder / "report" / "tasks" / "1.html").read_text()


def test_tables_have_the_class(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    assert main(["attribute", str(folder)]) == 0
    assert main(["export", "csv", str(folder)]) == 0
    head, *rows = (folder / "export" / "tasks.csv").read_text().splitlines()
    assert "failure_class,failure_rule,failure_step" in head
    assert any("harness,browser crashed,3" in row for row in rows)


def test_what_was_found_of_tasks_that_a_run_leaves_out_now_is_kept(tmp_path: Path) -> None:
    """A judge may have been paid for it."""
    folder = fill(tmp_path / "run", [Shape(score=0.0, refused=2)] * 3, screenshots=False)
    whole = write_attributions(Run(folder)).by_trial
    about = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps(about | {"tasks": ["0"]}))
    assert len(whole) == 3 and write_attributions(Run(folder)).by_trial == whole
    assert [one.attribution is None for one in Run(folder).results] == [False]
    attributed = Run(folder).statistics().attributed
    assert attributed is not None and attributed.failures == 1
