"""What a run folder says of itself beside its journals: `run.json`, `fork.json`, `verified.json`, `attribution.json`.

Each of its small files may be missing, torn, of another version, or forged: what does not fit is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.codec import JsonObject
from harness.evaluators.result import CORRECTED, DIALECTS
from harness.files.side_file import SideFile
from harness.records import benchmark_of
from harness.runs.attribution import NO_ATTRIBUTIONS, Attributions, read_attributions
from harness.runs.fork_origin import ForkOrigin, fork_origin
from harness.runs.made_by import MadeBy, made_by
from harness.runs.verified import OwnVerdicts, read_verdicts

_MOST_ROWS = 1_000_000
"""Episodes without a journal, at most; `run.json` may be wrong or hostile."""
_LONGEST_NAME, _LONGEST_ID = 300, 2000
_MOST_WEIGHT = 1e9

DESCRIPTION = SideFile[JsonObject]("run.json", dict)
"""What the run was made with."""
SUMMARY = SideFile[JsonObject]("summary.json", dict)
OF_TASKS = "of_tasks"
"""Key of `run.json`: task id to its `sites` and its intent `template`; missing in older runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlace:
    """Where a task counts that has no journal to say so; the defaults are those of a task of which nothing is known."""

    site: str = "-"
    """Its sites, joined by `+`."""
    template_id: str = ""
    """"" = the task has no template and is a cluster by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What a run folder says of itself beside its journals."""

    name: str
    dialect: str
    model: str
    agent: str
    tasks: tuple[str, ...]
    """Task ids of the run, begun or not; () = those of its journals, as of a run that was served."""
    trials: int
    fork: ForkOrigin | None = None
    """Where it was forked; None = it is not a fork."""
    made: tuple[MadeBy, ...] = ()
    """By what the latest start was made, then earlier ones where that was something else."""
    benchmarks: Mapping[str, float] = field(default_factory=dict)
    """Name and weight of each benchmark of a suite; {} = the run is not a suite."""
    verified: OwnVerdicts | None = None
    """What the scorer of webarena-verified says; None = it was not asked."""
    attributions: Attributions = NO_ATTRIBUTIONS
    """Why its episodes did not pass, as `harness attribute` found."""
    benchmark: str = ""
    """Name of the task set; "" = an older run, whose folder has no name of its own that says it."""
    of_tasks: Mapping[str, TaskPlace] = field(default_factory=dict)
    """Task id to where it counts; {} = an older run."""

    def benchmark_of(self, task_id: str) -> str:
        """The benchmark of one of its tasks: of a suite, the member; "" = it is not known."""
        return benchmark_of(task_id) if self.benchmarks else self.benchmark


def run_info(folder: Path, dialect: str | None = None) -> RunInfo:
    """Read the small files of a run folder; each may be missing, torn, of another version, or forged.

    Args:
        folder: The run folder.
        dialect: Overrides the dialect the run was scored in.

    Raises:
        UnsafeFile: One of them is a link, a FIFO or a device.
    """
    run, summary = DESCRIPTION.find(folder) or {}, SUMMARY.find(folder) or {}
    tasks, trials = _tasks(run.get("tasks")), run.get("trials")
    trials = trials if isinstance(trials, int) and 0 < trials < 10_000 else 1
    return RunInfo(
        name=folder.resolve().name,
        dialect=dialect or _scoring(summary, run),
        model=_text(run.get("model")),
        agent=_text(run.get("agent")),
        tasks=tasks if len(tasks) * trials <= _MOST_ROWS else (),
        trials=trials,
        fork=fork_origin(folder),
        made=made_by(run),
        benchmarks=_weights(run.get("benchmarks")),
        verified=read_verdicts(folder),
        attributions=read_attributions(folder),
        benchmark=_text(run.get("benchmark")) or _named(folder.resolve().name, _text(run.get("agent"))),
        of_tasks=_places(run.get(OF_TASKS)),
    )


def _scoring(summary: JsonObject, description: JsonObject) -> str:
    """The scoring that a run was scored in last."""
    found = summary.get("scoring") or description.get("scoring")
    return found if isinstance(found, str) and found in DIALECTS else CORRECTED


def _named(folder: str, agent: str) -> str:
    """The benchmark of a run from before `run.json` named it: what the default name of a folder begins with."""
    before, found, _ = folder.partition(f"-{agent}-")
    return before[:_LONGEST_NAME] if found and agent else ""


def _text(value: object) -> str:
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""


def _weights(value: object) -> dict[str, float]:
    found = value.items() if isinstance(value, dict) else ()
    return {name: float(one) for name, one in found if isinstance(one, int | float) and 0 < one < _MOST_WEIGHT}


def _places(value: object) -> dict[str, TaskPlace]:
    found = value.items() if isinstance(value, dict) else ()
    return {task: _place(one) for task, one in found if isinstance(one, dict)}


def _place(value: JsonObject) -> TaskPlace:
    sites, template = value.get("sites"), value.get("template")
    names = "+".join(name for name in sites if isinstance(name, str)) if isinstance(sites, list) else ""
    return TaskPlace(
        site=names[:_LONGEST_NAME] or "-",
        template_id=template[:_LONGEST_ID] if isinstance(template, str) else "",
    )


def _tasks(value: object) -> tuple[str, ...]:
    """Task ids, each once; what is far longer than a name of a file can be is none."""
    found = value if isinstance(value, list) else ()
    return tuple(dict.fromkeys(task for task in found if isinstance(task, str) and len(task) <= _LONGEST_ID))
