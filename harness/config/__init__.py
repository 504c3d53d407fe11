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
from typing import TYPE_CHECKING, Any, Self

from harness.choices import SHARE, ActionSetName, Dialect, ValueRange
from harness.config.agent_settings import FIRST_PLACES, AgentConfig
from harness.config.site_settings import SitesSettings, read_sites
from harness.errors import ConfigError
from harness.settings.browser import BrowserSettings
from harness.settings.executor import ExecutorSettings
from harness.settings.fields import Tree, as_plain, from_plain, measured, setting, unnamed, with_tuples
from harness.settings.limits import EpisodeLimits
from harness.settings.models import JudgeSettings, LlmSettings, openai_key
from harness.settings.observation import ObservationSettings
from harness.settings.plugin import PluginSettings
from harness.settings.resume import ResumeSettings
from harness.settings.run import JournalSettings, RunSettings
from harness.settings.task import TaskSettings
from harness.settings.tracking import TrackingSettings

if TYPE_CHECKING:  # only what composes settings needs it; workers and readers of runs do without
    from omegaconf import DictConfig

_CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT = _CHECKOUT if (_CHECKOUT / "run.py").exists() else Path(get_path("data"), "share", "cairn-harness")
"""Where `configs/` and `tasks/` are: in the checkout, or where the package was installed with them."""
HIDDEN = re.compile(r"REDACTED_\d+_")
"""Stands for a secret of the command line until the configuration is composed."""
_LONGEST_SUFFIX = 150
_AGENTS = {"webarena_verified": "verified", "webarena_verified_hard": "verified"}
"""Choice of `task` to its default choice of `agent`; of the others it is `prompt`."""
MEASURED_PLUGINS = ("task", "agent", "llm", "judge", "observation", "attack")
"""Groups whose class of your own, its version and arguments are measured."""


@dataclass(frozen=True)
class _AllSettings:
    """Every group of settings, by the name it has on the command line."""

    task: TaskSettings = setting(factory=TaskSettings, measured=False, named=False)
    agent: AgentConfig = setting(factory=AgentConfig, named=False)
    llm: LlmSettings = setting(factory=LlmSettings, named=False)
    browser: BrowserSettings = field(default_factory=BrowserSettings)
    sites: Any = None
    executor: ExecutorSettings = setting(factory=ExecutorSettings, measured=False, named=False)
    resume: ResumeSettings = setting(factory=ResumeSettings, measured=False, named=False)
    run: RunSettings = field(default_factory=RunSettings)
    observation: ObservationSettings = field(default_factory=ObservationSettings)
    limits: EpisodeLimits = field(default_factory=EpisodeLimits)
    journal: JournalSettings = setting(factory=JournalSettings, measured=False)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    attack: PluginSettings = field(default_factory=PluginSettings)
    """What is planted in the pages of every task, to see whether agents follow it; `attack=none` = nothing."""
    evaluators: Any = None
    """Evaluators of your own, by the name that `eval_types` of a task has for them."""
    tracking: TrackingSettings = setting(factory=TrackingSettings, measured=False, named=False)
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
    fail_under_of: dict[str, float] = setting(factory=dict, measured=False, named=False)
    """Exit 1 when a figure that a plug-in measures is below a share, by the name of the figure; on the command line
    `fail_under.cup=0.8`."""


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
    def of_tree(cls, tree: Mapping[str, Any]) -> Self:
        """What `tree` gave, in another process."""
        return cls.of(from_plain(ConfigSchema, tree))

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
                from harness.config.plugin_packages import measured_plugin  # and hydra, which a worker does without

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


def member_task(member: Mapping[str, Any]) -> TaskSettings:
    """The settings of the tasks of one benchmark of a suite."""
    known = {one.name for one in fields(TaskSettings)}
    return TaskSettings(**{key: value for key, value in member.items() if key in known})


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


def schema() -> "DictConfig":
    """What can be configured, with its defaults, to be merged with what is."""
    from omegaconf import OmegaConf

    node: DictConfig = OmegaConf.structured(ConfigSchema)
    _open(node)
    return node


def _open(node: "DictConfig") -> None:
    """Take back that OmegaConf refuses changes to the tree of a frozen class: only its objects are not changed."""
    from omegaconf import DictConfig, OmegaConf

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
    from omegaconf import OmegaConf

    OmegaConf.register_new_resolver("slug", slug, replace=True)
    OmegaConf.register_new_resolver("stem", lambda path: slug(Path(str(path)).stem), replace=True)
    OmegaConf.register_new_resolver("project", lambda path: str(PROJECT / path), replace=True)
    OmegaConf.register_new_resolver("unnamed_settings", lambda: unnamed(ConfigSchema), replace=True)
    OmegaConf.register_new_resolver("package", _package_file, replace=True)
    OmegaConf.register_new_resolver("suffix", _suffix, replace=True)
    OmegaConf.register_new_resolver("openai_key", openai_key, replace=True)
    OmegaConf.register_new_resolver("agent_of", lambda task: _AGENTS.get(task, "prompt"), replace=True)
    OmegaConf.register_new_resolver("equal", lambda one, other: one == other, replace=True)
