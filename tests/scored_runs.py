"""Episodes with scores, written by hand: what commands that score again, report and bundle read."""

from pathlib import Path
from typing import Any

from harness.actions import Stop
from harness.episode.job import task_digest
from harness.journal.store import RunFolder
from harness.records import (
    Acted,
    Closed,
    CloseReason,
    Decided,
    Done,
    Eval,
    Evidence,
    Observation,
    Opened,
    Scored,
    Status,
    Task,
    Usage,
    Verdict,
)

MUST = {"must_include": ["12"]}
FUZZY = {"fuzzy_match": ["twelve"]}


def a_task(task_id: str, **judged: Any) -> Task:
    return Task(
        task_id=task_id,
        sites=("shop",),
        intent="how many?",
        start_urls=("http://shop.localhost/",),
        eval=Eval(eval_types=("string_match",), **judged),
    )


def play(
    run: RunFolder,
    task: Task,
    answer: str | None,
    *scores: Scored,
    trajectory: str | None = None,
    actions: int | None = None,
    html: str | None = None,
    config_digest: str = "c",
    trial: int = 0,
) -> Path:
    """An episode that ended with `answer`; None = it did not end."""
    seen = Observation(url="http://shop.localhost/", title="", tabs=(), text="x", fingerprint="f")
    evidence = Evidence(url="http://shop.localhost/", title="", html=html, trajectory=trajectory, actions=actions)
    digest = task_digest(task)
    with run.journal(task.task_id, trial) as journal:
        journal.append(
            Opened(attempt=1, trial=trial, task=task, task_digest=digest, config_digest=config_digest, seed=0, at=0.0)
        )
        journal.append(Acted(step=0, outcome=Done(), observation=seen, elapsed_ms=1.0, at=0.0))
        if answer is not None:
            stop = Decided(
                step=1,
                action=Stop(answer=answer),
                reply="",
                prompt=(),
                model="m",
                usage=Usage(),
                elapsed_ms=1.0,
                at=0.0,
            )
            journal.append(stop)
            journal.append(
                Closed(reason=CloseReason.STOPPED, detail="", answer=answer, evidence=evidence, at=0.0),
            )
        for scored in scores:
            journal.append(scored)
    return journal.path


def scored(dialect: str, value: float, *replies: str) -> Scored:
    verdict = Verdict(evaluator="string_match", status=Status.OK, value=value, why="", usage=Usage(), replies=replies)
    return Scored(dialect=dialect, evaluator_version="0", status=Status.OK, value=value, verdicts=(verdict,), at=0.0)
