"""Which tasks a run is about: those of a file, or of a benchmark that is code."""

from pathlib import Path

from harness.api import Benchmark
from harness.config import Config
from harness.errors import ConfigError, UsageError
from harness.evaluation.builder import PLUGIN_ERRORS, build_benchmark, build_evaluators
from harness.records import Task
from harness.tasks import load
from harness.tasks.shards import in_shard


def load_tasks(config: Config) -> tuple[Task, ...]:
    """The selected tasks.

    Raises:
        UsageError: Task file, benchmark or selection cannot be used.
    """
    task = config.task
    benchmark = build_benchmark(task)
    if benchmark is None and task.path is None:
        raise ConfigError("task.path is not set; give a task file, or the class of a benchmark as task._target_")
    tasks = load(
        Path(str(task.path if benchmark is None else task._target_)),
        config.sites.canonical_bases,
        ids=task.ids,
        wanted_sites=task.sites,
        limit=task.limit,
        evaluators=build_evaluators(config, benchmark),
        given=None if benchmark is None else _entries(benchmark),
    )
    return in_shard(tasks, task.shard)


def _entries(benchmark: Benchmark) -> list[object]:
    name = type(benchmark).__name__
    try:
        return list(benchmark.tasks())
    except UsageError:
        raise
    except PLUGIN_ERRORS as error:
        raise ConfigError(f"the tasks of {name} cannot be had: {type(error).__name__}: {error}") from error
