"""The tasks of a run."""

from dataclasses import dataclass
from typing import Any

from harness.choices import AT_LEAST_ONE
from harness.settings.fields import REQUIRED, Tree, setting
from harness.settings.plugin import PluginSettings


@dataclass(frozen=True)
class TaskSettings(PluginSettings):
    """Which tasks are played."""

    name: str = setting(REQUIRED, named=False, filled=True)
    """First part of the run's name."""
    path: str | None = setting(None, named=False, filled=True)
    """A JSON array, a folder of `{i}.json`, or JSONL; null = the tasks of the benchmark named as `_target_`."""
    plans: str | None = setting(None, named=False)
    """Plan file for `llm=scripted`."""
    ids: Any = setting(None, named=False)
    """Only tasks with these ids, single ones and ranges as in `[0-99,120]`; null = all."""
    split: str | None = setting(None, named=False)
    """A part of the benchmark's tasks by its name; `all` = every task, null = the part that the benchmark chooses."""
    sites: list[str] | None = setting(None, named=False)
    """Only tasks all of whose sites are in this list."""
    limit: int | None = setting(None, named=False, bounds=AT_LEAST_ONE)
    """Only so many tasks, the first ones; null = all."""
    hosts: list[str] = setting(factory=list, named=False, measured=False)
    """Hosts besides the sites (`images.example.org`) from which pictures of tasks may be fetched."""
    # By a hash: a shard stays the same when a task is corrected or the list grows.
    shard: str | None = None
    """`K/N`: of these tasks one N-th, by a hash of their ids; null = all."""
    suite: bool = setting(False, named=False)
    """`path` is a suite file: several benchmarks in one run."""
    members: Tree = setting(factory=dict, named=False)
    """The benchmarks of a suite by name, read from the suite file and not given on the command line; {} = no suite."""
