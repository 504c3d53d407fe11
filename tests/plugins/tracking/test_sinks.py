"""Where metrics go besides the disk."""

import asyncio
import json
import logging
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.api import Identity
from harness.errors import TrackingError
from harness.plugins.tracking.sinks import Reporting
from tests.plugins.tracking.rollouts import history, model, rollout

pytestmark = pytest.mark.integration

PROJECT = Path(__file__).resolve().parents[3]


class Listening:
    """A sink of the user's."""

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails
        self.heard: list[tuple[str, dict[str, float]]] = []
        self.started: list[str] = []
        self.closed = 0

    def start(self, identity: Any) -> None:
        self.started.append(f"{identity.project}/{identity.name} {dict(identity.config)}")
        if self.fails:
            raise OSError("nobody answers")

    def log(self, row: Mapping[str, float], split: str) -> None:
        self.heard.append((split, dict(row)))

    def close(self) -> None:
        self.closed += 1


async def test_a_sink_hears_every_row_after_it_is_on_disk(tmp_path: Path) -> None:
    sink = Listening()
    logging_model = model(tmp_path, report_metrics=[sink], config={"lr": 0.1})
    await logging_model.log([rollout(0.5)], step=3)
    await logging_model.log(metrics={"loss": 1.0}, split="train", step=1)
    await logging_model.close()
    assert sink.started == ["p/m {'lr': 0.1}"]
    assert [(split, row["training_step"]) for split, row in sink.heard] == [("val", 3), ("train", 1)]
    assert sink.heard[0][1]["val/reward"] == 0.5
    assert sink.closed == 1


async def test_a_class_is_a_sink_by_its_path(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    target = {"_target_": f"{Listening.__module__}.Listening", "fails": True}
    await model(tmp_path, report_metrics=[target]).log(metrics={"x": 1.0})
    assert "Listening gets no metrics of p/m: OSError: nobody answers" in caplog.text, "it was made, and heard them"


async def test_a_sink_that_cannot_be_reached_costs_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Listening(fails=True)
    logging_model = model(tmp_path, report_metrics=[sink])
    await logging_model.log(metrics={"x": 1.0})
    await logging_model.log(metrics={"x": 2.0})
    assert len(history(tmp_path)) == 2 and not sink.heard
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "Listening gets no metrics of p/m: OSError: nobody answers" in caplog.text


class Unforeseen(Exception):
    """Of no kind that is raised elsewhere, as that of a database."""


class Panic(BaseException):
    """As an extension in Rust raises."""


class Mute(Exception):
    """One that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Unforeseen("locked"), "Unforeseen: locked"),
        (NameError("undefined"), "NameError: undefined"),
        (Mute(), "Mute: "),
        (Panic("at 7"), "Panic: at 7"),
        (asyncio.CancelledError(), "CancelledError: "),
    ],
)
@pytest.mark.parametrize("where", ["start", "log", "close"])
def test_whatever_a_sink_raises_it_is_given_up_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, where: str, error: BaseException, said: str
) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Listening, where, fails)
    reporting = Reporting(Identity(project="p", name="m", config={}), [Listening()])
    reporting.log({"x": 1.0}, "val")
    reporting.close()
    (warning,) = caplog.messages
    assert f"Listening gets no metrics of p/m: {said}; they are still written" in warning


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["tensorboard"], "'tensorboard' is not a sink; choose 'wandb', 'trackio', or"),
        ("wandb", "is not a list"),
        ([{"_target_": "nowhere.Class"}], "nowhere.Class cannot be created"),
        ([{"_target_": "collections.Counter"}], "collections.Counter is not a sink: it needs start, log and close"),
    ],
)
def test_what_is_no_sink_is_refused_at_once(tmp_path: Path, asked: Any, said: str) -> None:
    with pytest.raises(TrackingError, match=said):
        model(tmp_path, report_metrics=asked)


# --- W&B, in a process of its own: it starts a service and threads -----------------------------------

PROGRAM = """
import asyncio, logging, sys
{before}
from harness.plugins.tracking.model import Model
from tests.plugins.tracking.rollouts import rollout

async def main():
    model = Model(name="m", project="p", base_path=sys.argv[1], report_metrics={asked}, config={{"lr": 0.1}})
    await model.log([rollout(0.5)], step=3)
    await model.log([rollout(0.25)], step=1)
    await model.log(metrics={{"loss": 2.0}}, split="own", step=2)
    run = model._get_wandb_run()
    assert (run is model._get_wandb_run()), "one run per model"
    print("run", run is not None)
    await model.close()

asyncio.run(main())
"""


def play(folder: Path, asked: str, *, before: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    home = {"HOME": str(folder), "NETRC": str(folder / "netrc"), "WANDB_DIR": str(folder), "WANDB_SILENT": "true"}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(asked=asked, before=before), str(folder)],
        env={**kept, **home, **variables},
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )


def wandb_records(folder: Path) -> Iterator[Any]:
    """The records of a run file: LevelDB's log format, 32 KiB blocks after a header of seven bytes."""
    from wandb.proto import wandb_internal_pb2

    (path,) = (path for path in folder.rglob("*.wandb") if "latest-run" not in path.parts)
    data, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        checksum, size, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7 : at + 7 + size]
        assert zlib.crc32(part, zlib.crc32(bytes([kind]))) == checksum
        whole, at = whole + part, at + 7 + size
        if kind in (1, 4):  # a whole record, or the last part of one
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            yield record


@pytest.mark.slow
def test_wandb_offline_gets_all_rows_in_any_order_on_the_axis_of_training(tmp_path: Path) -> None:
    done = play(tmp_path, '["wandb"]', WANDB_MODE="offline")
    assert (done.returncode, done.stdout.split()) == (0, ["run", "True"]), done.stderr
    records = list(wandb_records(tmp_path))
    run = next(record.run for record in records if record.WhichOneof("record_type") == "run")
    assert (run.project, run.display_name, run.run_id) == ("p", "m", "m")
    heard = [
        {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]
    assert [row["training_step"] for row in heard] == [3, 1, 2]
    assert [row.get("val/reward", row.get("own/loss")) for row in heard] == [0.5, 0.25, 2.0]
    axes = {
        record.metric.glob_name: record.metric.step_metric
        for record in records
        if record.WhichOneof("record_type") == "metric"
    }
    assert axes["val/*"] == axes["train/*"] == axes["own/*"] == "training_step"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "variables", "before", "expected"),
    [
        ("None", {}, "", ("False", "")),
        ("[]", {"WANDB_API_KEY": "k" * 40}, "sys.modules['wandb'] = None", ("False", "")),
        ('["wandb"]', {}, "", ("False", "W&B gets no metrics of p/m: the API key is missing: set WANDB_API_KEY")),
        ('["wandb"]', {"WANDB_API_KEY": "k" * 40}, "sys.modules['wandb'] = None", ("False", "needs the package wandb")),
        ("None", {"WANDB_API_KEY": "k" * 40, "WANDB_MODE": "offline"}, "", ("True", "")),
    ],
)
def test_wandb_is_on_when_asked_for_or_when_its_key_is_there(
    tmp_path: Path, asked: str, variables: dict[str, str], before: str, expected: tuple[str, str]
) -> None:
    run, warning = expected
    done = play(tmp_path, asked, before=before, **variables)
    assert (done.returncode, done.stdout.split()) == (0, ["run", run]), done.stderr
    assert warning in done.stderr
    assert done.stderr.count("gets no metrics") == bool(warning)
    assert len(history(tmp_path)) == 3
