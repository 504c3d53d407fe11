"""An episode played through the server and the same one played by `run.py` have the same journal, but for times."""

import subprocess
from collections.abc import Callable
from dataclasses import fields, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from harness.runs import Episode, Run
from tests.e2e.conftest import command, environment
from tests.plugins.environments.conftest import Server, client

pytestmark = [pytest.mark.integration, pytest.mark.browser]
TASKS = ("0", "1", "12")
"""A search and an answer; links, a menu and a form; a login and a change of the site."""


def timeless(episode: Episode) -> dict[str, Any]:
    """What the journal says but for times, and for what a client does not say: prompts, replies and their costs.

    Each field of a step by itself, so that a failure names it.
    """
    record = episode.record
    assert record.opened is not None and record.arrival is not None and record.closed is not None
    return {
        "task": (record.opened.task, record.opened.seed, record.opened.attempt),
        "arrival": replace(
            record.arrival,
            at=0.0,
            elapsed_ms=0.0,
            checkpoint=None,
            observation=replace(record.arrival.observation, screenshot=None),
        ),
        **{
            f"step {number}: {field.name}": getattr(step.acted, field.name)
            for number, step in enumerate(record.steps, start=1)
            for field in fields(step.acted)
            if field.name not in ("at", "elapsed_ms", "checkpoint", "observation")
        },
        **{
            f"step {number}: observation": step.acted.observation and replace(step.acted.observation, screenshot=None)
            for number, step in enumerate(record.steps, start=1)
        },
        "actions": [step.decided.action for step in record.steps],
        "closed": (record.closed.reason, record.closed.answer, record.closed.evidence.url),
        "scores": {
            name: (scored.status, scored.value, scored.evaluator_version) for name, scored in record.scores.items()
        },
    }


def pictures(episode: Episode) -> list[Image.Image]:
    """The first page, then the one after each step; the step that answers has none."""
    record = episode.record
    assert record.arrival is not None
    shown = [record.arrival.observation, *(step.page for step in episode.steps)]
    found = [page.screenshot for page in shown if page is not None and page.screenshot is not None]
    assert len(found) >= len(episode.steps), "a page has no picture"
    return [Image.open(BytesIO(episode.artifacts.read(digest))) for digest in found]


def look_alike(one: Image.Image, other: Image.Image) -> bool:
    """Whether no pixel differs by more than 2 of 255.

    Under load a browser may paint by other tiles, and edges of letters and boxes are rounded in another way.
    """
    difference = ImageChops.difference(one.convert("RGB"), other.convert("RGB"))
    return one.size == other.size and max(difference.tobytes()) <= 2


@pytest.mark.slow
async def test_the_server_and_run_py_write_the_same_journal(serve: Callable[..., Server], tmp_path: Path) -> None:
    chosen = ("agent=prompt", "llm=scripted", "task=demo", f"task.ids=[{','.join(TASKS)}]", "workers=1")
    done = subprocess.run(  # noqa: ASYNC221 (nothing else is to be done meanwhile)
        command(*chosen, "executor.lanes=1", "run.report=false", "fail_under=1.0", root=tmp_path / "results"),
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    played = Run(tmp_path / "results" / "run")
    server = serve("task=demo", "environments=1", "workers=1")
    async with client(server) as one:
        for task in TASKS:
            await one.reset(task=task, trial=0)
            for step in played.episode(task, 0).steps:
                turn = await one.step(step.reply)
            assert (turn["done"], turn["reward"]) == (True, 1.0)
    for task in TASKS:
        episodes = Run(server.folder).episode(task, 0), played.episode(task, 0)
        served, run = (timeless(episode) for episode in episodes)
        differing = {
            name: (served.get(name), run.get(name)) for name in served | run if served.get(name) != run.get(name)
        }
        assert not differing, f"task {task}: {differing}"
        for number, pair in enumerate(zip(*map(pictures, episodes), strict=True)):
            assert look_alike(*pair), f"task {task}, picture after step {number}"
