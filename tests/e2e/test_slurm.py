"""Shards as jobs of a cluster, here of submitit's local one: they come together, end together and go on."""

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from harness.journal.index import scan
from tests.e2e.conftest import environment
from tests.e2e.trouble import Play, TroubledSites, World, troubled_world

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("submitit") is None, reason="submitit is not installed: pip install 'cairn-harness[slurm]'"
    ),
]
TASKS = "task.ids=[0,3,12,19]"
JOBS = ("executor=slurm", "executor.cluster=local", "executor.shards=2", "sites.port=null")
"""Each job with sites of its own: shards do not know of each other."""
SHARDS = {"1-of-2": {"0", "12"}, "2-of-2": {"3", "19"}}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with troubled_world(tmp_path, TroubledSites(), latency_ms=300) as world:
        yield world


def decisions(play: Play) -> int:
    """Also of shards that were not yet looked at."""
    return sum(path.read_bytes().count(b'"kind":"decided"') for path in play.folder.glob("shards/*/*.traj.jsonl"))


async def test_shards_come_together_and_a_job_that_is_queued_again_goes_on(world: World, tmp_path: Path) -> None:
    async with world.playing(TASKS, *JOBS) as play:
        await play.until(lambda: decisions(play) >= 2)
        for job in play.children("submitit.core._submit"):
            job.send_signal(signal.SIGUSR2)  # what Slurm sends when the time of a job is over
        assert await play.ended() == 0, play.text
    assert play.summary["passed"] == 4 and play.summary["invocation"]["model_requests"] >= 1
    queued_again = [log.read_text() for log in (play.folder / "slurm").glob("*/*_log.err")]
    assert any("preempted" in log for log in queued_again), queued_again
    for name, tasks in SHARDS.items():
        assert {task_id for task_id, _ in scan(play.folder / "shards" / name).outcomes} == tasks
    asked = sum(play.episode(int(task_id)).usage.requests for tasks in SHARDS.values() for task_id in tasks)
    assert asked == play.decisions, "being queued again cost no decision that was written down"

    async with world.playing(TASKS, *JOBS) as again:
        assert await again.ended() == 0, again.text
    assert "submitted" not in again.text

    copied = tmp_path / "copied"
    for name in SHARDS:
        shutil.copytree(play.folder / "shards" / name, copied, dirs_exist_ok=True)
    (copied / "run.json").unlink()  # which names the tasks of one shard
    report = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "harness.main", "report", str(copied)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert report.returncode == 0, report.stderr
    page = await asyncio.to_thread(Path(report.stdout.strip()).read_text)
    assert all(f"{task_id}.html" in page for tasks in SHARDS.values() for task_id in tasks)


async def test_ctrl_c_ends_jobs_of_this_machine_and_keeps_what_they_wrote(world: World) -> None:
    async with world.playing(TASKS, *JOBS) as play:
        await play.until(lambda: decisions(play) >= 2)
        jobs = play.children("harness")
        play.process.send_signal(signal.SIGINT)
        assert await play.ended() == 130, play.text
        assert "Traceback" not in play.text, play.text
        kept = play.decisions
    assert kept >= 2
    _, left = await asyncio.to_thread(psutil.wait_procs, jobs, 10)
    assert not left
    async with world.playing(TASKS, "executor=inline") as play:
        assert await play.ended() == 0, play.text
    assert play.summary["passed"] == 4
    assert play.summary["invocation"]["model_requests"] == play.decisions - kept


async def test_what_ended_elsewhere_is_not_played_again_and_a_budget_is_that_of_each_shard(world: World) -> None:
    async with world.playing("task.ids=[0,3,19]", "executor=inline") as play:
        assert await play.ended() == 0, play.text
    spent = sum(play.episode(task_id).usage.tokens for task_id in (0, 3, 19))
    async with world.playing(TASKS, *JOBS, f"run.max_tokens={spent}") as again:
        assert await again.ended() == 0, again.text
    assert again.summary["passed"] == 4 and again.summary["invocation"]["episodes_run"] == 1
    assert "budget" not in again.text


async def test_what_stands_in_the_way_is_told_in_a_sentence(world: World) -> None:
    wrong = {
        ("executor=slurm",): "executor.cluster=local",
        (*JOBS, "task.shard=1/2"): "task.shard",
        (*JOBS, "executor.sbatch.colour=red"): "colour",
        (*JOBS, "llm=openai", "llm.model=m", "llm.api_key=key-of-mine-7Qz81"): "environment",
    }
    for overrides, word in wrong.items():
        async with world.playing(TASKS, *overrides) as play:
            assert await play.ended() == 2, play.text
        sentence = play.text.strip().splitlines()[-1]
        assert word in sentence and "Traceback" not in play.text, play.text
    assert not any(b"7Qz81" in path.read_bytes() for path in play.folder.rglob("*") if path.is_file())
