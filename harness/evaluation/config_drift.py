"""A run folder holds one set of tasks and measured settings; a change has to be accepted explicitly.

Raising a limit in the middle of a run can be right, but it is another measurement from there on: with
`resume.accept_drift`, the run continues, and `drift.jsonl` in the run folder records what was changed when. So it is
with a corrected reference of a task: what has ended is scored with it. A task that changed otherwise is never accepted.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256

from harness.api import Artifacts
from harness.codec import CodecError, dumps, loads, plain
from harness.episode.references import check_same_task
from harness.errors import JournalError, ResumeMismatch, TaskError
from harness.escape import listed
from harness.files import safe_files
from harness.files.disk import translate_os_errors
from harness.journal.final_state import read_final_state
from harness.journal.index import EpisodeResult, Outcomes
from harness.journal.store import RunFolder
from harness.records import Task
from harness.settings.fields import Tree

DRIFT_NAME = "drift.jsonl"
"""In a run folder: the changes that were accepted, a line each."""
_NAMED = 30
_EVAL = ": eval"
"""How the name of a change ends that is a corrected reference."""


def check_config_drift(
    now: Tree,
    run: RunFolder,
    *,
    tasks: Collection[str],
    outcomes: Outcomes,
    accepted: Callable[[str], None] | None,
) -> str:
    """Compare the current settings with those of the run folder.

    Args:
        tasks: Ids of all that the run is about from now on: their results stand in one table.
        accepted: Hears the sentence on settings that changed; None = they may not (`resume.accept_drift`).

    Returns:
        The digest of the present settings, under which they are kept as an artifact.

    Raises:
        ResumeMismatch: Naming the settings that changed.
        JournalError: `drift.jsonl` is damaged.
    """
    config_digest = keep_settings(run, now)
    # One that has nothing yet begins again with the present settings: a misspelt timezone stops a run before any page.
    mine = [one for (task_id, _), one in outcomes.items() if task_id in tasks and not one.has_nothing]
    known = accepted_before(run)
    for other in sorted({outcome.config_digest for outcome in mine} - {config_digest}):
        changed = changed_settings(settings_of(run.artifacts, other), now)
        names = _named(changed) or "unknown which: the settings artifact is missing or damaged"
        if accepted is None:
            raise ResumeMismatch(
                f"{run.path} was created with other settings ({names}); restore them, choose another"
                " folder with run.id=NAME, or continue with the new ones with resume.accept_drift=true"
            )
        if (other, config_digest) not in known:
            record_drift(run, other, config_digest, changed)
            accepted(f"continuing with changed settings ({names}); recorded in {run.path / DRIFT_NAME}")
    return config_digest


def check_task_drift(
    tasks: Sequence[Task],
    run: RunFolder,
    *,
    digests: Mapping[str, str],
    outcomes: Outcomes,
    accepted: Callable[[str], None] | None,
) -> None:
    """Compare the current tasks with those of the run folder: only their references may differ, where that is accepted.

    Args:
        digests: Of these tasks, by their ids.
        accepted: Hears the sentence on corrected references; None = there may be none (`resume.accept_drift`).

    Raises:
        ResumeMismatch: Naming the task, and what of it changed.
        JournalError: A journal or `drift.jsonl` is damaged.
    """
    by_id = {task.task_id: task for task in tasks}
    drifted = [one for one in outcomes.values() if one.task_digest != digests.get(one.task_id, one.task_digest)]
    changes = {
        (one.task_digest, digests[one.task_id]): _corrected(by_id[one.task_id], one, run, is_accepted=bool(accepted))
        for one in drifted
    }
    known = accepted_before(run) if changes else set()
    if accepted is None or not (new := {change: evals for change, evals in changes.items() if change not in known}):
        return
    for change, evals in new.items():
        record_drift(run, *change, evals)
    names = [name.removesuffix(_EVAL) for evals in new.values() for name in evals]
    accepted(
        f"continuing with corrected references (eval) of {listed(names, _NAMED)}; recorded in {run.path / DRIFT_NAME}"
    )


def _corrected(task: Task, outcome: EpisodeResult, run: RunFolder, *, is_accepted: bool) -> dict[str, list[object]]:
    """What changed of a task, as `drift.jsonl` has it.

    Raises:
        ResumeMismatch: It is more than the reference, or that is not accepted.
    """
    state = read_final_state(run.journal_path(outcome.task_id, outcome.trial))
    assert state is not None  # it has an outcome
    try:
        check_same_task(task, state.opened, run.redactor)
    except TaskError as error:
        # Never accepted: its score would be that of another task.
        raise ResumeMismatch(
            f"{run.path}: {error}; put the task file and settings of tasks (attack=…) back, or choose another folder"
            " with run.id=NAME"
        ) from error
    if not is_accepted:
        raise ResumeMismatch(
            f"{run.path} was created with another reference (eval) of task {task.task_id}; put the task file back,"
            " continue with the new one with resume.accept_drift=true (what has ended is scored with it, and not"
            " played again), or choose another folder with run.id=NAME"
        )
    return {f"task {task.task_id[:80]}{_EVAL}": [plain(state.opened.task.eval), plain(task.eval)]}


def keep_settings(run: RunFolder, now: Tree) -> str:
    """Store measured settings, if the run is held; returns their digest."""
    data = dumps(dict(sorted(now.items())))
    if run.lock is None:  # a dry run, which writes nothing
        return sha256(run.redactor.data(data)).hexdigest()
    # As an artifact that every `opened` names: a resume can say what changed, and there is no second file to disagree.
    return run.artifacts.put(data)


def settings_of(artifacts: Artifacts, config_digest: str) -> Tree | None:
    """The measured settings of that digest; None if their artifact is missing."""
    try:
        kept = loads(artifacts.read(config_digest))
    except (JournalError, CodecError):
        return None
    return kept if isinstance(kept, dict) else None


def _named(changed: Mapping[str, object]) -> str:
    """The settings in words; their names in an artifact are untrusted text."""
    return listed([name[:80] for name in sorted(changed)], _NAMED)


def changed_settings(before: Tree | None, now: Tree) -> dict[str, list[object]]:
    """The settings that differ, by name, each with both values."""
    if before is None:
        return {}
    return {
        key: [before.get(key), now.get(key)] for key in now.keys() | before.keys() if now.get(key) != before.get(key)
    }


def accepted_before(run: RunFolder) -> set[tuple[str, str]]:
    """The changes of digest that `drift.jsonl` holds.

    Raises:
        JournalError: The file is damaged.
    """
    path = run.path / DRIFT_NAME
    found: set[tuple[str, str]] = set()
    with translate_os_errors(path, "read"):
        lines = (safe_files.read_if_there(path) or b"").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            drift = loads(line)
        except CodecError:
            drift = None
        match drift:
            case {"from": str(before), "to": str(now)}:
                found.add((before, now))
            case _:
                raise JournalError(
                    f"{path}:{number}: this line is damaged; restore the file, or move it away (it only lists"
                    " accepted settings), then run again"
                )
    return found


def record_drift(run: RunFolder, before: str, now: str, changed: Mapping[str, list[object]]) -> None:
    if run.lock is None:  # a dry run, which writes nothing
        return
    path = run.path / DRIFT_NAME
    # A file beside the journals, written before the first task runs: an attempt may go on without a record of its own.
    kept = safe_files.read_if_there(path) or b""
    line = {"at": time.time(), "from": before, "to": now, "changed": dict(sorted(changed.items()))}
    run.write(DRIFT_NAME, kept + dumps(line) + b"\n")
