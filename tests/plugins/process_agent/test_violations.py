"""What a process tries and may not do: recorded once, counted, and bounded."""

from pathlib import Path

import pytest

from harness.errors import StorageError
from harness.journal.index import result_of
from harness.plugins.process_agent.violations import MOST
from harness.records import Episode, Guarded, PolicyViolation, Record
from harness.testing import MemoryJournal, play
from tests.plugins.process_agent.processes import HEAD, agent_of

pytestmark = pytest.mark.integration


async def test_a_request_with_another_token_is_recorded_once_and_counted(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + (
        "for number in range(5): print(post('/actions/stop', {}, token='forged')[0], post('/secret', {}, 'x')[0])\n"
        "act('stop', answer='x')"
    )
    async with agent_of(script, tmp_path) as agent:
        episode = await play(agent, journal=journal)
    said = [(one.guarded, one.what, one.step) for one in episode.violations]
    assert said == [
        (Guarded.GATEWAY, "POST /actions/stop with a token that is not of this episode", 1),
        (Guarded.GATEWAY, "POST /secret with a token that is not of this episode", 1),
    ]
    assert episode.exited[0].violations == 10 and episode.exited[0].sandbox == "none"
    found = result_of(episode)
    assert found is not None and found.violations == 2 and found.is_unconfined


@pytest.mark.slow
async def test_a_thousand_different_tries_do_not_fill_the_journal(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + (
        "for number in range(1000): post('/%d/%s' % (number, 'x' * 3000), {}, token='forged')\nact('stop', answer='x')"
    )
    async with agent_of(script, tmp_path) as agent:
        episode = await play(agent, journal=journal)
    assert len(episode.violations) == MOST and episode.exited[0].violations == 1000
    assert max(len(one.what) for one in episode.violations) <= 300


async def test_a_violation_that_cannot_be_recorded_stops_the_run(tmp_path: Path) -> None:
    class Full(MemoryJournal):
        def append(self, record: Record) -> Episode:
            if isinstance(record, PolicyViolation):
                raise StorageError("the disk is full")
            return super().append(record)

    script = HEAD + "post('/task', {}, token='forged')\ntime.sleep(600)"
    async with agent_of(script, tmp_path) as agent:
        with pytest.raises(StorageError):
            await play(agent, journal=Full())
