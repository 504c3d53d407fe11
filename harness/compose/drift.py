"""A run folder holds one set of tasks and measuring settings; whoever changes them has to say so.

Raising a limit in the middle of a run can be right, but it is another measurement from there on: `resume.accept_drift`
lets it happen, and `drift.jsonl` in the run folder keeps what was changed when. A changed task is never accepted.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.codec import dumps, loads
from harness.compose.settings import measuring
from harness.config import Config
from harness.errors import ResumeMismatch
from harness.journal.index import Outcome
from harness.journal.store import RunFolder
from harness.records import Task
from harness.runner.job import task_digest

DRIFT_NAME = "drift.jsonl"


def settle(
    config: Config,
    run: RunFolder,
    tasks: Sequence[Task],
    *,
    outcomes: Mapping[tuple[str, int], Outcome],
    tell: Callable[[str], None],
) -> str:
    """Compare what is wanted now with what the run folder was made from.

    Returns:
        The digest of the present settings, under which they are kept as an artifact.

    Raises:
        ResumeMismatch: Naming the task, or the settings, that changed.
    """
    now = measuring(config)
    config_digest = run.artifacts.put(dumps(dict(sorted(now.items()))))
    digests = {task.task_id: task_digest(task) for task in tasks}
    mine = [outcome for (task_id, _), outcome in outcomes.items() if task_id in digests]
    for outcome in mine:
        if outcome.task_digest != digests[outcome.task_id]:
            raise ResumeMismatch(
                f"{run.path} was made from another version of task {outcome.task_id} of {config.task.path}; "
                "put the task file back, or choose another folder with run.id=NAME"
            )
    for other in sorted({outcome.config_digest for outcome in mine} - {config_digest}):
        changed = _changed(loads(run.artifacts.read(other)), now)
        if not config.resume.accept_drift:
            raise ResumeMismatch(
                f"{run.path} was made with other settings ({', '.join(sorted(changed))}); set them back, choose another"
                " folder with run.id=NAME, or go on with both in one run by resume.accept_drift=true"
            )
        if _record(run, other, config_digest, changed):
            tell(f"goes on with other settings ({', '.join(sorted(changed))}), as {run.path / DRIFT_NAME} keeps")
    return config_digest


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, list[Any]]:
    return {
        key: [before.get(key), now.get(key)] for key in now.keys() | before.keys() if now.get(key) != before.get(key)
    }


def _record(run: RunFolder, before: str, now: str, changed: Mapping[str, list[Any]]) -> bool:
    """Keep one drift, once; True when it was not known."""
    path = run.path / DRIFT_NAME
    kept = path.read_bytes() if path.exists() else b""
    known = {(line["from"], line["to"]) for line in map(loads, kept.splitlines())}
    if (before, now) in known:
        return False
    line = {"at": time.time(), "from": before, "to": now, "changed": dict(sorted(changed.items()))}
    run.write(DRIFT_NAME, kept + dumps(line) + b"\n")
    return True
