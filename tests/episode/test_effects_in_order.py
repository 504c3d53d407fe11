"""What is recorded of effects when something ends in the middle: none moves to another step, none loses its doubt."""

from typing import Any

import pytest

from harness.browser.session.in_doubt import sent_by_pending
from harness.episode.recorder import EpisodeDeps, Recorder
from harness.errors import BrowserCrashed
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.records import Doubt, Episode, EpisodeLimits, Late, Record, SideEffect
from harness.testing import MemoryJournal
from tests.journal.episodes import URL, acted, decided, opened

ANSWERED = SideEffect(method="POST", url=f"{URL}order", status=200)


class Nobody:
    def tell(self, news: Any) -> None:
        return


class Killed(BaseException):
    """Stands for a SIGKILL."""


class OneMore(MemoryJournal):
    """The process dies after the next record."""

    def append(self, record: Record) -> Episode:
        if len(self.records) > 2:
            raise Killed
        return super().append(record)


def recorder_of(journal: MemoryJournal, *, stopping: bool = False) -> Recorder:
    artifacts = MemoryArtifacts()
    deps = EpisodeDeps(
        agent=None,  # type: ignore[arg-type]
        evaluators={},
        artifacts=artifacts,
        checkpoints=artifacts,
        limits=EpisodeLimits(),
        config_digest="c",
        seed=0,
        progress=Nobody(),
        stopping=lambda: stopping,
        clock=lambda: 9.0,
    )
    return Recorder(deps, journal, EpisodeLimits(), spent=lambda: None)


async def test_what_an_action_sent_stays_its_own_when_it_breaks_while_the_run_is_stopping() -> None:
    journal = MemoryJournal([opened(), acted(0), decided(1)])
    recorder = recorder_of(journal, stopping=True)
    recorder.note((ANSWERED,))
    await recorder.failure(BrowserCrashed("gone"), "act")
    episode = journal.episode
    assert sent_by_pending(episode) == [ANSWERED], "its answer proves that the action was performed"
    assert episode.late == () and episode.sent_after(0) == ()
    assert [failed.shared for failed in episode.failures] == [True], "it uses up no attempt"


@pytest.mark.parametrize("boundary", ["restore", "decide", "act"])
async def test_a_run_that_is_stopping_records_no_failure_without_effects(boundary: str) -> None:
    journal = MemoryJournal([opened(), acted(0), decided(1)])
    await recorder_of(journal, stopping=True).failure(BrowserCrashed("gone"), boundary)
    assert journal.episode.failures == () and len(journal.records) == 3


async def test_effects_beside_an_action_are_late_while_the_run_is_stopping() -> None:
    journal = MemoryJournal([opened(), acted(0)])
    recorder = recorder_of(journal, stopping=True)
    recorder.note((ANSWERED,))
    await recorder.failure(BrowserCrashed("gone"), "decide")
    assert [(late.step, late.replayed) for late in journal.episode.late] == [(0, True)]


async def test_the_doubt_that_something_was_typed_twice_is_durable_before_what_it_is_about() -> None:
    journal = OneMore([opened(), acted(0)])
    recorder = recorder_of(journal)
    recorder.typed_again = True
    recorder.note((ANSWERED,))
    with pytest.raises(Killed):
        await recorder.late()
    assert [type(record) for record in journal.records[2:]] == [Doubt]


async def test_both_are_recorded_once() -> None:
    journal = MemoryJournal([opened(), acted(0)])
    recorder = recorder_of(journal)
    recorder.typed_again = True
    for _ in range(2):
        recorder.note((ANSWERED,))
        await recorder.late()
    assert [type(record) for record in journal.records[2:]] == [Doubt, Late, Late]
