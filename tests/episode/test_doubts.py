"""Doubts that are due are recorded once, wherever the process is killed between two records."""

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from harness.actions import Stop
from harness.api import Decision, Reply
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.protocols import RestoreResult
from harness.records import (
    Decided,
    Doubt,
    DoubtReason,
    Episode,
    EpisodeLimits,
    Fork,
    LiveObservation,
    Opened,
    Record,
    Resumed,
    Task,
)
from harness.testing import MemoryJournal, ScriptedPages
from tests.journal.episodes import acted, decided, failed, opened, task


class Killed(BaseException):
    """Stands for a SIGKILL: nothing is recorded after it."""


class KilledAfter(MemoryJournal):
    """The process dies once a record of that kind is durable."""

    def __init__(self, records: list[Record], kind: type[Record]) -> None:
        super().__init__(records)
        self.kind = kind

    def append(self, record: Record) -> Episode:
        if self.records and isinstance(self.records[-1], getattr(self, "kind", ())):
            raise Killed
        return super().append(record)


class Stops:
    async def decide(self, task: Task, episode: Episode, view: LiveObservation) -> Decision:
        return Decision(action=Stop(answer=""), reply=Reply(text=""), messages=())


class FromCheckpoint(ScriptedPages):
    async def restore(self, task: Task, episode: Episode, clean: Collection[str] = ()) -> RestoreResult:
        restored = await super().restore(task, episode, clean)
        return replace(restored, strategy="checkpoint") if restored.strategy == "replay" else restored


class Asked(FromCheckpoint):
    """Keeps which answers of sites a restore is told of."""

    asked: Mapping[str, str] | None = None

    async def restore(self, task: Task, episode: Episode, clean: Collection[str] = ()) -> RestoreResult:
        if episode.pending is not None:
            self.asked = episode.pending.effects_seen
        return await super().restore(task, episode, clean)


class Nobody:
    def tell(self, news: Any) -> None:
        return


async def start(
    journal: MemoryJournal, *leftovers: str, used_since: tuple[str, ...] = (), pages: ScriptedPages | None = None
) -> None:
    artifacts = MemoryArtifacts()
    deps = EpisodeDeps(
        agent=Stops(),
        evaluators={},
        artifacts=artifacts,
        checkpoints=artifacts,
        limits=EpisodeLimits(),
        config_digest="c",
        seed=0,
        progress=Nobody(),
        stopping=lambda: False,
    )
    job = Job(task=task(), leftovers=leftovers, used_since=used_since)
    await EpisodeRunner(deps, job, journal).play(nullcontext(pages or FromCheckpoint("page")))


def doubts(journal: MemoryJournal) -> list[str]:
    return [one.why for one in journal.records if isinstance(one, Doubt)]


DIVERGED = replace(failed(), type="EnvironmentDiverged")
FORKED = replace(
    opened(why="fork"), fork=Fork(run="parent", trial=0, attempt=1, step=1, origin="o"), at=10.0
)  # fmt: skip


@pytest.mark.parametrize("killed_after", [Opened, Doubt])
async def test_a_new_attempt_on_sites_that_were_not_reset_is_doubted_once(killed_after: type[Record]) -> None:
    before: list[Record] = [opened(), acted(0), decided(1), acted(1), DIVERGED]
    journal = KilledAfter(before, killed_after)
    with pytest.raises(Killed):
        await start(journal, "shop")
    again = MemoryJournal(journal.records)
    await start(again, "shop")
    assert doubts(again) == ["attempt 2 began on shop without a reset; an earlier attempt may have changed it"]
    assert again.episode.closed is not None


async def test_an_attempt_that_has_begun_is_not_doubted_for_what_it_did_itself() -> None:
    journal = KilledAfter([opened(), acted(0), DIVERGED], type(acted(0)))
    with pytest.raises(Killed):
        await start(journal)
    again = MemoryJournal(journal.records)
    await start(again, "shop")
    assert doubts(again) == []


@pytest.mark.parametrize("killed_after", [Resumed, Doubt])
async def test_a_fork_on_a_site_as_its_parent_left_it_is_doubted_once(killed_after: type[Record]) -> None:
    journal = KilledAfter([FORKED, acted(0), decided(1), acted(1)], killed_after)
    with pytest.raises(Killed):
        await start(journal)
    again = MemoryJournal(journal.records)
    await start(again)
    (why,) = doubts(again)
    assert why.startswith("forked from step 1 of parent on a site that was not reset")
    assert [one.reason for one in again.episode.doubts] == [DoubtReason.EARLIER_ATTEMPT]


async def test_a_further_attempt_of_a_fork_is_doubted_although_its_first_steps_are_inherited() -> None:
    journal = KilledAfter([FORKED, acted(0), decided(1), acted(1), DIVERGED], Opened)
    with pytest.raises(Killed):
        await start(journal, "shop")
    again = MemoryJournal(journal.records)
    await start(again, "shop")
    own, forked = doubts(again)
    assert own.startswith("attempt 2 began on shop without a reset") and forked.startswith("forked from step 1")


async def test_what_a_site_had_answered_is_not_asked_about_once_other_jobs_changed_it() -> None:
    """Its answer would be another one, and prove nothing of the pending action."""
    journal = MemoryJournal([opened(), acted(0), replace(decided(1), effects_seen={"shop": "a", "forum": "a"})])
    pages = Asked("page")
    await start(journal, pages=pages, used_since=("shop",))
    assert pages.asked == {"forum": "a"}
    pending = next(one for one in journal.records if isinstance(one, Decided))
    assert pending.effects_seen == {"shop": "a", "forum": "a"}, "the journal stays as it is"
