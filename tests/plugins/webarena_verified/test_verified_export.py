"""`harness export webarena-verified`: what the scorer reads, from journals alone."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Stop
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.webarena_verified.verified_export import response_of
from harness.records import Closed, CloseReason, Eval, HtmlTarget, Task
from tests.journal.episodes import acted, closed, decided, opened, task

GET = {"method": "GET", "url": "http://onestopmarket.com/", "headers": [], "cookies": []}
POST = {**GET, "method": "POST"}
ASKS = Eval(eval_types=("string_match",))
LOOKS = Eval(eval_types=("program_html",), program_html=(HtmlTarget(url="last"),))
SHOWS = Eval(eval_types=("url_match",))


def a_har(*requests: Mapping[str, Any], **log: Any) -> dict[str, Any]:
    return {"log": {"version": "1.2", "entries": [{"request": request} for request in requests], **log}}


def ended(answer: str, reason: CloseReason = CloseReason.STOPPED) -> Closed:
    return replace(
        closed(reason), answer=answer, detail="Reach max steps 30" if reason is CloseReason.MAX_STEPS else ""
    )


@pytest.mark.parametrize(
    ("judged", "requests", "answer", "kind", "status", "data"),
    [
        (ASKS, [POST], "$12.50", "RETRIEVE", "SUCCESS", ["$12.50"]),
        (ASKS, [GET], ' ["a", 2] ', "RETRIEVE", "SUCCESS", ["a", 2]),
        (ASKS, [GET], "12", "RETRIEVE", "SUCCESS", ["12"]),
        (ASKS, [GET], "", "RETRIEVE", "SUCCESS", None),
        (ASKS, [GET], "n/a", "RETRIEVE", "NOT_FOUND_ERROR", None),
        (LOOKS, [GET, POST], "done", "MUTATE", "SUCCESS", None),
        (LOOKS, [GET], "", "NAVIGATE", "SUCCESS", None),
        (SHOWS, [POST], "", "NAVIGATE", "SUCCESS", None),
    ],
)
def test_the_form_is_filled_in(
    *, judged: Eval, requests: list[Any], answer: str, kind: str, status: str, data: list[Any] | None
) -> None:
    response = response_of(replace(task(), eval=judged), ended(answer), a_har(*requests))
    assert (response["task_type"], response["status"], response["retrieved_data"]) == (kind, status, data)
    assert (response["error_details"] is None) == (status == "SUCCESS")


def test_an_agent_that_knows_the_form_is_taken_at_its_word() -> None:
    form = {"task_type": "NAVIGATE", "status": "PERMISSION_DENIED_ERROR", "error_details": "not mine"}
    assert response_of(task(), ended(json.dumps(form)), a_har(POST)) == form


def test_an_episode_its_agent_did_not_end_is_no_success() -> None:
    response = response_of(task(), ended("", CloseReason.MAX_STEPS), a_har(GET))
    assert (response["status"], response["error_details"]) == ("UNKNOWN_ERROR", "Reach max steps 30")


def play(run: RunFolder, of: Task, har: Any = None, *, trial: int = 0, over: bool = True) -> None:
    with run.journal(of.task_id, trial) as journal:
        journal.append(opened(of=of, trial=trial))
        journal.append(acted(0))
        if over:
            journal.append(decided(1, Stop(answer="yes")))
            trace = None if har is None else run.artifacts.put(dumps(har))
            journal.append(replace(closed(), evidence=replace(closed().evidence, trace=trace)))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    sites = {name: {"canonical": f"http://{name}.test/", "url": None} for name in ("shopping", "shop")}
    sites["map"] = {"url": "http://10.0.0.1:3000/"}
    with RunFolder.open(tmp_path / "run") as found:
        found.write("config.yaml", dumps({"sites": {"embedded": False, **sites}}))
        return found


def test_every_ended_trial_is_written_and_what_is_not_is_said(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    cookies = [{"name": "sid", "value": "[redacted]"}, {"name": "_osm_directions_engine", "value": "car"}]
    play(run, task("3"), a_har({**GET, "cookies": cookies}))
    play(run, task("3"), a_har(GET, comment="begins after step 2"), trial=1)
    play(run, task("4"), a_har(GET), over=False)
    play(run, task("5"))
    play(run, task("six"), a_har(GET))
    assert main(["export", "webarena-verified", str(run.path)]) == 0
    into = run.path / "export" / "webarena-verified"
    written = sorted(str(path.relative_to(into)) for path in into.rglob("*.*"))
    files = ("agent_response.json", "network.har")
    assert written == [*(f"3/{file}" for file in files), "config.json", *(f"trial-1/3/{file}" for file in files)]
    config = json.loads((into / "config.json").read_bytes())
    shown = {"__SHOPPING__": {"urls": ["http://shopping.test"]}, "__MAP__": {"urls": ["http://10.0.0.1:3000"]}}
    assert config == {"environments": shown}
    (entry,) = json.loads((into / "3" / "network.har").read_bytes())["log"]["entries"]
    assert entry["request"]["headers"] == [{"name": "Cookie", "value": "sid=[redacted]; _osm_directions_engine=car"}]
    said = capsys.readouterr().out
    for sentence in (
        "left out: task 4 has not ended",
        "left out: task 5 was recorded without browser.har=true",
        "left out: task six has an id that is not a number, which the scorer needs",
        "partial trace: task 3, trial 1: begins after step 2",
        "2 episodes: webarena-verified eval-tasks --output-dir",
    ):
        assert sentence in said


def test_what_the_latest_start_does_not_ask_for_is_left_out_and_named(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    for task_id, trial in (("3", 0), ("3", 1), ("5", 0)):
        play(run, task(task_id), a_har(GET), trial=trial)
    with RunFolder.open(run.path) as again:
        again.write("run.json", dumps({"scoring": "corrected", "tasks": ["3"], "trials": 1}))
    assert main(["export", "webarena-verified", str(run.path)]) == 0
    into = run.path / "export" / "webarena-verified"
    assert sorted(path.name for path in into.iterdir()) == ["3", "config.json"]
    told = capsys.readouterr()
    assert "not counted: 2 episodes of earlier starts" in told.out + told.err


@pytest.mark.parametrize(
    ("har", "config", "sentence"),
    [
        (
            None,
            {"sites": {"shopping": {"canonical": "http://a.test"}}},
            "network traces are recorded with browser.har=true",
        ),
        (a_har(GET), {"sites": {"shop": {"canonical": "http://a.test"}}}, "is on shop; webarena-verified knows gitlab"),
        (a_har(GET), None, "config.yaml cannot be read"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(
    *, tmp_path: Path, capsys: pytest.CaptureFixture[str], har: Any, config: Any, sentence: str
) -> None:
    with RunFolder.open(tmp_path / "run") as run:
        play(run, task("3"), har)
        if config is not None:
            run.write("config.yaml", dumps(config))
    assert main(["export", "webarena-verified", str(run.path)]) == 2
    said = capsys.readouterr().err.strip()
    assert sentence in said and len(said.splitlines()) == 1
    assert not (run.path / "export").exists()
