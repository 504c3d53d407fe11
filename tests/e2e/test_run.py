"""The main job as people type it: play, play again, kill and go on, fail visibly."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.journal.log import read
from tests.e2e.conftest import PROJECT, Start, command, environment
from tests.waiting import wait_until

Starter = Callable[..., Start]
pytestmark = pytest.mark.browser

UNDISTURBED_BY_RESUMING = ("task_id", "trial", "status", "score", "steps", "attempts")


def results(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The results without what only a resumed run has."""
    return [{key: result[key] for key in UNDISTURBED_BY_RESUMING} for result in summary["results"]]


@contextmanager
def running(*overrides: str, root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A start under way, in a process group of its own; whatever is left of it ends with the block."""
    process = subprocess.Popen(
        command(*overrides, root=root),
        env=environment(),
        cwd=root.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def decided(folder: Path) -> int:
    return sum(path.read_bytes().count(b'"kind":"decided"') for path in folder.glob("*.traj.jsonl"))


def test_smoke_passes_and_a_second_start_does_nothing(start: Starter, start_here: Starter, tmp_path: Path) -> None:
    first = start("task=smoke", "fail_under=1.0", "workers=2")
    assert first.code == 0, first.out + first.err
    assert first.summary["passed"] == first.summary["tasks"] == 8
    assert first.summary["invocation"]["model_requests"] == sum(result["steps"] for result in first.summary["results"])
    assert first.summary["invocation"]["browser_starts"] == 2

    found = []
    for _ in range(2):  # once by the journals, as another setting was given, and once by what that concluded
        again = start("task=smoke", "fail_under=1.0")
        assert again.code == 0
        assert again.summary["results"] == first.summary["results"]
        done = again.summary["invocation"]
        assert (done["model_requests"], done["browser_starts"], done["episodes_run"]) == (0, 0, 0)
        found.append(((again.folder / ".concluded.json").stat().st_ino, again.out.partition("this invocation")[0]))
    assert found[0] == found[1], "the second was found out anew, or said something else"
    other = start_here("task=smoke", "llm.model=other")
    assert other.code == 2 and "llm.model" in other.err and "run.id" in other.err
    with running("task=smoke", "run.retry=all", root=tmp_path / "results"):
        # Written again only when all is played, so it is gone for as long as that takes.
        wait_until(lambda: not (first.folder / ".concluded.json").exists())


@pytest.mark.slow  # in the gate make chaos kills runs, too
@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_a_killed_run_goes_on_and_comes_to_the_same(start: Starter, tmp_path: Path, executor: str) -> None:
    wanted = start("task=smoke", "run.root=undisturbed")
    undisturbed = json.loads((tmp_path / "undisturbed" / "run" / "summary.json").read_bytes())
    assert wanted.code == 0

    folder = tmp_path / "results" / "run"
    with running("task=smoke", f"executor={executor}", root=tmp_path / "results") as process:
        wait_until(lambda: decided(folder) >= 9)
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        psutil.wait_procs(family, timeout=600)  # workers end when they miss their parent, and may write until then
    persisted = decided(folder)
    assert 0 < persisted < undisturbed["invocation"]["model_requests"]

    resumed = start("task=smoke", f"executor={executor}")
    assert resumed.code == 0, resumed.out + resumed.err
    assert results(resumed.summary) == results(undisturbed)
    assert any(result["resumed_from"] is not None for result in resumed.summary["results"])
    asked_again = persisted + resumed.summary["invocation"]["model_requests"]
    assert asked_again == undisturbed["invocation"]["model_requests"], "a persisted decision was paid for twice"


@pytest.mark.slow
def test_nothing_of_a_killed_run_is_left_after_the_next_start(start: Starter, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "run"
    with running("task=smoke", root=tmp_path / "results") as process:
        wait_until(lambda: decided(folder) >= 3)
        process.kill()
        process.wait()
    assert start("task=smoke").code == 0
    left = [process for process in psutil.process_iter() if str(tmp_path) in " ".join(_command_line(process))]
    assert left == []


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.slow
def test_an_interrupted_run_ends_cleanly_and_says_how_to_go_on(start: Starter, tmp_path: Path) -> None:
    folder = tmp_path / "results" / "run"
    with running("task=smoke", "task.limit=3", "workers=1", root=tmp_path / "results") as process:
        wait_until(lambda: decided(folder) >= 4)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=600)
    assert process.returncode == 130
    assert b"run the same command to continue" in out
    assert b"Traceback" not in out
    assert not any(read(path).failures for path in folder.glob("*.traj.jsonl"))
    assert start("task=smoke", "task.limit=3", "executor=inline").code == 0


@pytest.fixture
def broken_plans(tmp_path: Path) -> Path:
    plans = json.loads((PROJECT / "tasks" / "demo.plans.json").read_bytes())
    plan = next(plan for plan in plans if str(plan["task_id"]) == "1")
    step = next(step for step in plan["steps"] if step["do"] == "click")
    step["name"] = "A button that is nowhere"
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(plans))
    return path


@pytest.mark.slow
def test_a_broken_plan_fails_visibly(start: Starter, broken_plans: Path) -> None:
    done = start("task.ids=[0,1]", f"llm.plans={broken_plans}", "fail_under=0.9")
    assert done.code == 1, done.out + done.err
    by_id = {result["task_id"]: result for result in done.summary["results"]}
    assert (by_id["0"]["status"], by_id["1"]["status"]) == ("passed", "failed")
    episode = read(done.folder / "1.traj.jsonl")
    assert episode.closed is not None and episode.closed.reason == "PARSE_FAILURES"
    assert "A button that is nowhere" in episode.steps[-1].decided.reply
    broken_plans.write_bytes((PROJECT / "tasks" / "demo.plans.json").read_bytes())
    refused = start("task.ids=[0,1]", f"llm.plans={broken_plans}")
    assert refused.code == 2 and "was created with other versions (llm.plans: " in refused.err


@pytest.mark.slow
def test_retries_are_paid_for_and_shown(start: Starter) -> None:
    refused = "{do: '429', retry_after: 0.1, on: {task_id: '1', step: 5, first: 1}}"
    fault = f"llm.faults=[{refused}, {{do: '500', on: {{task_id: '1', step: 1, first: 1}}}}]"
    done = start("task.ids=[0,1]", fault, "run.display=plain")
    assert done.code == 0, done.out + done.err
    steps = sum(result["steps"] for result in done.summary["results"])
    assert done.summary["invocation"]["model_requests"] > steps
    assert "429" in done.out


@pytest.mark.slow
def test_a_sweep_has_one_folder_per_model_and_resumes(tmp_path: Path) -> None:
    overrides = ["-m", "task=demo", "task.ids=[6]", "llm.model=one,two", f"run.root={tmp_path / 'results'}"]
    for requests in (1, 0):
        done = subprocess.run(
            [*command(root=tmp_path)[:2], *overrides], capture_output=True, text=True, check=False, env=environment()
        )
        assert done.returncode == 0, done.stdout + done.stderr
        _, _, table = done.stdout.partition("sweep of 2 runs")
        rows = [line.split() for line in table.splitlines() if "demo-prompt" in line]
        assert [row[:5] for row in rows] == [
            [f"demo-prompt-{model}", "1", "0", "0", "100.0%"] for model in ("one", "two")
        ]
        assert all(row[-1] == "done" for row in rows)
        for model in ("one", "two"):
            summary = json.loads((tmp_path / "results" / f"demo-prompt-{model}" / "summary.json").read_bytes())
            assert summary["passed"] == 1
            assert (summary["invocation"]["model_requests"] > 0) == (requests > 0)
