"""Performs a recorded episode again, for people who debug: no model is asked, and nothing is written in the run.

Unlike a restore, it does not stop at the first difference: every step says how much of the recorded page came back. The
sites a run started itself are started again; others are those the run was on, reset first where they can be.
"""

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.actions import describe
from harness.browser.comparing import similarity
from harness.browser.restoring import aim
from harness.compose.crew import chromium
from harness.compose.deployment import Deployment
from harness.compose.game import Game
from harness.config import PROJECT, Config
from harness.errors import ConfigError
from harness.journal.store import RunFolder
from harness.protocols import Environment
from harness.records import Acted, Episode, Opened, Refused, View
from harness.runner.stopping import Stopping
from harness.sites.launching import launched


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """How well one step came back."""

    step: int
    """0 = the arrival."""
    action: str
    similarity: float | None
    """In [0, 1], 1.0 = identical text; None = it could not be performed again."""
    note: str = ""

    def is_faithful(self, least: float) -> bool:
        return self.similarity is not None and self.similarity >= least and not self.note


async def replayed(config: Config, episode: Episode) -> AsyncIterator[Fidelity]:
    """The arrival and every step of the newest attempt, one after the other."""
    opened, arrival = episode.opened, episode.arrival
    if opened is None or arrival is None:
        raise ConfigError("the journal holds no arrival yet: there is nothing to perform again")
    async with AsyncExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="cairn-replay-")))
        env = await _environment(config, opened, folder, closing)
        view = (await env.restore(opened.task, Episode())).view
        yield _compared(0, "arrival", view, arrival)
        before = arrival
        for number, step in enumerate(episode.steps, start=1):
            words = describe(step.decided.action)
            action = aim(step.decided.action, view, before.observation)
            before = step.acted
            if action is None:
                if not isinstance(step.acted.outcome, Refused):
                    yield Fidelity(
                        step=number, action=words, similarity=None, note="its element is not there this time"
                    )
                    return
                continue
            landed = await env.act(action)
            view = landed.view
            was, now = type(step.acted.outcome), type(landed.outcome)
            note = "" if was is now else f"{now.kind} this time, {was.kind} in the record"
            yield _compared(number, words, view, step.acted, note=note)


def _compared(number: int, words: str, view: View, recorded: Acted, *, note: str = "") -> Fidelity:
    alike = similarity(view.observation, recorded.observation)
    return Fidelity(step=number, action=words, similarity=alike, note=note)


async def _environment(config: Config, opened: Opened, folder: Path, closing: AsyncExitStack) -> Environment:
    """Sites and browser; they end with `closing`."""
    port = None
    if config.sites.get("embedded"):
        port = await closing.enter_async_context(launched("harness.sites", log=folder / "sites.log"))
    run = RunFolder.open(folder, held=False)
    digest = opened.config_digest
    game = Game(config=config, run=run, tasks=(opened.task,), config_digest=digest, stopping=Stopping())
    pool = await closing.enter_async_context(chromium(game, Deployment(config, port)))
    return await closing.enter_async_context(pool.open(opened.task, 0, opened.instances))


def read_settings(folder: Path, *, headed: bool, slow_mo_ms: float) -> Config:
    """The settings a run was made with; what was taken out of them as secret comes from the project's own files.

    Raises:
        ConfigError: The run folder has none, or they are not of this version.
    """
    path = folder / "config.yaml"
    try:
        tree = OmegaConf.merge(OmegaConf.structured(Config), OmegaConf.load(path))
        assert isinstance(tree, DictConfig)
        _put_logins_back(tree)
        tree.browser.headless = not headed
        tree.browser.slow_mo_ms = slow_mo_ms
        config = OmegaConf.to_object(tree)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}; give a journal in its run folder") from error
    except OmegaConfBaseException as error:
        raise ConfigError(f"{path} is not of this version: {' '.join(str(error).split())}") from error
    assert isinstance(config, Config)
    return config


def _put_logins_back(tree: DictConfig) -> None:
    for path in sorted((PROJECT / "configs" / "sites").glob("*.yaml")):
        known = OmegaConf.load(path)
        for name, site in tree.sites.items():
            if isinstance(site, DictConfig) and site.get("login") and OmegaConf.select(known, f"{name}.login"):
                site.login.fields = known[name].login.fields
