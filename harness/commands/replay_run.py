"""Performs a recorded episode again, for debugging: no model is asked, and the run folder is not changed.

Unlike a restore, it does not stop at the first difference: for every step it reports how much of the recorded page came
back. The run folder is untrusted. Its journal says which pages are opened and which actions are performed, and its
`config.yaml` how the agent observed them (`RECORDED`). Browser, sites, addresses, instances and logins come from the
caller's settings, and pages reach those sites only unless these settings allow more. The embedded sites are started
fresh; others are used in their current state.
"""

import re
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from harness.browser.rendering.similarity import similarity
from harness.browser.session.restoration import aim
from harness.choices import ActionSetName, ObservationDialect
from harness.config import PROJECT, Config
from harness.config.deployment import Deployment
from harness.config.recorded_config import NAME, read_recorded, recorded_address, recorded_sites, recorded_text
from harness.config.site_settings import SitesSettings
from harness.embedded_server import start_servers
from harness.errors import ConfigError
from harness.evaluation.embedded import site_server
from harness.evaluation.endpoint_settings import read_yaml
from harness.evaluation.run_context import WorkerContext
from harness.evaluation.worker_pool import chromium
from harness.journal.store import RunFolder
from harness.protocols import Environment
from harness.records import Acted, Episode, LiveObservation, Opened, Refused, Task
from harness.runner.shutdown import ShutdownSignal
from harness.settings.observation import parts_of

_SITE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFidelity:
    """How well one step came back."""

    step: int
    """0 = the arrival."""
    action: str
    similarity: float | None
    """In [0, 1], 1.0 = identical text; None = it could not be performed again."""
    note: str = ""

    def is_faithful(self, least: float) -> bool:
        return self.similarity is not None and self.similarity >= least and not self.note


async def replay_episode(config: Config, episode: Episode, recorded: Path) -> AsyncIterator[StepFidelity]:
    """The arrival and every step of the newest attempt, one after the other.

    Args:
        config: As `as_recorded` gives it.
        recorded: The run folder of the episode.

    Raises:
        ConfigError: There is nothing to perform, or the person's own sites are not those it was on.
    """
    opened, arrival = episode.opened, episode.arrival
    if opened is None or arrival is None:
        raise ConfigError("the journal has no recorded page yet, so there is nothing to replay")
    check_sites(config.sites, recorded, opened.task)
    async with AsyncExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="cairn-replay-")))
        opened = replace(opened, task=_without_file(opened.task, folder))
        env = await _environment(config, opened, folder, closing)
        view = (await env.restore(opened.task, Episode())).view
        yield _compared(0, "arrival", view, arrival)
        before = arrival
        for number, step in enumerate(episode.steps, start=1):
            words = step.decided.action.render()
            action = aim(step.decided.action, view, before.observation)
            before = step.acted
            if action is None:
                # A refused action may have named an element that the recorded page did not have, either.
                if not isinstance(step.acted.outcome, Refused):
                    yield StepFidelity(
                        step=number, action=words, similarity=None, note="its element is missing this time"
                    )
                    return
                continue
            landed = await env.act(action)
            view = landed.view
            was, now = type(step.acted.outcome), type(landed.outcome)
            note = "" if was is now else f"{now.kind} this time, {was.kind} in the record"
            yield _compared(number, words, view, step.acted, note=note)


def _compared(number: int, words: str, view: LiveObservation, recorded: Acted, *, note: str = "") -> StepFidelity:
    alike = similarity(view.observation, recorded.observation)
    return StepFidelity(step=number, action=words, similarity=alike, note=note)


async def _environment(config: Config, opened: Opened, folder: Path, closing: AsyncExitStack) -> Environment:
    """Sites and browser; they end with `closing`."""
    port = None
    if config.sites.embedded:
        (state := folder / "sites").mkdir()
        serving = start_servers(*site_server(config.sites, state), log=folder / "sites.log")
        port = await closing.enter_async_context(serving)
    run = RunFolder.open(folder, held=False)
    context = WorkerContext(
        config=config, run=run, config_digest=opened.config_digest, prices={}, stopping=ShutdownSignal()
    )
    pool = await closing.enter_async_context(chromium(context, Deployment(config.sites, port)))
    known = config.sites.instances
    # Of the addresses in the journal only those in the settings: another would be given the logins of the person.
    at = {site: url for site, url in opened.instances.items() if url in known.get(site, ())}
    return await closing.enter_async_context(pool.open(opened.task, 0, at))


def as_recorded(config: Config, folder: Path, given: Collection[str]) -> Config:
    """The person's settings, with what an agent was shown as the run folder tells it.

    Args:
        given: Names of settings the person gave, which the folder does not change.

    Raises:
        ConfigError: Its `config.yaml` is missing, or says what cannot be.
    """
    tree = read_recorded(folder)
    for place, read in RECORDED.items():
        if place in given or (text := recorded_text(tree, place)) is None:
            continue
        try:
            config = _with(config, place, read(text))
        except ValueError as error:
            raise ConfigError(
                f"{folder / NAME}: {place}={text[:60]!r} is not a valid setting; correct it with {place}=VALUE"
            ) from error
    # Not `auto`, by which pages of sites that are not embedded reach any host: the journal would choose which.
    if "browser.allowed" not in given:
        config = _with(config, "browser.allowed", "sites")
    return config


def check_sites(sites: SitesSettings, folder: Path, task: Task) -> None:
    """See that the person's own sites are those the task is on.

    Raises:
        ConfigError: One is not configured, is shown at another address, or wants a login that is not configured.
    """
    mine, theirs = sites.by_name, recorded_sites(read_recorded(folder))
    there = {site.name for site in Deployment(sites, None).sites(0)}
    for name in task.sites:
        if name not in mine or not (name in there or mine[name].is_embedded):
            raise ConfigError(
                f"task {task.task_id} is on {_named(name)}, but your settings have no address for it: give"
                f" {_setting(name)} (addresses, logins and programs of {folder} are not used)"
            )
        now, before = mine[name].canonical, recorded_address(theirs.get(name, {}))
        if before is not None and before != now:
            raise ConfigError(
                f"the run shows {name} at {before[:200]!r} and your settings show it at {now!r}: if it is the same"
                f" site, give sites.{name}.canonical=ADDRESS with the former"
            )
    for name in _logins(task):
        if name not in mine or mine[name].login is None:
            raise ConfigError(
                f"task {task.task_id} needs a login to {_named(name)}, but your settings have none: "
                f"configure sites.{name[:60]}.login"
            )


def _setting(name: str) -> str:
    """How the address of a site is given, for a sentence."""
    known = [
        path for path in sorted((PROJECT / "configs" / "sites").glob("*.yaml")) if name in read_yaml(path, "sites")
    ]
    if known:
        choices = " or ".join(f"sites={path.stem}" for path in reversed(known))
        return f"{choices}, and its address by sites.{name}.url=http://… where the environment does not tell it"
    return f"+sites.{name}.url=http://…" if _SITE.fullmatch(name) else "another run, for no site can be called that"


def _named(name: str) -> str:
    return f"site {name}" if _SITE.fullmatch(name) else f"a site called {name[:60]!r}"


def _logins(task: Task) -> list[str]:
    """See `browser.login`: the sites stand in the name of the file."""
    state = task.storage_state
    return [] if state is None else Path(state).name.rpartition("_")[0].split(".")


def _without_file(task: Task, folder: Path) -> Task:
    """The same task, which asks for logins but names no file: which one is read here is not for a journal to say."""
    state = task.storage_state
    return task if state is None else replace(task, storage_state=str(folder / "none" / Path(state).name))


def _with(config: Config, place: str, value: Any) -> Config:
    group, _, key = place.rpartition(".")
    if not group:
        return replace(config, **{key: value})
    return replace(config, **{group: replace(getattr(config, group), **{key: value})})


def _matching(pattern: str, kind: type[str | int] = str) -> Callable[[str], str | int]:
    def read(text: str) -> str | int:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError(text)
        return kind(text)

    return read


def _observation_type(text: str) -> str:
    parts_of(text)
    return text


RECORDED: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        "action_set": ActionSetName,
        "observation.type": _observation_type,
        "observation.dialect": ObservationDialect,
        "browser.width": _matching("[1-9][0-9]{1,3}", int),
        "browser.height": _matching("[1-9][0-9]{1,3}", int),
        "browser.locale": _matching("[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}"),
        "browser.timezone": _matching("[A-Za-z0-9_+/-]{1,64}"),
    }
)
"""What is taken from a run folder: how pages were shown to the agent. None of it names a place or a program."""
