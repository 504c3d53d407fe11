"""Leases: shared or alone, all at once, in order, and given up when the one who waits is gone."""

import asyncio
from collections.abc import Awaitable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.runner.leases import Lease, Leases


async def asked(leases: Leases, *instances: str, alone: bool = False) -> asyncio.Task[Lease]:
    task = asyncio.create_task(leases.acquire(instances, alone=alone))
    await turns()
    return task


async def turns() -> None:
    """Let everything that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_many_share_and_one_alone_waits_for_all_of_them() -> None:
    leases = Leases()
    one, two = await leases.acquire(["shop"], alone=False), await leases.acquire(["shop"], alone=False)
    alone = await asked(leases, "shop", alone=True)
    leases.release(one)
    await turns()
    assert not alone.done()
    leases.release(two)
    await turns()
    assert alone.done()


async def test_other_instances_are_not_waited_for() -> None:
    leases = Leases()
    await leases.acquire(["shop"], alone=True)
    assert (await asked(leases, "forum", alone=True)).done()


async def test_nobody_overtakes_one_that_waits_to_be_alone() -> None:
    leases = Leases()
    reader = await leases.acquire(["shop"], alone=False)
    alone = await asked(leases, "shop", "forum", alone=True)
    later = await asked(leases, "forum")
    assert not later.done()
    leases.release(reader)
    await turns()
    assert alone.done() and not later.done()
    leases.release(alone.result())
    await turns()
    assert later.done()


async def test_giving_up_the_place_lets_the_others_on() -> None:
    leases = Leases()
    await leases.acquire(["shop"], alone=False)
    alone = await asked(leases, "shop", alone=True)
    later = await asked(leases, "shop")
    alone.cancel()
    await turns()
    assert later.done()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from("abc"), min_size=1), st.booleans(), st.integers(0, 4)),
        min_size=1,
        max_size=12,
    )
)
def test_everybody_gets_a_turn_and_nobody_alone_has_company(wishes: list[tuple[set[str], bool, int]]) -> None:
    leases, present = Leases(), list[tuple[set[str], bool]]()

    async def use(instances: set[str], alone: bool, turns_taken: int) -> None:
        lease = await leases.acquire(instances, alone=alone)
        for others, theirs in present:
            assert not (instances & others) or not (alone or theirs)
        mine = (instances, alone)
        present.append(mine)
        for _ in range(turns_taken):
            await asyncio.sleep(0)
        present.remove(mine)
        leases.release(lease)

    async def play() -> None:
        users: list[Awaitable[None]] = [use(*wish) for wish in wishes]
        async with asyncio.timeout(10):
            await asyncio.gather(*users)

    asyncio.run(play())


@pytest.mark.parametrize("times", [1, 2])
async def test_releasing_twice_is_releasing_once(times: int) -> None:
    leases = Leases()
    lease = await leases.acquire(["shop"], alone=True)
    for _ in range(times):
        leases.release(lease)
    assert (await asked(leases, "shop", alone=True)).done()
    assert not (await asked(leases, "shop", alone=True)).done()
