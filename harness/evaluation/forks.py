"""Forks: a run whose episodes begin with steps that another run recorded (`run.fork=RUN/TASK@STEP`).

The journals of the new run are written before anything is played, each whole; from then on the run is resumed like any
other, and the parent is not needed. `fork.json` in the run folder, written last, says what it is a fork of.
Why: docs/decisions/resume.md#a-fork-is-a-resume-of-a-journal-that-another-run-began
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from harness.choices import Strategy
from harness.codec import JsonObject, dumps
from harness.config.agent_settings import AgentConfig
from harness.episode.job import recorded_task, task_digest
from harness.errors import ConfigError, HarnessError, JournalLocked
from harness.escape import listed
from harness.evaluation.config_drift import changed_settings, keep_settings, settings_of
from harness.files import safe_files
from harness.files.disk import hold
from harness.files.side_file import SideFile
from harness.journal.index import scan
from harness.journal.inheritance import Inheritance, inherit, write_inheritance
from harness.journal.lock import holder_named_in
from harness.journal.log import LOCK_NAME, read
from harness.journal.names import is_run_folder
from harness.journal.store import ArtifactStore, RunFolder, journal_name
from harness.records import Fork, Opened, Task
from harness.runs.fork_origin import FORK_NAME
from harness.runs.run import run_folder
from harness.settings.fields import Tree

_TARGET = re.compile(r"(.+)@(\d{1,6})", re.DOTALL)
_TRIAL = re.compile(r"(.+)\.trial-(\d{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkPoint:
    """What `run.fork` names."""

    run: Path
    task_id: str | None
    """None = all tasks of the run that have the step."""
    trial: int
    step: int

    @classmethod
    def of(cls, text: str, known: JsonObject | None = None) -> "ForkPoint":
        """
        Args:
            text: `run.fork`.
            known: The content of `fork.json`, which says it also when the parent was deleted; None = there is none.
        Raises:
            ConfigError: It is not RUN@STEP or RUN/TASK@STEP.
        """
        if (found := _TARGET.fullmatch(text)) is None:
            raise ConfigError(
                f"run.fork={text[:200]} names no step; give RUN@STEP or RUN/TASK@STEP, as in results/NAME/12@6"
            )
        path, step = Path(found[1]), int(found[2])
        task, trial = path.name, 0
        if (numbered := _TRIAL.fullmatch(task)) is not None:
            task, trial = numbered[1], int(numbered[2])
        of_run = cls(run=path, task_id=None, trial=0, step=step)
        of_task = cls(run=path.parent, task_id=task, trial=trial, step=step)
        recorded = [one for one in (of_run, of_task) if known is not None and one.is_described_by(known)]
        return recorded[0] if recorded else of_task if names_task(path) else of_run

    @property
    def name(self) -> str:
        return self.run.resolve().name

    def journal(self, task_id: str) -> Path:
        """Raises: TaskError: The id is not part of a file name."""
        return self.run / journal_name(task_id, self.trial)

    def described(self) -> JsonObject:
        """What `fork.json` says of it."""
        return {"run": self.name, "step": self.step, "task": self.task_id, "trial": self.trial}

    def is_described_by(self, known: JsonObject) -> bool:
        """Whether this is the content of a `fork.json` of it."""
        own = self.described()
        return own == {key: known.get(key) for key in own}


def names_task(path: Path) -> bool:
    """Whether the last part of RUN or RUN/TASK is a task, as far as the file system says it.

    The run may have been deleted, or all but its folder: what tells RUN from RUN/TASK is that other runs lie beside it.
    """
    if is_run_folder(path):
        return False
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    return not any(map(is_run_folder, beside))


def check_fork(fork: str | None, *, executor: str, strategy: Strategy, agent: AgentConfig) -> None:
    """Raises: ConfigError: `run.fork` names no step, or cannot be combined with another setting."""
    if fork is None:
        return
    point = ForkPoint.of(fork)
    if executor == "slurm":
        raise ConfigError(
            "run.fork cannot be combined with executor=slurm; use executor=processes or executor=ray, or several runs"
        )
    if strategy in (Strategy.restart, Strategy.fail):
        raise ConfigError(
            f"run.fork cannot be combined with resume.strategy={strategy.value}: no episode would be brought back to"
            " its step; use resume.strategy=auto"
        )
    # At the start page there is nothing that a process would have to do again.
    if point.step > 0 and agent._target_ is None and agent.kind == "process":
        raise ConfigError(
            "run.fork cannot be combined with agent=process at a step after 0: a new process has not taken the steps"
            " before it; fork at step 0, or use an agent that is not a process, such as agent=prompt"
        )


def begin_fork(  # noqa: PLR0913 (the settings of a fork)
    fork: str | None, run: RunFolder, tasks: Sequence[Task], *, trials: int, measured: Tree, say: Callable[[str], None]
) -> tuple[Task, ...]:
    """Write the journals of a fork that are not there yet.

    Args:
        fork: `run.fork`; None = the run is not a fork.
        run: The folder of the fork, held.
        tasks: Those that the settings select.
        measured: The fork's settings that change what is measured.
    Returns:
        Those of the tasks that the fork has.
    Raises:
        ConfigError: The parent lacks the task or step, has other tasks, or the folder is not a fork of it.
        JournalLocked: The parent is running.
    """
    if fork is None:
        return tuple(tasks)
    with _planned(fork, run.path, tasks, trials=trials, say=say) as plan:
        if plan.chosen:
            _write(run, plan.point, plan.chosen, trials=trials, measured=measured, say=say)
    if plan.chosen is not None:
        # With those of other selections, which a later start may name again.
        forked = plan.forked | dict.fromkeys(task.task_id for task in plan.chosen)
        offered = (task.task_id for task in plan.selected)
        left_out = dict.fromkeys(task_id for task_id in (*plan.left_out, *offered) if task_id not in forked)
        run.write(FORK_NAME, dumps(plan.point.described() | {"tasks": [*forked], "left_out": [*left_out]}) + b"\n")
    return plan.tasks


def forked_tasks(
    fork: str | None, folder: Path, tasks: Sequence[Task], *, trials: int, say: Callable[[str], None]
) -> tuple[Task, ...]:
    """Those of the tasks that a start would play; nothing is written. Arguments and errors are as of `begin_fork`.

    Args:
        folder: The folder of the fork; it need not be there.
    """
    if fork is None:
        return tuple(tasks)
    with _planned(fork, folder, tasks, trials=trials, say=say) as plan:
        for task in plan.chosen or ():
            _inherited(plan.point, task)
    return plan.tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What a start of a fork has to write."""

    point: ForkPoint
    selected: Sequence[Task]
    """The tasks of this start, as far as the fork may have them."""
    forked: dict[str, None]
    """Ids of those that were forked in earlier starts; so `left_out`."""
    left_out: dict[str, None]
    whole: Collection[str]
    """Of `selected`, ids of those of which all journals are there."""
    chosen: tuple[Task, ...] | None
    """Those to fork now; None = nothing is left to ask of the parent, which may have been deleted."""

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Those that the fork has then."""
        has = {*self.whole, *(task.task_id for task in self.chosen or ())}
        return tuple(task for task in self.selected if task.task_id in has)


@contextmanager
def _planned(
    fork: str, folder: Path, tasks: Sequence[Task], *, trials: int, say: Callable[[str], None]
) -> Iterator[_Plan]:
    """What is to be written; the parent, where it is needed, is not played meanwhile."""
    known = _recorded(folder)
    point = ForkPoint.of(fork, known)
    _check_folder(folder, point, known)
    selected = [task for task in tasks if point.task_id in (None, task.task_id)]
    forked, left_out = _forked(known if known is not None and point.is_described_by(known) else None, selected)
    whole = {task.task_id for task in selected if task.task_id in forked and _is_whole(folder, task, trials)}
    plan = _Plan(point=point, selected=selected, forked=forked, left_out=left_out, whole=whole, chosen=None)
    if whole and whole.union(left_out).issuperset(task.task_id for task in selected):
        yield plan
        return
    try:
        with _held(point):
            yield replace(plan, chosen=_chosen(point, tasks, whole, say))
    except (HarnessError, OSError) as error:
        if is_run_folder(point.run):
            raise
        absent = point.run if point.run != Path() else point.task_id
        raise ConfigError(
            f"there is no run {absent}, which run.fork={fork[:200]} names; give RUN@STEP or RUN/TASK@STEP of a run"
            " that is there"
        ) from error


def _forked(known: JsonObject | None, selected: Sequence[Task]) -> tuple[dict[str, None], dict[str, None]]:
    """The ids of the tasks that were forked in earlier starts, and of those that were left out, in order."""
    if known is None:
        return {}, {}
    forked = dict.fromkeys(known.get("tasks", ()))
    # Version 0.2.0 kept no list of these: its forks hold no further task.
    others = (task.task_id for task in selected if task.task_id not in forked)
    return forked, dict.fromkeys(known.get("left_out", others))


def _is_whole(folder: Path, task: Task, trials: int) -> bool:
    return all((folder / journal_name(task.task_id, trial)).exists() for trial in range(trials))


@contextmanager
def _held(point: ForkPoint) -> Iterator[None]:
    """Keep the parent from being played meanwhile, without writing to it."""
    run_folder(point.run)
    fd: int | None = None
    with suppress(FileNotFoundError):
        fd = safe_files.open_regular(point.run / LOCK_NAME, os.O_RDONLY)
    try:
        if fd is not None and not hold(fd):
            raise JournalLocked(point.run, holder_named_in(point.run / LOCK_NAME))
        yield
    finally:
        if fd is not None:
            os.close(fd)


def _recorded(folder: Path) -> JsonObject | None:
    return SideFile[JsonObject](FORK_NAME, dict).find(folder)


def _check_folder(folder: Path, point: ForkPoint, known: JsonObject | None) -> None:
    """See that the folder is new, or a fork from the same step."""
    for (task_id, _), outcome in scan(folder).outcomes.items():
        fork = outcome.fork
        if fork is None or (fork.run, fork.step) != (point.name, point.step):
            what = "no fork" if fork is None else f"a fork of {fork.run} at step {fork.step}"
            raise ConfigError(
                f"{folder} holds task {task_id} as {what}, and not of {point.name} at step {point.step}; choose"
                " another folder with run.id=NAME"
            )
    if known is not None and (known.get("task"), known.get("trial")) != (point.task_id, point.trial):
        raise ConfigError(f"{folder} is a fork of other tasks of {point.name}; choose another folder with run.id=NAME")


def _chosen(
    point: ForkPoint, tasks: Sequence[Task], whole: Collection[str], say: Callable[[str], None]
) -> tuple[Task, ...]:
    """The tasks that have the step, but for those that are forked already (`whole`); what is left out is said."""
    offered = {task.task_id: task for task in tasks}
    if point.task_id is not None:
        if not (path := point.journal(point.task_id)).exists():
            raise ConfigError(f"{point.run} has no journal {path.name}; `harness show {point.run}` lists its tasks")
        if point.task_id not in offered:
            raise ConfigError(
                f"task {point.task_id} of {point.run} is not among the tasks of these settings; give the task settings"
                " of that run, as in task=NAME or task.path=FILE"
            )
        return (offered[point.task_id],)
    found = scan(point.run)
    if found.damaged:
        raise found.damaged[0]
    there = [task_id for (task_id, trial) in found.outcomes if trial == point.trial]
    if unknown := [task_id for task_id in there if task_id not in offered]:
        say(f"not forked, as these settings do not select them: {_listed('task', unknown)}")
    long = {
        task_id: len(episode.steps) >= point.step and episode.arrival is not None
        for task_id in there
        if task_id in offered and task_id not in whole and (episode := read(point.journal(task_id)))
    }
    if short := [task_id for task_id, is_long in long.items() if not is_long]:
        say(f"not forked, as they ended before step {point.step}: {_listed('task', short)}")
    if not any(long.values()) and not whole:
        raise ConfigError(
            f"{point.run} has no selected task with a step {point.step}; `harness show {point.run}` lists its tasks"
        )
    return tuple(task for task in tasks if long.get(task.task_id))


def _listed(what: str, ids: Sequence[str]) -> str:
    return f"{what}{'s' * (len(ids) > 1)} {listed([one[:80] for one in ids])}"


def _write(  # noqa: PLR0913 (as `begin_fork`)
    run: RunFolder, point: ForkPoint, tasks: Sequence[Task], *, trials: int, measured: Tree, say: Callable[[str], None]
) -> None:
    # Nothing is taken from the settings in the parent's folder, which may be a stranger's: they name programs and
    # addresses.
    digest, changed = keep_settings(run, measured), set[str]()
    for task in tasks:
        inherited = _inherited(point, task)
        before = settings_of(
            ArtifactStore(point.run / "artifacts", redactor=run.redactor), inherited.opened.config_digest
        )
        different = changed_settings(before, measured).keys()
        changed |= different
        same_model = not {"llm.model", "llm.api", "llm.kind"} & different
        for trial in range(trials):
            path = run.journal_path(task.task_id, trial)
            if path.exists():
                continue
            opened = _opened(inherited, task, point, same_model=same_model)
            opened = replace(opened, trial=trial, config_digest=digest)
            write_inheritance(path, opened, inherited, source=point.run, redactor=run.redactor)
    settings = ", ".join(sorted(changed)) or "nothing"
    say(f"forked {_listed('task', [task.task_id for task in tasks])} of {point.run} at step {point.step}; "
        f"changed settings: {settings}")  # fmt: skip


def _inherited(point: ForkPoint, task: Task) -> Inheritance:
    """Raises: ConfigError: The parent lacks the step, or played another version of the task."""
    inherited = inherit(point.journal(task.task_id), point.step)
    if inherited.opened.task_digest != task_digest(task):
        raise ConfigError(
            f"{point.run} was played with another version of task {task.task_id}; put its task file and settings of"
            " tasks (attack=…) back, then fork again"
        )
    return inherited


def fork_trials(run: RunFolder, task: Task, trial: int, *, step: int, trials: Sequence[int]) -> None:
    """Write the journals of further trials of a task that begin with steps of one trial of the same run.

    Args:
        run: Its folder, held by this process.
        trial: Whose steps they begin with; it may be going on.
        step: The last one that they inherit.
        trials: Their numbers; none of them has a journal.
    Raises:
        ConfigError: There is no such trial or step, or its agent cannot be brought back to one.
        JournalError: Its journal is damaged.
    """
    path = run.journal_path(task.task_id, trial)
    if not path.exists():
        raise ConfigError(f"trial {trial} of task {task.task_id} has not begun")
    inherited = inherit(path, step)
    point = ForkPoint(run=run.path, task_id=task.task_id, trial=trial, step=step)
    opened = _opened(inherited, task, point, same_model=True)
    for number in trials:
        into = run.journal_path(task.task_id, number)
        write_inheritance(into, replace(opened, trial=number), inherited, source=run.path, redactor=run.redactor)


def _opened(inherited: Inheritance, task: Task, point: ForkPoint, *, same_model: bool) -> Opened:
    parent = inherited.opened
    # The seed stays the parent's: a benchmark's pages depend on it, and are compared with the recorded ones.
    fork = Fork(
        run=point.name,
        trial=parent.trial,
        attempt=parent.attempt,
        step=point.step,
        origin=inherited.origin,
        # Of a fork of a fork, the steps before its parent's own are those of a third run.
        same_model=same_model and (parent.fork is None or parent.fork.same_model),
        late=inherited.late,
        doubts=inherited.doubts,
    )
    return replace(parent, attempt=1, why="fork", task=recorded_task(task), fork=fork, at=time.time())
