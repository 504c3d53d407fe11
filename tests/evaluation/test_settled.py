"""What a worker says of an episode fits a message, whatever its pages have sent."""

from dataclasses import replace

import pytest

from harness.episode.job import Job
from harness.evaluation import worker_main
from harness.journal.index import result_of
from harness.runner.executors import ipc
from harness.runner.executors.worker_messages import SettleJob
from harness.runner.shutdown import ShutdownSignal
from harness.testing import MemoryJournal, a_task
from tests.journal.episodes import whole_episode


async def test_an_outcome_that_fits_no_message_is_left_to_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[bytes] = []
    monkeypatch.setattr(worker_main, "say", said.append)
    outcome = result_of(MemoryJournal(whole_episode()).episode)
    assert outcome is not None
    wire, job = worker_main.Wire(ShutdownSignal()), Job(task=a_task())
    many = tuple(f"http://shop.localhost/{number}/{'x' * 16_000}" for number in range(1_100))
    for effects in (("http://shop.localhost/",), many):
        await wire.settle(0, job, over=True, outcome=replace(outcome, effects=effects))
    small, large = (ipc._decoded(message.partition(b"\n")[2]) for message in said)
    assert isinstance(small, SettleJob) and small.outcome is not None and small.over
    assert isinstance(large, SettleJob) and large.outcome is None and large.over
    assert len(said[1]) < ipc.MOST_SAID
