"""Suite files: several benchmarks in one run, with a weight and settings for each.

    benchmarks:
      demo: {weight: 2, ids: [0-9]}
      widgets: {task: miniwob, arguments: {pages: [click-button]}, limits: {max_steps: 10}}

A benchmark is composed as `task=NAME` composes it, and what it needs is put into the settings of the run: its tasks,
its sites, its limits and its traces. Agent, model, observation and scoring are those of the run, and the same for all.
What comes out are plain values, so that worker processes need no suite file.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from difflib import get_close_matches
from pathlib import Path
from re import fullmatch
from types import NoneType
from typing import Any, get_args

import yaml

from harness.browser.visit_policy import POLICIES
from harness.codec import JsonObject
from harness.config import Config
from harness.config.config_validation import range_of
from harness.config.site_settings import DEMO_SERVER, RESERVED, read_sites
from harness.errors import ConfigError, UnsafeFile
from harness.files import safe_files
from harness.settings.fields import Tree, as_plain, declared
from harness.settings.limits import EpisodeLimits

Compose = Callable[[str, Mapping[str, Any]], Config]
"""Given a choice of `task` and settings of it, what `task=CHOICE` composes; raises ConfigError."""

_KEYS = ("task", "weight", "path", "arguments", "split", "ids", "sites", "limit", "limits")
_NAME = r"[A-Za-z0-9_-]{1,32}"
_CHOICE = r"[A-Za-z0-9_/-]{1,64}"
_MOST_BYTES = 1 << 20
_MOST_WEIGHT = 1e6
_DEFAULTS = EpisodeLimits()


class _Loader(yaml.SafeLoader):
    """Refuses aliases, by which a small file becomes a large tree, and keys that stand twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias cannot be used here")
        node: yaml.Node | None = super().compose_node(parent, index)
        if isinstance(node, yaml.MappingNode):
            keys = [str(key.value) for key, _ in node.value]
            if twice := sorted({key for key in keys if keys.count(key) > 1}):
                raise yaml.YAMLError(f"{twice[0][:80]} is there twice")
        return node


def expand_suite(config: Config, compose: Compose, *, limits: Collection[str] = ()) -> Config:
    """The settings with the benchmarks of the suite file `config.task.path` in them.

    Args:
        limits: Names of the limits that the arguments of the run set.
    Raises:
        ConfigError: The file is missing or wrong, or its benchmarks do not go together.
    """
    if config.task.path is None:
        raise ConfigError("task.path is not set; give the suite file, as in task=suite task.path=suite.yaml")
    path = Path(config.task.path)
    # A configuration, such as that of an agent, does not show which ones it sets but by what differs from the default.
    for_all = {
        one.name: value
        for one in declared(EpisodeLimits)
        if (value := getattr(config.limits, one.name)) != getattr(_DEFAULTS, one.name) or one.name in limits
    }
    members, trees, traced, hosts = {}, {}, config.browser.har, [*config.task.hosts]
    for name, entry in _read(path).items():
        place = f"{path}: benchmarks.{name}"
        choice = _choice(place, name, entry)
        try:
            given = {key: entry[key] for key in ("path", "arguments", "split", "ids", "sites", "limit") if key in entry}
            if given.get("path") is not None:  # beside the suite file, wherever the run is started
                given["path"] = str(path.parent / str(given["path"]))
            composed = compose(choice, given)
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from error
        task = composed.task
        if "arguments" in entry and task._target_ is None:
            raise ConfigError(f"{place}.arguments: the tasks of {choice} are those of a file, and take no arguments")
        if task._target_ is None and task.path is None:
            raise ConfigError(f"{place}.path is not set; give its task file")
        kept = ("_target_", "arguments", "path", "plans", "split", "ids", "sites", "limit")
        members[name] = {
            **{key: as_plain(getattr(task, key)) for key in kept},
            "name": name,
            "weight": _weight(place, entry.get("weight", 1)),
            "limits": asdict(_limits(place, entry.get("limits"), for_all, composed.limits)),
        }
        trees[name] = dict(composed.sites.given)
        traced = traced or composed.browser.har
        hosts += task.hosts
    return replace(
        config,
        browser=replace(config.browser, har=traced),
        task=replace(config.task, hosts=[*dict.fromkeys(hosts)], members=members),
        sites=read_sites(_sites(path, trees, dict(config.sites.given))),
    )


def _read(path: Path) -> dict[str, Mapping[str, Any]]:
    """The entries of the file, by name; no more than their names and keys is checked."""
    try:
        found = yaml.load(safe_files.read_named(path)[: _MOST_BYTES + 1].decode(), _Loader)
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"{path}: has more than {_MOST_BYTES} bytes, and is not a suite file")
    except OSError as error:
        raise ConfigError(f"{path}: the suite file cannot be read ({error.strerror})") from error
    except UnsafeFile as error:
        raise ConfigError(f"{path}: the suite file cannot be read ({error.why})") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: is not a suite file in YAML ({' '.join(str(error).split())[:200]})") from error
    if not isinstance(found, dict) or not isinstance(entries := found.get("benchmarks"), dict) or not entries:
        raise ConfigError(f"{path}: contains no benchmarks; give `benchmarks:` and an entry for each, as demo: {{}}")
    _refuse_unknown(f"{path}", found, ("benchmarks",))
    for name, entry in entries.items():
        if not isinstance(name, str) or not fullmatch(_NAME, name):
            raise ConfigError(
                f"{path}: benchmarks: {str(name)[:80]!r} cannot be a name; use 1 to 32 of A-Z a-z 0-9 _ -"
            )
        if not isinstance(entry or {}, dict):
            raise ConfigError(f"{path}: benchmarks.{name} must be a mapping, as in {name}: {{weight: 1}}")
        _refuse_unknown(f"{path}: benchmarks.{name}", entry or {}, _KEYS)
        _refuse_variables(f"{path}: benchmarks.{name}", entry)
    return {name: entry or {} for name, entry in entries.items()}


def _refuse_unknown(place: str, tree: Mapping[Any, Any], known: Sequence[str]) -> None:
    for key in tree:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            fix = f"did you mean {near[0]}" if near else f"known keys: {', '.join(known)}"
            raise ConfigError(f"{place}: unknown key {str(key)[:80]!r}; {fix}")


def _refuse_variables(place: str, value: Any) -> None:
    """A suite file may be somebody else's: it does not read the environment, or the settings, of who plays it."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            _refuse_variables(f"{place}.{str(key)[:80]}", str(key))
            _refuse_variables(f"{place}.{str(key)[:80]}", one)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            _refuse_variables(place, one)
    elif isinstance(value, str) and "${" in value:
        raise ConfigError(f"{place}: a suite file resolves no ${{…}}; write the value itself")


def _choice(place: str, name: str, entry: Mapping[str, Any]) -> str:
    choice = entry.get("task", name)
    if not isinstance(choice, str) or not fullmatch(_CHOICE, choice):
        raise ConfigError(f"{place}.task={str(choice)[:80]!r} is not a choice of task; give one, as task: demo")
    if choice == "suite":
        raise ConfigError(f"{place}: a suite cannot contain a suite")
    return choice


def _weight(place: str, value: Any) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not 0 < value <= _MOST_WEIGHT:
        raise ConfigError(f"{place}.weight={str(value)[:80]} cannot be used; give a number above 0")
    return float(value)


def _limits(place: str, given: Any, of_run: Mapping[str, Any], of_benchmark: EpisodeLimits) -> EpisodeLimits:
    """The limits of a benchmark: those of the file, else of the run, else its own, else the defaults."""
    if not isinstance(given or {}, dict):
        raise ConfigError(f"{place}.limits must be a mapping, as in limits: {{max_steps: 10}}")
    known = {one.name: one.kind for one in declared(EpisodeLimits)}
    _refuse_unknown(f"{place}.limits", given or {}, tuple(known))
    for key, value in (given or {}).items():
        kinds = get_args(known[key]) or (known[key],)
        if value is None and NoneType not in kinds:
            raise ConfigError(f"{place}.limits.{key} cannot be null; give a number")
        is_number = isinstance(value, int if int in kinds else int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and range_of(f"limits.{key}").hold(value)):
            raise ConfigError(
                f"{place}.limits.{key}={str(value)[:80]} cannot be used; give a number {range_of(f'limits.{key}')}"
            )
    return replace(of_benchmark, **{**of_run, **(given or {})})


def _sites(path: Path, trees: Mapping[str, Tree], of_run: Tree) -> Tree:
    """The sites of all benchmarks, and over them what the run says of sites.

    Raises:
        ConfigError: Some are embedded and others are not, or two benchmarks mean different sites by one name.
    """
    embedded = {name: bool(tree.get("embedded")) for name, tree in trees.items()}
    # Embedded sites belong to a lane, others are shared and locked: both in one run would need two schedulers.
    if len(set(embedded.values())) > 1:
        served, deployed = ([name for name, here in embedded.items() if here is kind] for kind in (True, False))
        raise ConfigError(
            f"{path}: the sites of {', '.join(served)} are embedded, those of {', '.join(deployed)} are your own"
            " deployment; a run has sites of one kind, so give each kind a separate suite"
        )
    if live := [name for name, tree in trees.items() if any(tree.get(key) is not None for key in POLICIES.names())]:
        raise ConfigError(f"{path}: {', '.join(live)} is played on the live web; run it apart from a suite")
    merged: Tree = {}
    whose: dict[str, str] = {}
    for name, site, tree in _each_site(trees):
        if merged.setdefault(site, tree) != tree:
            raise ConfigError(
                f"{path}: {whose[site]} and {name} mean different sites by {site}; rename one of them in configs/sites"
            )
        whose.setdefault(site, name)
    for site, tree in of_run.items():
        both = isinstance(tree, Mapping) and isinstance(merged.get(site), Mapping)
        merged[site] = {**merged[site], **tree} if both and site not in RESERVED else tree
    return {**merged, "embedded": next(iter(embedded.values()))}


def _each_site(trees: Mapping[str, Tree]) -> Iterator[tuple[str, str, Any]]:
    """Benchmark, name and settings of each of its sites; embedded ones say who serves them."""
    for name, tree in trees.items():
        for site, settings in tree.items():
            if site in RESERVED:
                continue
            serves = {"server": tree.get("server") or DEMO_SERVER} if tree.get("embedded") else {}
            yield name, site, {**serves, **settings} if isinstance(settings, Mapping) else settings


def suite_plans(members: Mapping[str, Mapping[str, Any]], entries_of: Callable[[Path], list[Any]]) -> list[JsonObject]:
    """The plan files of a suite's benchmarks as one, for the scripted endpoint.

    Args:
        entries_of: Gives what a plan file lists.
    Raises:
        ConfigError: A benchmark has none.
        TaskError: One cannot be read.
    """
    found: list[JsonObject] = []
    for name, member in members.items():
        if (path := member["plans"]) is None:
            raise ConfigError(
                f"llm=scripted has no plans for the benchmark {name} of the suite; leave it out, give llm.plans=FILE"
                f" with plans for all (task_id: {name}.ID), or choose a model by llm=openai"
            )
        for plan in entries_of(Path(path)):
            if isinstance(plan, dict):
                found.append({**plan, "task_id": f"{name}.{plan.get('task_id')}"})
    return found
