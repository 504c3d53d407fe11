"""Time in which the process did not run is nobody's work."""

import asyncio
import signal
import sys
import time

import pytest

from harness.working_time import GAP_S, LOOKS_EVERY_S, WorkingTime

STOPPED_S = 3.0
SCRIPT = """
import sys, time
from harness.working_time import working_s
begun, monotonic = working_s(), time.monotonic()
print("measuring", flush=True)
sys.stdin.readline()
print(working_s() - begun, time.monotonic() - monotonic)
"""


@pytest.mark.slow
@pytest.mark.integration
async def test_a_process_that_was_stopped_is_not_charged_for_it() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SCRIPT), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    while time.monotonic() < begun + STOPPED_S:  # noqa: ASYNC110 (it is the time that is waited for)
        await asyncio.sleep(0.05)
    process.send_signal(signal.SIGCONT)
    said, _ = await process.communicate(b"\n")
    worked_s, passed_s = map(float, said.split())
    assert passed_s >= STOPPED_S
    assert worked_s <= passed_s - STOPPED_S + 2 * LOOKS_EVERY_S


WAITING = """
import asyncio, time
from harness.working_time import run_in_working_time
async def wait():
    monotonic = time.monotonic()
    print("waiting", flush=True)
    async with asyncio.timeout(2.5):
        await asyncio.sleep(1.0)
    print(time.monotonic() - monotonic)
run_in_working_time(wait())
"""


@pytest.mark.integration
async def test_no_timeout_counts_the_time_in_which_the_process_was_stopped() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", WAITING, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    await process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    while time.monotonic() < begun + STOPPED_S:  # noqa: ASYNC110 (it is the time that is waited for)
        await asyncio.sleep(0.05)
    process.send_signal(signal.SIGCONT)
    said, _ = await process.communicate()
    assert process.returncode == 0 and float(said) >= STOPPED_S


@pytest.mark.parametrize(
    ("gap_s", "used_s", "counted_s"),
    [
        (0.5, 0.0, 0.5),
        (GAP_S, 0.0, GAP_S),
        (60.0, 0.0, LOOKS_EVERY_S),
        (60.0, 20.0, 20.0 + LOOKS_EVERY_S),
        (60.0, 240.0, 60.0),
    ],
    ids=["a look", "a slow one", "stopped", "partly at work", "four threads at work"],
)
def test_only_a_long_gap_without_work_is_left_out(gap_s: float, used_s: float, counted_s: float) -> None:
    now = {"monotonic": 100.0, "processor": 7.0}
    clock = WorkingTime(lambda: now["monotonic"], lambda: now["processor"])
    begun = clock()
    now["monotonic"] += gap_s
    now["processor"] += used_s
    assert clock() - begun == pytest.approx(counted_s)
    now["monotonic"] += 0.1
    assert clock() - begun == pytest.approx(counted_s + 0.1)
