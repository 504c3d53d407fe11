"""What `run.json` and the results say of the tasks of a run, where a start plays none or some of them."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Stop
from harness.cli import configured
from harness.codec import dumps, loads, plain
from harness.config import Config
from harness.episode.job import task_digest
from harness.errors import ExitCode, ResumeMismatch
from harness.evaluation import orchestrator
from harness.evaluation.builder import load_tasks
from harness.evaluation.config_drift import keep_settings
from harness.evaluation.provenance import ENVIRONMENT, describe_asked
from harness.journal.store import RunFolder
from harness.main import main
from harness.reports.console import Terminal
from harness.runs.about import RunInfo
from harness.runs.figures import as_data
from harness.runs.run import Run
from harness.secrets.redaction import NO_SECRETS
from tests.journal.episodes import acted, closed, decided, opened
from tests.scored_runs import scored

pytestmark = pytest.mark.integration

MADE: dict[str, Any] = {**dict.fromkeys(ENVIRONMENT), "harness": "0.0", "earlier": [], "versions": {"sites.map": "7"}}
GIVEN = ("task=smoke", "run.report=false", "llm=none", "agent=null")


def asked(ids: str, *more: str) -> Config:
    return configured([*GIVEN, f"task.ids=[{ids}]", *more])


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run folder with the tasks 0 to 2, of which the last failed."""
    monkeypatch.setattr(orchestrator, "keep_quiet", lambda *_: NO_SECRETS)
    monkeypatch.setattr(orchestrator, "take_over", lambda folder: None)
    config = asked("0-2")
    with RunFolder.open(tmp_path / "run") as run:
        settings = keep_settings(run, config.measured())
        for task in load_tasks(config):
            with run.journal(task.task_id) as journal:
                journal.append(replace(opened(of=task), task_digest=task_digest(task), config_digest=settings))
                journal.append(acted(0))
                journal.append(decided(1, Stop(answer="yes")))
                journal.append(closed())
                for dialect in ("corrected", "webarena"):
                    journal.append(scored(dialect, float(task.task_id != "2")))
        run.write("run.json", dumps({**MADE, "tasks": ["0"], "trials": 1, "benchmarks": {"demo": 2.0}}))
    return tmp_path / "run"


async def results_of(folder: Path, config: Config) -> tuple[int, list[str], dict[str, Any]]:
    """Exit code, the tasks in `summary.json`, and `run.json`."""
    code = await orchestrator.evaluate(config, folder, Terminal())
    summary = loads((folder / "summary.json").read_bytes())
    return code, [one["task_id"] for one in summary["results"]], loads((folder / "run.json").read_bytes())


async def test_a_start_that_plays_nothing_writes_what_it_asks_for_and_leaves_what_made_the_run(ended: Path) -> None:
    code, shown, described = await results_of(ended, asked("0-2"))
    assert code == 0 and shown == described["tasks"] == ["0", "1", "2"]
    assert "benchmarks" not in described and described["scoring"] == "corrected"
    assert {key: described[key] for key in MADE} == MADE
    _, shown, described = await results_of(ended, asked("1"))
    assert shown == described["tasks"] == ["1"], "without run.retry, the selection is the run"


def test_what_earlier_starts_played_besides_is_named_and_in_no_figure(
    ended: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, shown, _ = asyncio.run(results_of(ended, asked("0-1")))
    assert code == 0 and shown == ["0", "1"], "the task that failed is not asked for any more"
    besides = "not counted: 1 episode of earlier starts with other tasks or trials (task 2)"
    assert loads((ended / "summary.json").read_bytes())["notes"] == [besides]
    assert besides.partition(" (")[0] in (ended / "summary.md").read_text()
    assert besides in capsys.readouterr().out
    run = Run(ended)
    assert [one.task_id for one in run.episodes()] == [one.task_id for one in run.results] == ["0", "1"]
    assert run.statistics().all.passed == 2 and run.statistics().notes == (besides,)
    assert [one.task_id for one in run.surplus] == ["2"] and run.episode("2").status == "failed"
    for command, counted in (("show", "2 passed, 0 failed"), ("score", "corrected: 2 episodes")):
        assert main([command, str(ended)]) == ExitCode.DONE
        said = capsys.readouterr().out
        assert besides in said and counted in said, command
    rescored = loads((ended / "rescored-corrected.json").read_bytes())
    assert [one["task_id"] for one in rescored["results"]] == ["0", "1"]
    assert main(["show", str(ended), "2"]) == ExitCode.DONE, "it is still there to be looked at"
    asyncio.run(results_of(ended, asked("0-2")))
    assert Run(ended).surplus == () and Run(ended).statistics().all.failed == 1


async def test_an_episode_that_has_only_been_opened_does_not_bind_the_settings(ended: Path) -> None:
    """As where Chromium does not know `browser.timezone`: the settings are corrected, and the run goes on."""
    misspelt = asked("0-3", "browser.timezone=Mars/Phobos")
    with RunFolder.open(ended) as run, run.journal("3") as journal:
        settings = keep_settings(run, misspelt.measured())
        task = load_tasks(misspelt)[3]
        journal.append(replace(opened(of=task), task_digest=task_digest(task), config_digest=settings))
    assert await orchestrator.evaluate(asked("0-3", "run.dry=true"), ended, Terminal()) == 0
    with RunFolder.open(ended) as run, run.journal("3") as journal:
        journal.append(acted(0))
    with pytest.raises(ResumeMismatch, match=r"other settings .browser.timezone.; "):
        await orchestrator.evaluate(asked("0-3", "run.dry=true"), ended, Terminal())


async def test_a_dry_run_refuses_other_settings_as_a_start_does_and_writes_nothing(ended: Path) -> None:
    def held() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in ended.rglob("*")}

    before, other = held(), ("run.dry=true", "limits.max_steps=7")
    with pytest.raises(ResumeMismatch, match=r"was created with other settings .limits.max_steps.; "):
        await orchestrator.evaluate(asked("0-2", *other), ended, Terminal())
    assert await orchestrator.evaluate(asked("0-2", *other, "resume.accept_drift=true"), ended, Terminal()) == 0
    assert await orchestrator.evaluate(asked("0-2", "run.dry=true"), ended, Terminal()) == 0
    assert held() == before


@pytest.mark.parametrize(("content", "what"), [(None, "missing"), (b"{", "damaged")])
async def test_that_nothing_says_what_journals_were_made_with_is_said(
    content: bytes | None, what: str, ended: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await results_of(ended, asked("0-2"))
    assert capsys.readouterr().err == ""
    (ended / "run.json").unlink()
    if content is not None:
        (ended / "run.json").write_bytes(content)
    await results_of(ended, asked("0-2"))
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{ended / 'run.json'} is {what} although there are journals" in line


async def test_what_shards_have_recorded_is_not_played_again_by_another_executor(ended: Path) -> None:
    for number, task_id in enumerate("12", 1):
        shard = ended / "shards" / f"{number}-of-2"
        shard.mkdir(parents=True)
        (ended / f"{task_id}.traj.jsonl").rename(shard / f"{task_id}.traj.jsonl")
    code, shown, _ = await results_of(ended, asked("0-2", "executor=inline"))
    assert code == 0 and shown == ["0", "1", "2"]


async def test_what_has_not_begun_counts_at_the_sites_of_its_task_wherever_it_is_counted(
    ended: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two trials only the first is there, and of task 3 none: a budget is spent."""
    _, shown, described = await results_of(ended, asked("0-3", "trials=2", "run.max_tokens=1"))
    table = capsys.readouterr().out
    assert shown == [*"0123"] * 2 and described["of_tasks"]["3"] == {"sites": ["code"], "template": "103"}
    by_site = loads((ended / "summary.json").read_bytes())["by_site"]
    assert {site: (one["episodes"], one["passed"], one["unscored"]) for site, one in by_site.items()} == {
        "shop": (4, 1, 2),
        "forum": (2, 1, 1),
        "code": (2, 0, 2),
    }
    found = Run(ended)
    assert {site.name: plain(as_data(site)) for site in found.statistics().sites} == by_site
    rows = {(one.task_id, one.trial): one for one in found.results}
    assert [rows[task_id, 1].cluster for task_id in "0123"] == ["100", "101", "102", "103"]
    assert rows["0", 1].template == rows["0", 0].template and rows["0", 1].intent == rows["0", 0].intent != ""
    assert main(["show", str(ended)]) == ExitCode.DONE
    of_all = "25.0% (95% from 4.6% to 69.9%, Wilson over intent templates)"
    said = (ended / "summary.md").read_text()
    assert of_all in capsys.readouterr().out and of_all in said
    for site, tasks, episodes, figures in (
        ("code", 1, 2, "0 0 2 0.0%"),
        ("forum", 1, 2, "1 0 1 50.0%"),
        ("shop", 2, 4, "1 1 2 25.0%"),
    ):
        assert f"| {site} | {tasks} | {episodes} | {figures.replace(' ', ' | ')} |" in said
        assert f"{site} {tasks} × 2 {figures}" in " ".join(table.split())


def test_of_an_older_run_what_has_not_begun_counts_where_other_trials_of_its_task_do(ended: Path) -> None:
    (ended / "run.json").write_bytes(dumps({**MADE, "tasks": ["0", "1", "2", "3"], "trials": 2}))
    assert [site.name for site in Run(ended).statistics().sites] == ["-", "forum", "shop"]
    assert {one.task_id for one in Run(ended).results if one.site == "-"} == {"3"}
    for hostile in ([], {"3": []}, {"3": {"sites": "code", "template": 3}}, {"3": {"sites": [3, {}]}}):
        (ended / "run.json").write_bytes(dumps({**MADE, "tasks": ["0", "1", "2", "3"], "of_tasks": hostile}))
        assert {one.task_id: one.cluster for one in Run(ended).results if one.site == "-"} == {"3": "task 3"}


async def test_a_retry_of_some_tasks_leaves_a_run_the_others(ended: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_tasks = {"31": {"sites": ["map"], "template": "7"}, "9": {"sites": ["shop"], "template": "8"}}
    (ended / "run.json").write_bytes(dumps({**MADE, "tasks": ["0", "1", "2", "31"], "trials": 1, "of_tasks": of_tasks}))
    code, shown, described = await results_of(ended, asked("1", "run.retry=failed"))
    assert code == 3 and shown == described["tasks"] == ["0", "1", "2", "31"], "one of them has not begun"
    assert [*described["of_tasks"]] == ["1", "31"] and described["of_tasks"]["31"] == of_tasks["31"]
    assert loads((ended / "summary.json").read_bytes())["by_site"]["map"]["unscored"] == 1
    said = capsys.readouterr().out
    assert "1 unscored, of tasks that this command leaves out: run it with all tasks of the run" in said
    assert "run.retry=infra" not in said


def test_trials_that_are_not_asked_for_any_more_are_named(ended: Path) -> None:
    with RunFolder.open(ended) as run:
        for trial in (1, 2):
            with run.journal("0", trial) as made:
                made.append(replace(opened(of=load_tasks(asked("0"))[0]), trial=trial))
    (ended / "run.json").write_bytes(dumps({**MADE, "tasks": ["0", "1"], "trials": 2}))
    said = "not counted: 2 episodes of earlier starts with other tasks or trials (tasks 0 trial 2, 2)"
    assert Run(ended).notes == (said,)


def test_weights_of_a_suite_are_those_of_the_latest_start(tmp_path: Path) -> None:
    info = RunInfo(name="r", dialect="corrected", model="m", agent="a", tasks=("a.0",), trials=2)
    with RunFolder.open(tmp_path / "run") as run:
        run.write("run.json", dumps({**MADE, "tasks": ["a.0"], "benchmarks": {"a": 1.0}}))
        describe_asked(run, replace(info, benchmarks={"a": 3.0}), known={})
        described = loads((run.path / "run.json").read_bytes())
        before = (run.path / "run.json").stat().st_mtime_ns
        describe_asked(run, replace(info, benchmarks={"a": 3.0}), known={})
        assert (run.path / "run.json").stat().st_mtime_ns == before, "nothing is asked for that it does not say"
    assert described["benchmarks"] == {"a": 3.0} and described["trials"] == 2 and described["harness"] == "0.0"
