"""Exports of a run folder whose prompts are what Cairn does not write: a fault in them is text, and ends nothing."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Stop
from harness.choices import Durability
from harness.codec import dumps
from harness.journal.store import RunFolder
from harness.main import main
from tests.journal.episodes import acted, closed, decided, opened, scored, task

MESSAGES: dict[str, Any] = {
    "a picture that is not in base64": {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "data:image/png,abc"}}],
    },
    "a picture whose base64 is not ASCII": {
        "role": "user",
        "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,é"}}],
    },
    "calls that are a number": {"role": "assistant", "content": "x", "tool_calls": 5},
    "a call that is a text": {"role": "assistant", "content": "x", "tool_calls": ["x"]},
    "a call whose parts are numbers": {
        "role": "assistant",
        "content": "x",
        "tool_calls": [{"id": 1, "function": {"name": 2, "arguments": 3}}],
    },
    "keys that are numbers": {"role": 1, "name": 2, "content": "x", "tool_call_id": 3},
    "a content that is a number": {"role": "user", "content": 4},
    "a text that is a number": {"role": "user", "content": [{"type": "text", "text": 4}]},
    "nothing": {},
}


def test_a_name_that_is_not_utf8_and_runs_of_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [tmp_path / "a" / os.fsdecode(b"r\xff"), tmp_path / "b" / os.fsdecode(b"r\xff")]
    for folder in folders:
        with RunFolder.open(folder, durability=Durability.none) as run, run.journal("7") as journal:
            for record in (opened(of=task()), acted(0), decided(1, Stop(answer="yes")), closed(), scored()):
                journal.append(record)
    assert main(["export", "otel", str(folders[0])]) == 0, capsys.readouterr().err
    assert main(["export", "csv", *map(str, folders), "--to", str(tmp_path / "to")]) == 2
    assert "two of the runs are called" in capsys.readouterr().err and not (tmp_path / "to").exists()


@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
def test_no_export_breaks_on_it(tmp_path: Path, message: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    with RunFolder.open(folder, durability=Durability.none) as run, run.journal("7") as journal:
        prompt = (run.artifacts.put(dumps(message)), run.artifacts.put(dumps({"role": "user", "content": "end"})))
        for record in (
            opened(of=task()),
            acted(0),
            replace(decided(1), prompt=prompt),
            acted(1),
            replace(decided(2, Stop(answer="yes")), prompt=prompt),
            closed(),
            scored(dialect="corrected"),
        ):
            journal.append(record)
    for name in ("inspect", "hf", "otel", "sft", "parquet", "art"):
        to = str(tmp_path / name)
        assert main(["export", name, str(folder), "--to", to]) == 0, (name, capsys.readouterr().err)
