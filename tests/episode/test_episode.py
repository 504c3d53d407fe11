"""What an episode records of waiting for its sites, and of a job it was given although it cannot be played."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from typing import Any

import pytest

from harness.actions import Action, Stop, Wait
from harness.api import Decision, Reply
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.errors import BrowserCrashed, SiteUnavailable
from harness.journal.store import RunFolder
from harness.protocols import RawEvidence, RestoreResult, StepResult
from harness.records import DoubtReason, Episode, EpisodeLimits, LiveObservation, SideEffect, Task, Usage
from harness.testing import MemoryJournal, ScriptedPages, play
from tests.journal.episodes import acted, folded
from tests.runner.sites import a_job


class Slow:
    """An environment whose sites had to be waited for."""

    def __init__(self) -> None:
        self.opened = 0

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Any]:
        self.opened += 1
        yield self

    async def restore(self, task: Task, episode: Episode, clean: Collection[str] = ()) -> RestoreResult:
        view = LiveObservation(observation=acted(0).observation, nodes={})
        return RestoreResult(view=view, strategy="reset")

    def take_effects(self) -> tuple[SideEffect, ...]:
        return ()


class Waits:
    """An agent that waits once, and stops."""

    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        action = Stop(answer="") if episode.steps else Wait()
        return Decision(action=action, reply=Reply(text="", model="m", usage=Usage()), messages=())


class Nobody:
    def tell(self, news: Any) -> None:
        return


def deps_of(run: RunFolder, *, stopping: bool) -> EpisodeDeps:
    return EpisodeDeps(
        agent=None,  # type: ignore[arg-type]
        evaluators={},
        artifacts=run.artifacts,
        checkpoints=run.checkpoints,
        limits=EpisodeLimits(),
        config_digest="c",
        seed=0,
        progress=Nobody(),
        stopping=lambda: stopping,
    )


async def test_a_job_that_is_withheld_is_recorded_as_a_failure_and_opens_no_browser(run: RunFolder) -> None:
    job = Job(task=a_job("1").task, withheld="shop is down")
    sites = Slow()
    with run.journal("1") as journal:
        with pytest.raises(SiteUnavailable, match="shop is down"):
            await EpisodeRunner(deps_of(run, stopping=False), job, journal).play(sites.open())
        (failed,) = journal.episode.failures
        assert (failed.boundary, failed.type, failed.message) == ("restore", "SiteUnavailable", "shop is down")
        assert journal.episode.closed is None and sites.opened == 0


async def test_what_an_action_or_the_end_leaves_in_doubt_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unsure(ScriptedPages):
        async def act(self, action: Action) -> StepResult:
            return replace(await super().act(action), doubt="left too early")

        async def gather(self, task: Task) -> RawEvidence:
            return replace(await super().gather(task), doubt="ended too early")

    monkeypatch.setattr("harness.testing.ScriptedPages", Unsure)
    journal = MemoryJournal()
    episode = await play(Waits(), "[1] link 'Tea'", journal=journal)
    assert [(one.reason, one.why) for one in episode.doubts] == [
        (DoubtReason.REOPENED, "left too early"), (DoubtReason.REOPENED, "ended too early"),
    ]  # fmt: skip
    assert episode.closed is not None and not any(one.is_settled for one in episode.doubts)


async def test_a_run_that_is_to_stop_while_the_model_thinks_performs_what_it_decides(run: RunFolder) -> None:
    is_asked = False

    class Thinks(Waits):
        async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
            nonlocal is_asked
            is_asked = True
            return await super().decide(task, episode, view)

    deps = replace(deps_of(run, stopping=False), agent=Thinks(), stopping=lambda: is_asked)
    with run.journal("1") as journal:
        pages = nullcontext(ScriptedPages("[1] link 'Tea'"))
        await EpisodeRunner(deps, Job(task=a_job("1").task), journal).play(pages)
        episode = journal.episode
    assert (len(episode.steps), episode.pending, episode.closed) == (1, None, None)


@pytest.mark.parametrize("lost", [True, False])
async def test_a_decision_says_whether_the_browser_was_lost_before_it(
    monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    class Gone(ScriptedPages):
        is_lost = lost

        async def act(self, action: Action) -> StepResult:
            raise BrowserCrashed("gone")

    monkeypatch.setattr("harness.testing.ScriptedPages", Gone)
    journal = MemoryJournal()
    with pytest.raises(BrowserCrashed):
        await play(Waits(), "[1] link 'Tea'", journal=journal)
    episode = journal.episode
    assert episode.pending is not None and episode.pending.unsent is lost
    # Also where a kill comes before the record of the failure.
    assert episode.opened is not None and episode.arrival is not None
    assert folded([episode.opened, episode.arrival, episode.pending]).is_unsent is lost
