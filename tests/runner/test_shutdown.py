"""How often a signal has to come until a run stops now."""

import asyncio
import os
import signal

import pytest

from harness.runner import shutdown
from harness.runner.shutdown import ShutdownSignal, stop_signals


@pytest.mark.parametrize(("is_one", "stops_now"), [(True, False), (False, True)])
async def test_a_signal_that_a_wrapper_sends_twice_is_one_request(
    is_one: bool, stops_now: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `timeout` does: to the process, and to its group."""
    monkeypatch.setattr(shutdown, "_ONE_S", 60.0 if is_one else 0.0)
    told: list[str] = []
    stopping = ShutdownSignal(told.append)

    async def plays() -> None:
        with stopping.listening():
            for number in (signal.SIGTERM, signal.SIGINT):
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.01)

    run = asyncio.create_task(plays())
    await asyncio.wait([run])
    assert (stopping(), run.cancelled()) == (True, stops_now)
    assert told == ["stopping after the current steps; press Ctrl-C again to stop now"]


def test_a_hang_up_that_is_ignored_asks_for_no_end() -> None:
    """As under nohup, which workers inherit."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert stop_signals() == [signal.SIGINT, signal.SIGTERM]
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert stop_signals() == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    finally:
        signal.signal(signal.SIGHUP, before)
