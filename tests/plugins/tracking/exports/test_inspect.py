"""Runs as logs of Inspect AI: their shape, and what Inspect's own reader makes of them."""

import json
import zipfile
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Stop
from harness.choices import Durability
from harness.codec import dumps
from harness.journal.log import read
from harness.journal.store import RunFolder
from harness.main import main
from harness.plugins.tracking.exports.inspect_log import export_inspect
from tests.journal.episodes import acted, closed, decided, opened, scored, task
from tests.plugins.tracking.exports.runs import asked, picture, read_elsewhere


def members(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        return {name: json.loads(archive.read(name)) for name in archive.namelist()}


def test_a_sample_is_a_task_and_an_epoch_a_trial(run: Path, tmp_path: Path) -> None:
    found = members(export_inspect(run, tmp_path / "out"))
    samples = {name.removeprefix("samples/") for name in found if name.startswith("samples/")}
    assert samples == {f"{name}.json" for name in ("9_epoch_1", "9_epoch_2", "10_epoch_1", "11_epoch_1", "12_epoch_1")}
    sample = found["samples/9_epoch_1.json"]
    assert {name: score["value"] for name, score in sample["scores"].items()} == {"corrected": 1.0, "webarena": 0.0}
    assert sample["scores"]["webarena"]["explanation"] == "string_match: said so"
    assert "error" not in sample
    scores = {score["name"]: score for score in found["header.json"]["results"]["scores"]}
    assert scores["webarena"]["metrics"]["mean"]["value"] == 0.5
    assert (scores["corrected"]["scored_samples"], scores["corrected"]["unscored_samples"]) == (2, 3)


def test_samples_without_a_score_say_why(run: Path, tmp_path: Path) -> None:
    found = members(export_inspect(run, tmp_path / "out"))
    errors = {name: found[f"samples/{name}_epoch_1.json"]["error"]["message"] for name in ("10", "11", "12")}
    assert errors["10"] == "BrowserCrashed: no browser (while trying to act)"
    assert errors["11"] == "string_match: the judge is down"
    assert errors["12"].startswith("the episode is still pending")


def test_a_run_that_has_not_begun_all_its_tasks_is_no_whole_one(run: Path, tmp_path: Path) -> None:
    for name in ("10", "11", "12"):
        (run / f"{name}.traj.jsonl").unlink()
    (run / "run.json").write_bytes(dumps({"tasks": ["9"], "trials": 2}))
    assert members(export_inspect(run, tmp_path / "whole"))["header.json"]["status"] == "success"
    (run / "run.json").write_bytes(dumps({"tasks": ["9", "20", "21"], "trials": 2}))
    header = members(export_inspect(run, tmp_path / "half"))["header.json"]
    assert header["status"] == "cancelled"
    assert (header["results"]["total_samples"], header["results"]["completed_samples"]) == (6, 2)
    assert header["eval"]["dataset"]["sample_ids"] == ["9", "20", "21"]
    assert [score["unscored_samples"] for score in header["results"]["scores"]] == [4, 4]


def test_the_conversation_has_each_message_once_and_the_pool_too(run: Path, tmp_path: Path) -> None:
    sample = members(export_inspect(run, tmp_path / "out"))["samples/9_epoch_1.json"]
    assert [one["role"] for one in sample["messages"]] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    calls = sample["messages"][2]["tool_calls"]
    assert calls[0]["arguments"] == {"target": "1"}
    assert "not a JSON object" in calls[1]["parse_error"]
    assert [one["function"] for one in sample["messages"] if one["role"] == "tool"] == ["click", "click"]
    models = [event for event in sample["events"] if event["event"] == "model"]
    assert [event["input_refs"] for event in models] == [[[0, 2]], [[0, 5]]]
    assert len(sample["events_data"]["messages"]) == 5
    tools = [event for event in sample["events"] if event["event"] == "tool"]
    assert [event["id"] for event in tools] == ["call-1", "call-2", "step-3"]
    assert tools[1]["error"]["message"] == "no such element"


def test_requests_of_an_agents_own_process_are_no_empty_messages(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as folder, folder.journal("9") as journal:
        played = [*asked(folder, 1, 1, "stop"), read_elsewhere(1, Stop(answer="yes")), closed(), scored()]
        for record in (opened(of=task("9")), acted(0), *played):
            journal.append(record)
    sample = members(export_inspect(tmp_path / "run", tmp_path / "out"))["samples/9_epoch_1.json"]
    assert sample["messages"] == []
    assert [event["model"] for event in sample["events"] if event["event"] == "model"] == ["small"]


def test_a_clock_that_was_set_back_makes_no_negative_time(tmp_path: Path) -> None:
    stop = replace(decided(1, Stop(answer="")), prompt=())
    with RunFolder.open(tmp_path / "run", durability=Durability.none) as folder, folder.journal("9") as journal:
        for record in (replace(opened(of=task("9")), at=90_000.0), acted(0), stop, closed(), scored()):
            journal.append(record)
    sample = members(export_inspect(tmp_path / "run", tmp_path / "out"))["samples/9_epoch_1.json"]
    assert sample["total_time"] == pytest.approx(sample["working_time"]) and sample["working_time"] > 0
    assert sample["started_at"] < sample["completed_at"]


def test_a_repeat_is_the_same_file_and_nothing_private_is_in_it(run: Path, tmp_path: Path) -> None:
    one, two = (export_inspect(run, tmp_path / name).read_bytes() for name in ("one", "two"))
    assert one == two
    assert all("cookie-canary" not in json.dumps(value) for value in members(tmp_path / "one" / "run-a.eval").values())


def test_the_command_writes_into_the_run_and_refuses_an_empty_one(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "inspect", str(run)]) == 0
    assert (run / "export" / "run-a.eval").is_file()
    empty = run.parent / "empty"
    empty.mkdir()
    (empty / "run.json").write_text("{}")
    assert main(["export", "inspect", str(empty)]) == 2
    assert "contains no episodes" in capsys.readouterr().err
    assert not list((empty / "export").glob("*")), "no part of a file is left"


@pytest.fixture(scope="module")
def inspect_log() -> Any:
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed here: run `make test-exports`")
    return pytest.importorskip("inspect_ai.log")


@pytest.mark.filterwarnings("default")
def test_inspects_reader_reads_it(run: Path, tmp_path: Path, inspect_log: Any) -> None:
    path = str(export_inspect(run, tmp_path))
    log = inspect_log.read_eval_log(path, resolve_attachments=True)
    assert (log.version, log.status, log.eval.model, log.eval.config.epochs) == (2, "cancelled", "gpt/4", 2)
    assert inspect_log.read_eval_log(path, header_only=True).results == log.results
    assert len(inspect_log.read_eval_log_sample_summaries(path)) == 5
    sample = next(one for one in log.samples if (one.id, one.epoch) == ("9", 1))
    images = [part.image for part in sample.messages[1].content if part.type == "image"]
    assert [b64decode(image.partition(",")[2]) for image in images] == [picture(10), picture(10), picture(20)]
    last = [event for event in sample.events if event.event == "model"][-1]
    assert [message.role for message in last.input] == ["system", "user", "assistant", "tool", "tool"]
    assert last.tools[0].parameters.properties["target"].type == ["string", "null"]
    assert sample.model_usage["gpt/4"].input_tokens == 30
    assert {name: score.as_float() for name, score in sample.scores.items()} == {"corrected": 1.0, "webarena": 0.0}


@pytest.mark.browser
@pytest.mark.integration
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("agent", ["tools", "vision"])
def test_inspects_reader_reads_a_played_run(
    agent: str, tmp_path: Path, inspect_log: Any, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue("played")[agent]
    log = inspect_log.read_eval_log(str(export_inspect(folder, tmp_path)), resolve_attachments=True)
    assert [(one.id, one.epoch) for one in log.samples] == [("0", 1), ("2", 1)]
    for sample in log.samples:
        episode = read(folder / f"{sample.id}.traj.jsonl")
        assert sample.scores["corrected"].value == episode.scores["corrected"].value == 1.0
        models = [event for event in sample.events if event.event == "model"]
        decisions = [*(step.decided for step in episode.steps), *([episode.pending] if episode.pending else [])]
        assert [event.output.completion for event in models] == [one.reply for one in decisions if one.prompt]
        assert [len(event.input) for event in models] == [len(one.prompt) for one in decisions if one.prompt]
        assert bool([call for message in sample.messages for call in getattr(message, "tool_calls", None) or ()]) == (
            agent == "tools"
        )
        images = [
            part.image
            for message in models[0].input
            for part in message.content
            if not isinstance(part, str) and part.type == "image"
        ]
        sent = [(folder / "artifacts" / one[:2] / one).read_bytes() for one in decisions[0].pictures]
        assert [b64decode(image.partition(",")[2]) for image in images] == sent
        assert bool(sent) == (agent == "vision")
