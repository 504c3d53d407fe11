"""Where `harness audit` has its tasks from, and how exploits are tried on them."""

import argparse
import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.api import Evaluator, Task, dumps
from harness.api.command_line import quoted
from harness.api.configuration import SitesSettings
from harness.api.files import safe_files, write_atomic
from harness.api.journals import FinalState, is_run_folder, journals_in, read, read_final_state
from harness.api.tasks import load_task_file
from harness.api.terminal import Terminal
from harness.errors import ConfigError, ExitCode
from harness.plugins.audit.exploit import Exploit
from harness.plugins.audit.findings import Tried
from harness.plugins.audit.static_audit import audit, tried

_AGENT = "harness.plugins.audit.exploit_agent.ExploitAgent"
_JUDGE = "harness.plugins.audit.obedient_judge.ObedientJudge"
_PLACEHOLDER = re.compile(rb"__([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)__")
_MOST_TEXT = 100_000
"""Characters of a recorded page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Audited:
    tasks: tuple[Task, ...]
    pages: dict[str, str] = field(default_factory=dict)
    """Task id to the text of the page that its episode began on: on which it ended, the task may have been done."""


async def scored(options: argparse.Namespace, exploits: Sequence[Exploit]) -> list[Tried]:
    """Try exploits on made-up evidence.

    Raises:
        UsageError: There are no such tasks, or the settings are wrong.
    """
    from harness.api.evaluation import build_benchmark, build_evaluators, configured

    config = configured(options.overrides, options.config_dir)
    evaluators = build_evaluators(config, build_benchmark(config.task))
    if is_run_folder(options.of):
        found = _of_run(options.of)
    else:
        found = _of_file(options.of, config.sites, config.task.ids, evaluators)
    return await audit(
        found.tasks, exploits, pages=found.pages, task_file=str(options.of.absolute()), evaluators=evaluators
    )


def played(options: argparse.Namespace, exploits: Sequence[Exploit], console: Terminal) -> list[Tried]:
    """Play each exploit in a separate run; one that was interrupted goes on.

    Raises:
        UsageError: There are no such tasks, or the settings are wrong.
    """
    from harness.api.evaluation import configured, load_tasks

    if is_run_folder(options.of):
        raise ConfigError(f"{options.of} is a run folder; --play needs the task file that its tasks are from")
    tasks = load_tasks(configured(_overrides(options, exploits[0]), options.config_dir))
    _references(options).parent.mkdir(parents=True, exist_ok=True)
    write_atomic(_references(options), dumps(tasks))
    found: list[Tried] = []
    for exploit in exploits:
        overrides = _overrides(options, exploit)
        fitting = [task.task_id for task in tasks if exploit.fits(task)]
        if not fitting:
            continue
        if not options.json:
            console.say(f"{exploit.name}: {len(fitting)} tasks")
        overrides.append(f"task.ids=[{','.join(map(quoted, fitting))}]")
        came = {one.task_id: one for one in _play(overrides, options.config_dir, exploit)}
        # A run that was stopped has not begun all of them: what was not tried is not known not to pass.
        found += [came.get(task_id) or tried(exploit.name, task_id, {}) for task_id in fitting]
    return found


def _overrides(options: argparse.Namespace, exploit: Exploit) -> list[str]:
    path = options.of.absolute()
    return [
        f"task.path={quoted(str(path))}",
        "agent=null",
        f"agent._target_={_AGENT}",
        f"agent.name=exploit-{exploit.name}",
        f"+agent.arguments.exploit={exploit.name}",
        f"+agent.arguments.task_file={quoted(str(path))}",
        f"+agent.arguments.references={quoted(str(_references(options)))}",
        f"judge._target_={_JUDGE}",
        *options.overrides,
        *run_settings(options, exploit.name),
    ]


def _references(options: argparse.Namespace) -> Path:
    """The whole tasks, for the agents that play exploits."""
    folder: Path = options.root / "audit"
    return folder.absolute() / f"{options.of.absolute().stem}.tasks.json"


def run_settings(options: argparse.Namespace, name: str) -> tuple[str, ...]:
    """Where a run of an audit is kept, as settings: the person's `run.id`, or the name of the task file, begins it."""
    own = [one.partition("=")[2].strip("'\"") for one in options.overrides if one.partition("=")[0] == "run.id"]
    begin = own[-1] if own else options.of.absolute().stem
    return (
        f"run.root={quoted(str(options.root / 'audit'))}",
        f"run.id={quoted(f'{begin}-{name}')}",
        "run.report=false",
    )


def play_quietly(overrides: Sequence[str], config_dir: Path | None) -> Path:
    """Play a run, or go on with it; its folder.

    Raises:
        UsageError: The settings are wrong.
        KeyboardInterrupt: The person asked to stop; what comes after this run is not to be begun.
    """
    from harness.api.evaluation import configured, evaluate

    config = configured(overrides, config_dir)
    folder, quiet = Path(config.run.root) / config.run.id, Terminal(highlight=False)
    folder.mkdir(parents=True, exist_ok=True)
    quiet.quiet = True
    if asyncio.run(evaluate(config, folder, quiet)) == ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return folder


def _play(overrides: Sequence[str], config_dir: Path | None, exploit: Exploit) -> list[Tried]:
    folder = play_quietly(overrides, config_dir)
    return [tried(exploit.name, one.opened.task.task_id, one.scores) for one in _ended(folder)]


def _of_file(
    path: Path, sites: SitesSettings, ids: Sequence[Any] | None, evaluators: Mapping[str, Evaluator]
) -> _Audited:
    """Tasks of a file; sites without a configured address get one that leads nowhere."""
    bases = {name: f"http://{name.replace('_', '-')}.test" for name in _placeholders(path)}
    known = {} if sites.embedded and not set(bases) & set(sites.by_name) else sites.canonical_bases
    return _Audited(tasks=load_task_file(path, bases | known, ids=ids, evaluators=evaluators))


def _placeholders(path: Path) -> set[str]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    try:
        data = [safe_files.read(file) for file in files]
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); give a task file or a run folder") from error
    return {found.decode().lower() for one in data for found in _PLACEHOLDER.findall(one)}


def _of_run(folder: Path) -> _Audited:
    tasks: dict[str, Task] = {}
    pages: dict[str, str] = {}
    for path in (Path(entry.path) for entry in journals_in(folder)):
        episode = read(path)
        if (opened := episode.opened) is not None:
            tasks[opened.task.task_id] = opened.task
            if episode.arrival is not None:
                pages[opened.task.task_id] = episode.arrival.observation.text[:_MOST_TEXT]
    if not tasks:
        raise ConfigError(f"{folder} contains no journal; give the folder of a run, like results/NAME")
    return _Audited(tasks=tuple(tasks.values()), pages=pages)


def _ended(folder: Path) -> list[FinalState]:
    paths = [Path(entry.path) for entry in journals_in(folder)]
    return [one for path in paths if (one := read_final_state(path)) is not None]
