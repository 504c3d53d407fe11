"""Runs as Hugging Face datasets: the files, and what `datasets.load_dataset` makes of them."""

import io
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from harness.codec import loads
from harness.journal.log import read
from harness.main import main
from harness.plugins.tracking.exports import hf_dataset
from harness.plugins.tracking.exports.hf_dataset import export_hf
from tests.plugins.tracking.exports.runs import PAGE, picture


def rows(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()  # type: ignore[no-any-return]


def test_a_row_has_the_messages_the_calls_and_each_picture_once(run: Path, tmp_path: Path) -> None:
    into = export_hf(run, tmp_path / "out", dialect="corrected")
    first, second, third = [row for row in rows(into / "steps.parquet") if (row["task_id"], row["trial"]) == ("9", 0)]
    assert [image["bytes"] for image in first["images"]] == [picture(10), picture(20)]
    content = first["messages"][1]["content"]
    assert [(part["type"], part["image"]) for part in content] == [
        ("text", None),
        ("image", 0),
        ("image", 0),
        ("image", 1),
    ]
    assert content[0]["text"] == PAGE
    assert [call["arguments"] for call in first["tool_calls"]] == ['{"target": "1"}', "no JSON"]
    assert loads(first["tools"])[0]["function"]["name"] == "click"
    assert first["screenshot"]["bytes"] == picture(30)
    assert (second["messages"], second["refused"]) == ([], "no such element"), "it was read from the same answer"
    assert [message["role"] for message in third["messages"]] == ["system", "user", "assistant", "tool", "tool"]
    scores = {row["task_id"]: row["scores"] for row in rows(into / "tasks.parquet") if row["trial"] == 0}
    assert [(one["scoring"], one["value"]) for one in scores["9"]] == [("corrected", 1.0), ("webarena", 0.0)]
    assert scores["10"] == scores["11"] == []


def test_the_card_names_both_tables(run: Path, tmp_path: Path) -> None:
    into = export_hf(run, tmp_path / "out", dialect="corrected")
    head = yaml.safe_load((into / "README.md").read_text().split("---\n")[1])
    files = {one["config_name"]: one["data_files"][0]["path"] for one in head["configs"]}
    assert files == {"steps": "steps.parquet", "tasks": "tasks.parquet"}
    features = loads(pq.read_schema(into / "steps.parquet").metadata[b"huggingface"])["info"]["features"]
    assert list(features) == pq.read_schema(into / "steps.parquet").names
    assert features["images"] == {"feature": {"_type": "Image"}, "_type": "List"}


def test_groups_of_rows_are_bounded_and_a_repeat_is_the_same(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = export_hf(run, tmp_path / "whole", dialect="corrected")
    monkeypatch.setattr(hf_dataset, "GROUP_ROWS", 2)
    parts = export_hf(run, tmp_path / "parts", dialect="corrected")
    assert pq.ParquetFile(parts / "steps.parquet").num_row_groups >= 5
    assert rows(parts / "steps.parquet") == rows(whole / "steps.parquet")
    again = export_hf(run, tmp_path / "again", dialect="corrected")
    for name in ("README.md", "steps.parquet", "tasks.parquet"):
        assert (again / name).read_bytes() == (parts / name).read_bytes()
        assert b"cookie-canary" not in (again / name).read_bytes()


def test_the_command_writes_into_the_run(run: Path) -> None:
    assert main(["export", "hf", str(run)]) == 0
    assert {path.name for path in (run / "export" / "hf").iterdir()} == {"README.md", "steps.parquet", "tasks.parquet"}


@pytest.fixture(scope="module")
def datasets() -> Any:
    return pytest.importorskip("datasets", reason="datasets is not installed here: run `make test-exports`")


@pytest.mark.filterwarnings("default")
def test_datasets_reads_it_and_notices_that_it_changed(run: Path, tmp_path: Path, datasets: Any) -> None:
    def loaded(name: str) -> Any:
        return datasets.load_dataset(str(tmp_path / "hf"), name, split="test", cache_dir=str(tmp_path / "cache"))

    export_hf(run, tmp_path / "hf", dialect="corrected")
    steps = loaded("steps")
    assert isinstance(steps.features["screenshot"], datasets.Image)
    assert isinstance(steps.features["images"].feature, datasets.Image)
    assert [image.getpixel((0, 0)) for image in steps[2]["images"]] == [10, 20]
    assert loaded("tasks").num_rows == 5
    (run / "9.trial-1.traj.jsonl").unlink()
    export_hf(run, tmp_path / "hf", dialect="corrected")
    assert loaded("tasks").num_rows == 4


@pytest.mark.browser
@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_pictures_of_a_played_run_have_the_same_pixels(
    tmp_path: Path, datasets: Any, request: pytest.FixtureRequest
) -> None:
    image = pytest.importorskip("PIL.Image")
    folder = request.getfixturevalue("played")["vision"]
    into = export_hf(folder, tmp_path / "hf", dialect="corrected")
    steps = datasets.load_dataset(str(into), "steps", split="test", cache_dir=str(tmp_path / "cache"))
    compared = 0
    for task in ("0", "2"):
        episode = read(folder / f"{task}.traj.jsonl")
        decisions = [*(step.decided for step in episode.steps), *([episode.pending] if episode.pending else [])]
        for row, decided in zip(steps.filter(lambda row, task=task: row["task_id"] == task), decisions, strict=True):
            for found, digest in zip(row["images"], decided.pictures, strict=True):
                sent = image.open(io.BytesIO((folder / "artifacts" / digest[:2] / digest).read_bytes()))
                assert (found.size, found.tobytes()) == (sent.size, sent.tobytes())
                compared += 1
    assert compared >= 4
