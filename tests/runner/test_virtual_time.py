"""Time that passes by itself, and cores that are shared in it."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.runner.virtual_time import Processor, run_virtual


async def finished_at(processor: Processor, begins_s: float, demand_s: float) -> float:
    await asyncio.sleep(begins_s)
    await processor.work(demand_s)
    return asyncio.get_running_loop().time()


async def shared(works: list[tuple[float, float]], cores: float, parallel: float) -> list[float]:
    processor = Processor(cores, parallel=parallel)
    return await asyncio.gather(*(finished_at(processor, *work) for work in works))


def test_a_day_passes_at_once() -> None:
    async def day() -> float:
        await asyncio.sleep(86_400)
        return asyncio.get_running_loop().time()

    begun = time.monotonic()
    assert run_virtual(day()) == 86_400
    assert time.monotonic() - begun < 3_600


def test_whoever_waits_for_nobody_is_told() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="every task waits for another"):
        run_virtual(forever())


def test_alone_a_piece_of_work_takes_the_cores_it_can_use() -> None:
    assert run_virtual(shared([(0.0, 3.0)], 4, 1.5)) == [pytest.approx(2.0)]


def test_cores_are_shared_evenly() -> None:
    # Two cores: one alone for a second, then each has one core until the shorter is done.
    assert run_virtual(shared([(0.0, 4.0), (1.0, 1.0)], 2, 2.0)) == [pytest.approx(2.5), pytest.approx(2.0)]


@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 5)), min_size=1, max_size=12),
    st.floats(0.5, 8),
    st.floats(0.5, 2),
)
def test_no_core_does_more_than_it_can(works: list[tuple[float, float]], cores: float, parallel: float) -> None:
    ends = run_virtual(shared(works, cores, parallel))
    for (begins, demand), end in zip(works, ends, strict=True):
        assert end - begins >= demand / min(cores, parallel) - 1e-6
    assert max(ends) - min(begins for begins, _ in works) >= sum(demand for _, demand in works) / cores - 1e-6
    # And nobody idles while there is work: all of it one after the other is the longest it can take.
    assert (
        max(ends)
        <= max(begins for begins, _ in works) + sum(demand for _, demand in works) / min(cores, parallel) + 1e-6
    )
