"""What `harness record` is given wrongly is one sentence, and nothing is written but in the folder of `--out`."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.api.terminal import Terminal
from harness.codec import dumps
from harness.config import PROJECT
from harness.errors import ConfigError
from harness.journal.store import RunFolder
from harness.plugins.record.checks import _nobody, checks_of
from harness.plugins.record.plan import read_plans
from harness.plugins.record.stages import Stages, _Sayings
from harness.records import Decided
from harness.runs import Run
from tests.e2e.conftest import Start, harness_here  # noqa: F401 (a fixture)
from tests.reports.runs import Shape, episode, fill, task, write

TASKS = str(PROJECT / "tasks" / "demo.json")
SHOP = "http://shop.localhost/"


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([SHOP], "--intent is missing"),
        ([SHOP, "--intent", " "], "--intent is missing"),
        ([SHOP, "--intent", "x", "--task", "1"], "--task is for a task file"),
        ([SHOP, "--intent", "x", "--id", "../a"], "cannot name a file"),
        ([SHOP, "--intent", "x", "--random", "0"], "--random 0 is out of range"),
        ([SHOP, "--intent", "x", "--login", "nowhere"], "--login nowhere"),
        (["http://elsewhere.test/", "--intent", "x"], "is on none of your sites: shop (http://shop.localhost)"),
        (["http://shop.localhost.evil.test/", "--intent", "x"], "is on none of your sites"),
        ([TASKS], "has 40 tasks; choose one with --task ID"),
        ([TASKS, "--task", "99"], "has no task 99"),
        ([TASKS, "--task", "1", "--intent", "x"], "--intent is for an address"),
        (["shop.test/cart", "--intent", "x"], "'shop.test/cart' does not begin with http:// or https://"),
        (["missing.json"], "missing.json"),
        ([SHOP, "--intent", "x", "agent=null"], "agent is set by harness record itself"),
        ([SHOP, "--intent", "x", "task.limit=1"], "task.limit is set by harness record itself"),
        ([SHOP, "--intent", "x", "nonsense=1"], "nonsense"),
    ],
)
def test_wrong_arguments(harness_here: Callable[..., Start], arguments: list[str], why: str) -> None:  # noqa: F811
    done = harness_here("record", *arguments, "--out", "it")
    assert done.code == 2 and why in done.err and done.err.count("\n") == 1 and "Traceback" not in done.err
    assert not Path("it").exists()


def test_a_site_that_cannot_be_reset_is_refused(harness_here: Callable[..., Start]) -> None:  # noqa: F811
    own = ["sites.embedded=false", "+sites.mine.url=http://127.0.0.1:9/"]
    done = harness_here("record", "http://127.0.0.1:9/a", *own, "--intent", "x", "--out", "it")
    assert done.code == 2 and "site mine cannot be reset" in done.err and not Path("it").exists()


@pytest.mark.sample(1)
@pytest.mark.parametrize("there", ["a file", "another recording", "a torn recording"])
def test_a_folder_of_something_else_is_left_alone(
    harness_here: Callable[..., Start],  # noqa: F811
    there: str,
) -> None:
    folder = Path("it")
    folder.mkdir()
    name = "notes.txt" if there == "a file" else "draft.json"
    (folder / name).write_text("[" if there == "a torn recording" else json.dumps([{"task_id": 7}]))
    done = harness_here("record", SHOP, "--intent", "x", "--out", "it")
    assert done.code == 2 and "give" in done.err and "--out" in done.err
    assert [one.name for one in folder.iterdir()] == [name]


@pytest.mark.sample(1)
@pytest.mark.parametrize("nested", [False, True])
def test_a_run_that_breaks_down_is_one_sentence(
    harness_here: Callable[..., Start],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    nested: bool,
) -> None:
    async def breaks_down(*_: object) -> int:
        error: Exception = ConfigError("worker 0 ended 5 times")
        raise ExceptionGroup("tasks", [ExceptionGroup("more", [error])] if nested else [error])

    monkeypatch.setattr("harness.api.evaluation.evaluate", breaks_down)
    done = harness_here("record", SHOP, "--intent", "x", "--out", "it")
    assert done.code == 2 and done.err == "harness: worker 0 ended 5 times\n"


def test_a_task_that_was_edited_to_be_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text("[{,}]")
    stages = Stages(folder=tmp_path / "runs", overrides=(), config_dir=None)
    with pytest.raises(ConfigError, match=r"task\.json: is not valid JSON .* correct it"):
        next(checks_of(stages, tmp_path / "task.json", tmp_path / "plan.json", trials=1, plays_audit=False))


def test_what_is_meant_for_the_person_is_not_asked_of_other_agents() -> None:
    given = (
        "agent.legend=true",
        "limits.max_steps=9",
        "sites=webarena",
        "+sites.shop.url=http://a.test",
        "run.display=off",
    )
    stages = Stages(folder=Path("runs"), overrides=given, config_dir=None)
    assert stages.deployment == ("sites=webarena", "+sites.shop.url=http://a.test")


def test_a_session_with_a_password_becomes_no_task(
    harness_here: Callable[..., Start],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with RunFolder.open(tmp_path / "session") as run:
        records = [
            replace(one, memory={"password": True}) if isinstance(one, Decided) and one.step == 2 else one
            for one in episode(run, task(0), Shape(steps=3), screenshots=False)
        ]
        write(run, task(0), records)
        run.write("run.json", dumps({"scoring": "corrected", "tasks": ["0"]}))
    (session,) = Run(tmp_path / "session").episodes()
    monkeypatch.setattr(Stages, "session", lambda *_: session)
    done = harness_here("record", SHOP, "--intent", "x", "--out", "it")
    assert done.code == 1 and "at step 2 you typed into a field for a password" in done.out
    assert [one.name for one in Path("it").iterdir()] == ["draft.json"]


def test_what_a_session_waits_for_is_said_while_a_person_plays(capsys: pytest.CaptureFixture[str]) -> None:
    sayings = _Sayings(Terminal(highlight=False))
    for said in (
        "starting the sites",
        "play here: http://127.0.0.1:1/?token=x",
        "lane 0, task 0: the site is down",
        "task 0: passed after 3 steps",
        "play here: http://127.0.0.1:2/?token=y",
    ):
        sayings.print(said)
    assert [line[:9] for line in capsys.readouterr().out.splitlines()] == [
        "starting ",
        "play here",
        "lane 0, t",
        "play here",
    ]


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"task_id": "0"}]'])
def test_what_is_no_plan_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"agent\.arguments\.plan=.*harness record"):
        read_plans(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_plans(tmp_path / "none.json")


def test_a_trial_that_passes_is_told_though_another_has_no_score(tmp_path: Path) -> None:
    run = fill(tmp_path / "run", [Shape(failure="BrowserCrashed"), Shape(score=1.0)])
    check = _nobody("agent=random", tuple(Run(run).episodes()))
    assert check.holds is False and "passes 1 of 2 trials" in check.said
