"""A scripted person makes tasks of what they do, with real clicks and keys, and the command is killed in between."""

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from harness.config import PROJECT
from tests.e2e.conftest import environment
from tests.plugins.human.person import Person, plans

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
TASKS = PROJECT / "tasks" / "demo.json"
PLANS = PROJECT / "tasks" / "demo.plans.json"


@contextmanager
def started(out: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "harness.main", "record", *arguments, "agent.legend=true", "--out", str(out)]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def line_with(process: "subprocess.Popen[bytes]", pattern: bytes) -> bytes:
    assert process.stdout is not None
    lines = list[bytes]()
    while not (found := re.search(pattern, lines[-1] if lines else b"")):
        lines.append(await asyncio.to_thread(process.stdout.readline))
        assert lines[-1], b"".join(lines).decode()
    return found[0]


async def played(
    browser: Browser, process: "subprocess.Popen[bytes]", person: Person, until: Callable[[Person], bool]
) -> None:
    address = (await line_with(process, rb"http://127\.0\.0\.1:\S+")).decode()
    page = await browser.new_page(viewport={"width": 1700, "height": 1100})
    await person.play(page, address, until)
    await page.close()


async def ended(process: "subprocess.Popen[bytes]") -> str:
    out, _ = await asyncio.to_thread(process.communicate, timeout=1200)
    return out.decode()


async def recorded(browser: Browser, out: Path, task: int, *arguments: str) -> str:
    """What the command says of a session that follows a plan of the demo, and accepts."""
    with started(out, *arguments) as process:
        await played(browser, process, Person(plans(PLANS, [task])), lambda one: one.stops == 1)
        said = await ended(process)
        assert process.returncode == 0, said
    assert re.search(r"^replay +holds", said, re.MULTILINE) and "0 of 26 exploits pass" in said
    assert re.search(r"^agent=null +holds", said, re.MULTILINE) and re.search(
        r"^agent=random +holds", said, re.MULTILINE
    )
    return said


def made(out: Path) -> Any:
    (entry,) = json.loads((out / "task.json").read_bytes())
    return entry


async def test_a_question_becomes_a_task(tmp_path: Path, browser: Browser) -> None:
    out = tmp_path / "it"
    address = "http://shop.localhost/"
    said = await recorded(browser, out, 0, address, "--intent", "What does the Storm Lantern cost?", "--random", "1")
    assert "judged by  string_match: your answer names '$44.50'" in said and "3 of 3 pages were as you saw them" in said
    task = made(out)
    assert task["start_url"] == "__SHOP__/" and task["sites"] == ["shop"] and task["eval"]["program_html"] == []
    assert task["eval"]["reference_answers"] == {"must_include": ["$44.50"]}
    with started(out, address, "--intent", "another", "--random", "1") as process:
        assert "holds the recording of another task" in await ended(process) and process.returncode == 2
    task["eval"] = {"eval_types": ["url_match"], "reference_url": "__SHOP__/", "url_note": "GOLD in PRED"}
    (out / "task.json").write_text(json.dumps([task]))
    with started(out, address, "--intent", "What does the Storm Lantern cost?", "--random", "1") as process:
        said = await ended(process)
    assert process.returncode == 1 and re.search(r"^agent=null +FAILS", said, re.MULTILINE), said


async def test_a_change_becomes_a_task_though_the_command_is_killed(tmp_path: Path, browser: Browser) -> None:
    out, arguments = tmp_path / "it", (str(TASKS), "--task", "7", "--random", "1")
    person = Person(plans(PLANS, [7]))
    with started(out, *arguments) as process:
        await played(browser, process, person, lambda one: one.acts == 2)
        process.send_signal(signal.SIGKILL)
        await ended(process)
    with started(out, *arguments) as process:
        await played(browser, process, person, lambda one: one.stops == 1)
        await line_with(process, rb"is checked")
        process.send_signal(signal.SIGKILL)
        await ended(process)
    before = (out / "task.json").read_bytes()
    with started(out, *arguments) as process:
        said = await ended(process)
    assert process.returncode == 0 and "accepted" in said and not re.search("play here|pass rate|baseline", said), said
    assert (out / "task.json").read_bytes() == before
    texts = [one["required_contents"]["exact_match"] for one in made(out)["eval"]["program_html"]]
    assert "Cancelled" in texts and made(out)["mutates"] is True


@pytest.mark.parametrize("task", [0, 1, 2, 3, 4, 5, 7, 10, 13, 35])
async def test_ten_demo_tasks_are_recorded(tmp_path: Path, browser: Browser, task: int) -> None:
    await recorded(browser, tmp_path / "it", task, str(TASKS), "--task", str(task))
