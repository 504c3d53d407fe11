"""An episode played through the server and the same one played by `run.py` have the same journal, but for times."""

import subprocess
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

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
        "arrival": replace(record.arrival, at=0.0, elapsed_ms=0.0, checkpoint=None),
        **{
            f"step {number}: {field.name}": getattr(step.acted, field.name)
            for number, step in enumerate(record.steps, start=1)
            for field in fields(step.acted)
            if field.name not in ("at", "elapsed_ms", "checkpoint")
        },
        "actions": [step.decided.action for step in record.steps],
        "closed": (record.closed.reason, record.closed.answer, record.closed.evidence.url),
        "scores": {
            name: (scored.status, scored.value, scored.evaluator_version) for name, scored in record.scores.items()
        },
    }


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
        served, run = timeless(Run(server.folder).episode(task, 0)), timeless(played.episode(task, 0))
        differing = {
            name: (served.get(name), run.get(name)) for name in served | run if served.get(name) != run.get(name)
        }
        assert not differing, f"task {task}: {differing}"
