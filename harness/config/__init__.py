"""The schema and the defaults of everything that can be configured.

`configs/*.yaml` only composes and overrides what is declared here; an unknown key or a wrong type is refused by the
schema. Which values a setting may have and what it means for a run folder is declared beside its default (`setting`),
its words below it. Importing this registers nothing: call `register`.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from hashlib import sha256
from pathlib import Path
from sysconfig import get_path
from typing import Any, Self

from omegaconf import MISSING, DictConfig, OmegaConf

from harness.choices import (
    AT_LEAST_ONE,
    MAX_NUMBER,
    RETRIES,
    SHARE,
    ActionSetName,
    Dialect,
    Display,
    Durability,
    ValueRange,
)
from harness.config.agent_settings import FIRST_PLACES, AgentConfig
from harness.config.site_settings import SitesSettings, read_sites
from harness.errors import ConfigError
from harness.settings.browser import BrowserSettings
from harness.settings.fields import Tree, as_plain, measured, setting, unnamed, with_tuples
from harness.settings.limits import EpisodeLimits
from harness.settings.models import JudgeSettings, LlmSettings, openai_key
from harness.settings.observation import ObservationSettings
from harness.settings.plugin import PluginSettings
from harness.settings.resume import ResumeSettings

_CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT = _CHECKOUT if (_CHECKOUT / "run.py").exists() else Path(get_path("data"), "share", "cairn-harness")
"""Where `configs/` and `tasks/` are: in the checkout, or where the package was installed with them."""
HIDDEN = re.compile(r"REDACTED_\d+_")
"""Stands for a secret of the command line until the configuration is composed."""
_LONGEST_SUFFIX = 150
_AGENTS = {"webarena_verified": "verified", "webarena_verified_hard": "verified"}
"""Choice of `task` to its default choice of `agent`; of the others it is `prompt`."""
MEASURED_PLUGINS = ("task", "agent", "llm", "judge", "observation")
"""Groups whose class of your own, its version and arguments are measured."""


@dataclass(frozen=True)
class TaskConfig(PluginSettings):
    """Which tasks are played."""

    name: str = setting(MISSING, named=False, filled=True)
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
    shard: str | None = None
    """`K/N`: of these tasks one N-th, by a hash of their ids; null = all."""
    suite: bool = setting(False, named=False)
    """`path` is a suite file: several benchmarks in one run."""
    members: Tree = setting(factory=dict, named=False)
    """The benchmarks of a suite by name, read from the suite file and not given on the command line; {} = no suite."""


@dataclass(frozen=True)
class ExecutorConfig(PluginSettings):
    """Where episodes run."""

    kind: str = setting(
        "processes", named=False, choices=("processes", "inline", "ray", "slurm"), plugins="cairn.executors"
    )
    """`processes`: every worker is a supervised process; `inline`: all in this one, to debug; `ray`: on a cluster.
    `slurm`: as jobs, each a shard."""
    lanes: int | None = setting(None, named=False, bounds=ValueRange(1, 1000))
    """Episodes at once per worker; null = chosen from cores and memory, and 1 where `workers` is given."""
    silence_s: float = setting(20.0, named=False)
    """A worker process without a heartbeat for this long is ended, and its tasks go on elsewhere."""
    task_deadline_s: float | None = None
    """A stay on one task that takes longer is ended; null = only steps have deadlines."""
    shared_fs: bool | None = setting(None, named=False)
    """Whether workers write into the run folder themselves or this process for them; null = each finds out."""
    address: str | None = setting(None, named=False)
    """`executor=ray` only: address of the cluster (`host:port`, `auto`); null = one on this machine, for this run."""
    cpus: float = setting(1.0, named=False, bounds=ValueRange(0, 1000, above=True))
    """Processors that a Ray worker takes of a node, and a Slurm job."""
    shards: int = setting(8, named=False, bounds=ValueRange(1, 100_000))
    """`executor=slurm` only: into how many jobs a run is divided."""
    cluster: str = setting("slurm", named=False)
    """`executor=slurm` only: `local` = processes of this machine, to try it."""
    partition: str | None = setting(None, named=False)
    """`executor=slurm` only: the partition that jobs are sent to; null = the cluster's default."""
    time_min: int = setting(240, named=False, bounds=AT_LEAST_ONE)
    """`executor=slurm` only: minutes of a job; one that runs out of time is queued again and goes on."""
    mem_gb: float | None = setting(None, named=False, bounds=ValueRange(0, 1_000_000, above=True))
    """`executor=slurm` only: memory of a job; null = the cluster's default."""
    sbatch: Tree = field(default_factory=dict)
    """`executor=slurm` only: further options of sbatch, as submitit names them: account, qos, constraint…"""
    wait: bool = setting(True, named=False)
    """`executor=slurm` only: false = submit only; the same command brings together what jobs have done."""


@dataclass(frozen=True)
class JournalConfig:
    """How journals are written."""

    durability: Durability = setting(Durability.record, named=False)
    """When a record must be on the disk itself, so that a power cut cannot take it. A killed process never can."""


@dataclass(frozen=True)
class RunConfig:
    """The run as a whole, and its folder."""

    id: str = setting("${task.name}-${agent.name}-${slug:${llm.model}}", named=False, filled=True)
    """Name of the run folder; derived from task, agent and model, so that the same command resumes."""
    root: str = setting("results", named=False, filled=True)
    """Folder in which the run folder is made."""
    fork: str | None = setting(None, named=False)
    """`RUN@STEP` or `RUN/TASK@STEP`: episodes begin with the steps that run folder RUN recorded up to STEP."""
    retry: str | None = setting(None, named=False, choices=RETRIES)
    """Re-open finished tasks as new attempts: `infra`, `failed` or `all`."""
    max_tokens: int | None = setting(None, named=False)
    """Tokens of all tasks, trials and attempts together, their judging included. A run that has spent them stops, and
    can go on."""
    max_cost_usd: float | None = setting(None, named=False)
    """Cost of all tasks, trials and attempts together, their judging included. A run that has spent it stops, and can
    go on."""
    max_working_s: float | None = setting(None, named=False, bounds=ValueRange(0, MAX_NUMBER))
    """Seconds of work of all tasks, trials and attempts together. A run that has spent them stops, and can go on."""
    seed: int = setting(0, bounds=ValueRange(-MAX_NUMBER, MAX_NUMBER))
    """What random agents and benchmarks begin with; each trial has its own, made from it."""
    dry: bool = setting(False, named=False)
    """Only print what would be done: sites, start pages and evaluators of each task, and the pending episodes."""
    display: Display = setting(Display.auto, named=False)
    """How progress is shown."""
    report: bool = setting(True, named=False)
    """Bring the HTML report up to date at the end."""


@dataclass(frozen=True)
class TrackingConfig:
    """Where trajectories and metrics of the run are logged besides the run folder."""

    kind: str = setting("none", choices=("none", "art"), plugins="cairn.trackers")
    """`none`, or `art`: `{base_path}/{project}/models/{name}/`, as OpenPipe ART lays it out."""
    base_path: str = setting(".art", named=False)
    """Folder of all projects."""
    project: str = setting("cairn", named=False)
    """Name of the project, a folder in `tracking.base_path`."""
    name: str | None = setting(None, named=False)
    """Name of the model; null = the path-safe form of `llm.model`."""
    split: str = setting("val", named=False)
    """What the run is logged as: `train`, `val` or `test`."""
    every: int = setting(0, named=False)
    """Log what there is each time this many more tasks have ended, as split `{split}_partial`; 0 = only at the end."""
    report_metrics: list[Any] | None = setting(None, named=False)
    """Further sinks: `wandb`, `trackio`, `{_target_: package.Class}`; null = W&B when its key is set, [] = none."""


@dataclass(frozen=True)
class _AllSettings:
    """Every group of settings, by the name it has on the command line."""

    task: TaskConfig = setting(factory=TaskConfig, measured=False, named=False)
    agent: AgentConfig = setting(factory=AgentConfig, named=False)
    llm: LlmSettings = setting(factory=LlmSettings, named=False)
    browser: BrowserSettings = field(default_factory=BrowserSettings)
    sites: Any = None
    executor: ExecutorConfig = setting(factory=ExecutorConfig, measured=False, named=False)
    resume: ResumeSettings = setting(factory=ResumeSettings, measured=False, named=False)
    run: RunConfig = setting(factory=RunConfig, measured=False)
    observation: ObservationSettings = field(default_factory=ObservationSettings)
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)
    journal: JournalConfig = setting(factory=JournalConfig, measured=False)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    evaluators: Any = None
    """Evaluators of your own, by the name that `eval_types` of a task has for them."""
    tracking: TrackingConfig = setting(factory=TrackingConfig, measured=False, named=False)
    action_set: ActionSetName = ActionSetName.cairn
    """Which actions an agent has, and how it writes them."""
    actions: list[str] = setting(factory=list, added=True)
    """Further actions of the set `cairn`: dotted paths of classes, as in `[my_package.MyAction]`."""
    scoring: Dialect = setting(Dialect.corrected, measured=False)
    """The rules by which the run is scored; `harness score` scores a finished run by the others."""
    workers: int | None = setting(None, measured=False, named=False, bounds=ValueRange(1, 10_000))
    """Browsers at once; null = chosen from cores and memory."""
    trials: int = setting(1, measured=False, bounds=ValueRange(1, 100_000))
    """Independent repetitions of each task."""
    fail_under: float | None = setting(None, measured=False, named=False, bounds=SHARE)
    """Exit 1 when the success rate over all tasks is below this."""


@dataclass(frozen=True)
class ConfigSchema(_AllSettings):
    """What hydra composes: `sites` and `evaluators` are trees yet, as what is in them has any name."""

    sites: Tree = setting(factory=dict, measured=False, named=False)
    evaluators: Tree = setting(factory=dict, measured=False)


@dataclass(frozen=True)
class Config(_AllSettings):
    """The typed settings of a run."""

    sites: SitesSettings = setting(factory=SitesSettings, measured=False, named=False)
    evaluators: dict[str, PluginSettings] = setting(factory=dict, measured=False)

    @classmethod
    def of(cls, composed: ConfigSchema) -> Self:
        """Read the sites and evaluators.

        Raises:
            ConfigError: They hold an unknown key, or a value that cannot be used.
        """
        read = {"sites": read_sites(composed.sites), "evaluators": _evaluators(composed.evaluators)}
        return cls(**(vars(with_tuples(composed)) | read))

    def tree(self) -> Tree:
        """All of it as plain values, as `ConfigSchema` reads it."""
        return {one.name: as_plain(getattr(self, one.name)) for one in fields(self)} | {
            "sites": as_plain(self.sites.given)
        }

    def measured(self) -> Tree:
        """The settings that change what is measured, by their dotted names; a run folder holds one value of each."""
        found = measured(self.tree(), ConfigSchema)
        if (visits := self.sites.visits).name:
            found[f"sites.{visits.name}"] = asdict(visits)
        plugins = {name: getattr(self, name) for name in MEASURED_PLUGINS}
        plugins |= {f"task.members.{name}": member_task(member) for name, member in self.task.members.items()}
        for name, plugin in (plugins | {f"evaluators.{name}": one for name, one in self.evaluators.items()}).items():
            if plugin._target_ is not None:
                from harness.config.plugin_packages import (
                    measured_plugin,  # it imports hydra, which a worker does not need
                )

                arguments = dict(plugin.arguments)
                if name == "task" and arguments.get("path") == self.task.path:
                    arguments.pop("path", None)  # the tasks that it holds are compared, wherever the file is
                found |= measured_plugin(name, plugin._target_, arguments)
        if "agent.command" in found:
            found["agent.command"] = [FIRST_PLACES.get(part, part) for part in found["agent.command"]]
        for name, member in self.task.members.items():
            limits = asdict(EpisodeLimits()) | member["limits"]  # an older run folder does not hold all of them
            found |= measured(limits, EpisodeLimits, f"task.members.{name}.limits.")
        return found


def member_task(member: Mapping[str, Any]) -> TaskConfig:
    """The settings of the tasks of one benchmark of a suite."""
    known = {one.name for one in fields(TaskConfig)}
    return TaskConfig(**{key: value for key, value in member.items() if key in known})


def _evaluators(tree: Mapping[str, Any]) -> dict[str, PluginSettings]:
    """By eval type; a schema cannot say what is in groups of any name."""
    found = {}
    for name, settings in tree.items():
        place = f"evaluators.{name}"
        target = settings.get("_target_") if isinstance(settings, Mapping) else None
        if not isinstance(target, str):
            raise ConfigError(f"{place}._target_ is not set; give the dotted path of a class, my_package.module.Class")
        if unknown := sorted(settings.keys() - {"_target_", "arguments"}):
            raise ConfigError(f"{place}.{unknown[0]} is not a setting; what the class is given is in {place}.arguments")
        if not isinstance(arguments := settings.get("arguments") or {}, Mapping):
            raise ConfigError(f"{place}.arguments must be a mapping of names to values")
        found[name] = PluginSettings(_target_=target, arguments=dict(arguments))
    return found


def slug(text: str) -> str:
    """A path-safe name: `openai/gpt-4o` becomes `openai-gpt-4o`."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", str(text)).strip("-.") or "x"


def _suffix(overrides: str) -> str:
    """What distinguishes the runs of a sweep; settings that are nothing but a secret are left out."""
    kept = re.sub(rf"(?:^|,)[^,=]*=['\"]?{HIDDEN.pattern}['\"]?(?=,|$)", "", overrides).lstrip(",")
    name = slug(HIDDEN.sub("redacted", kept)) if kept else ""
    if len(name) > _LONGEST_SUFFIX:  # a folder's name has 255 bytes
        name = f"{name[: _LONGEST_SUFFIX - 13]}-{sha256(name.encode()).hexdigest()[:12]}"
    return f",{name}" if name else ""


def _package_file(package: str, path: str) -> str:
    from harness.config.plugin_packages import package_file  # it imports hydra's plug-ins, which a worker does not need

    return package_file(package, path)


def schema() -> DictConfig:
    """What can be configured, with its defaults, to be merged with what is."""
    node: DictConfig = OmegaConf.structured(ConfigSchema)
    _open(node)
    return node


def _open(node: DictConfig) -> None:
    """Take back that OmegaConf refuses changes to the tree of a frozen class: only its objects are not changed."""
    OmegaConf.set_readonly(node, None)
    for key in node:
        if isinstance(inner := node._get_node(key), DictConfig):
            _open(inner)


@cache
def register() -> None:
    """Make schema and resolvers known to hydra; may be called again."""
    from hydra.core.config_store import ConfigStore  # and all of hydra, which a worker and readers of runs do without

    register_resolvers()
    ConfigStore.instance().store(name="schema", node=schema())
    # Hydra copies the whole store for every look into the configurations, 95 times for `--help`. It need not: what it
    # takes out of the store is a copy already.
    setattr(ConfigStore, "__deepcopy__", lambda store, _: store)  # noqa: B010 (a method)


@cache
def register_resolvers() -> None:
    """Make known what may stand in `${…}`; may be called again."""
    OmegaConf.register_new_resolver("slug", slug, replace=True)
    OmegaConf.register_new_resolver("stem", lambda path: slug(Path(str(path)).stem), replace=True)
    OmegaConf.register_new_resolver("project", lambda path: str(PROJECT / path), replace=True)
    OmegaConf.register_new_resolver("unnamed_settings", lambda: unnamed(ConfigSchema), replace=True)
    OmegaConf.register_new_resolver("package", _package_file, replace=True)
    OmegaConf.register_new_resolver("suffix", _suffix, replace=True)
    OmegaConf.register_new_resolver("openai_key", openai_key, replace=True)
    OmegaConf.register_new_resolver("agent_of", lambda task: _AGENTS.get(task, "prompt"), replace=True)
    OmegaConf.register_new_resolver("equal", lambda one, other: one == other, replace=True)
