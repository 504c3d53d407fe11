"""`agent=vision` as people start it: demo tasks by numbered screenshots, killed, resumed and measured."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.api import Artifacts
from harness.journal.log import read
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from tests.e2e.conftest import Start
from tests.e2e.test_run import decided, running
from tests.waiting import wait_until

Starter = Callable[..., Start]
pytestmark = pytest.mark.browser
PNG = b"\x89PNG"
TASKS = "task.ids=[0-3]"


def files_in(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def prompts(folder: Path, artifacts: Artifacts) -> list[list[dict[str, Any]]]:
    return [
        [read_message(digest, artifacts) for digest in step.decided.prompt]
        for path in sorted(folder.glob("*.traj.jsonl"))
        for step in read(path).steps
    ]


@pytest.mark.slow
def test_it_passes_by_the_legend_and_stores_each_picture_once(start: Starter) -> None:
    done = start("agent=vision", TASKS, "executor=inline", "run.report=false", "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    everything = files_in(done.folder)
    pictures = [data for data in everything if data.startswith(PNG)]
    assert len(pictures) > 10
    assert sum(map(len, everything)) <= 1.1 * sum(map(len, pictures))
    assert not any(b"base64" in data for data in files_in(done.folder / "artifacts"))
    artifacts = ArtifactStore(done.folder / "artifacts")
    for *_, question in prompts(done.folder, artifacts):
        text, picture = question["content"]
        assert "RootWebArea" not in text["text"] and "] link '" in text["text"]
        assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBORw0KGgo")


@pytest.mark.slow
def test_all_that_lies_beside_the_pictures_of_a_run_is_a_tenth_of_them(start: Starter) -> None:
    """Report included; what each page of the report repeats weighs less the more pages there are."""
    done = start("agent=vision", "task=demo", "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    everything = files_in(done.folder)
    assert (done.folder / "report" / "tasks" / "39.html").exists()
    assert sum(map(len, everything)) <= 1.1 * sum(len(data) for data in everything if data.startswith(PNG))


@pytest.mark.slow
def test_the_tree_is_shown_when_asked_for(start: Starter) -> None:
    done = start(
        "agent=vision",
        "agent.tree=true",
        "agent.image.max_pixels=200000",
        "agent.image.detail=low",
        "task.ids=[0]",
        "executor=inline",
    )
    assert done.summary["passed"] == 1
    (*_, question), *_ = prompts(done.folder, ArtifactStore(done.folder / "artifacts"))
    text, picture = question["content"]
    assert "RootWebArea" in text["text"] and picture["image_url"]["detail"] == "low"


@pytest.mark.slow
def test_killed_and_resumed(start: Starter, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "run"
    with running("agent=vision", TASKS, "executor=inline", root=tmp_path / "results") as process:
        wait_until(lambda: folder.exists() and decided(folder) >= 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = {path.name: path.read_bytes() for path in folder.glob("*.traj.jsonl")}
    done = start("agent=vision", TASKS, "workers=1", "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    assert done.summary["passed"] == 4
    for name, data in before.items():
        assert (folder / name).read_bytes().startswith(data[: data.rfind(b"\n") + 1]), "a journal only grows"


def test_a_prompt_of_marks_needs_marks(start_here: Starter) -> None:
    done = start_here("agent=vision", "observation.type=accessibility_tree", "task.ids=[0]")
    assert done.code == 2
    assert "agent=vision needs marks in observation.type" in done.err
    assert "Traceback" not in done.err
