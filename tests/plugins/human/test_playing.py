"""A scripted person plays demo tasks with real clicks and keys, and the run is killed in the middle."""

import asyncio
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser

from harness.config import PROJECT
from harness.runs import Run
from tests.e2e.conftest import command, environment
from tests.plugins.human.person import Person, plans

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]
PLANS = PROJECT / "tasks" / "demo.plans.json"


@contextmanager
def started(root: Path, tasks: list[int], *more: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A run whose agent is a person."""
    overrides = ("agent=human", "agent.legend=true", "task=demo", f"task.ids={tasks}", "run.report=false")
    process = subprocess.Popen(
        command(*overrides, "run.display=plain", *more, root=root), env=environment(), stdout=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def address_of(process: "subprocess.Popen[bytes]") -> str:
    """What it prints."""
    assert process.stdout is not None
    line = b"?"
    while not (found := re.search(rb"http://127\.0\.0\.1:\S+", line)):
        assert line, "the run has ended without an address"
        line = await asyncio.to_thread(process.stdout.readline)
    return found[0].decode()


async def played(root: Path, browser: Browser, tasks: list[int], kills: tuple[int, ...], *more: str) -> Person:
    person = Person(plans(PLANS, tasks))
    for at in (*kills, None):
        with started(root, tasks, *more) as process:
            address = await address_of(process)
            page = await browser.new_page(viewport={"width": 1700, "height": 1100})
            if at is None:
                await person.play(page, address, lambda one: one.stops == len(tasks))
                await asyncio.to_thread(process.communicate, timeout=60)
                assert process.returncode == 0
            else:
                await person.play(page, address, lambda one, at=at: one.acts >= at)  # type: ignore[misc]
                process.send_signal(signal.SIGKILL)
            await page.close()
    return person


async def test_a_person_plays_a_task_and_goes_on_after_a_kill(tmp_path: Path, browser: Browser) -> None:
    person = await played(tmp_path, browser, [0], (2,))
    (episode,) = Run(tmp_path / "run").episodes()
    assert episode.status == "passed" and episode.attempt == 1
    assert [step.action.kind for step in episode.steps] == ["point_click", "keyboard", "stop"]
    assert person.acts in (3, 4), "an action that was taken just before the kill may have to be done again"
    assert episode.record.resumed and not episode.result.usage.tokens
    assert all(step.decided.elapsed_ms > 0 for step in episode.record.steps)


async def test_ten_tasks_are_played_by_a_person_and_killed_twice(tmp_path: Path, browser: Browser) -> None:
    tasks = [0, 1, 2, 3, 4, 5, 7, 10, 13, 35]
    await played(tmp_path, browser, tasks, (7, 30))
    episodes = list(Run(tmp_path / "run").episodes())
    assert {one.task_id: one.status for one in episodes} == {str(one): "passed" for one in tasks}
    assert sum(bool(one.record.resumed) for one in episodes) in (1, 2), "a kill may come between two tasks"
