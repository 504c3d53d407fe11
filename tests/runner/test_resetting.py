"""`require_reset`: the hook runs when the sites are dirty, with nobody else on them; a schedule passes the gate."""

import asyncio
from typing import Any

import pytest

from harness.errors import ConfigError
from harness.records import Eval, Task
from harness.runner.episode import Job
from harness.runner.resetting import ResetGate
from harness.runner.schedule import Schedule


def a_task(task_id: str = "1", *sites: str, **fields: Any) -> Task:
    return Task(
        task_id=task_id,
        sites=sites or ("shop",),
        intent="x",
        start_urls=("http://shop.localhost/",),
        eval=Eval(eval_types=()),
        **fields,
    )


class Hook:
    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.error: ConfigError | None = None

    async def __call__(self, sites: tuple[str, ...], task: Task) -> None:
        self.calls.append(sites)
        if self.error is not None:
            raise self.error


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_the_first_such_task_is_preceded_by_a_reset_because_nobody_knows_the_state() -> None:
    hook = Hook()
    gate = ResetGate(hook, ["shop", "forum"])
    await gate.enter(0, a_task("1", "shop", require_reset=True))
    assert hook.calls == [("shop",)]


async def test_a_clean_site_is_not_reset_again() -> None:
    hook = Hook()
    gate = ResetGate(hook, ["shop"])
    for number, mutates in enumerate((False, False, True, False)):
        await gate.enter(0, a_task(str(number), require_reset=True, mutates=mutates))
        gate.leave(0)
    assert hook.calls == [("shop",)] * 2


async def test_a_task_that_does_not_ask_is_let_through_and_leaves_the_site_dirty() -> None:
    hook = Hook()
    gate = ResetGate(hook, ["shop"])
    for number, asks in enumerate((True, False, True)):
        await gate.enter(0, a_task(str(number), require_reset=asks, mutates=None if not asks else False))
        gate.leave(0)
    assert hook.calls == [("shop",)] * 2


async def test_nobody_else_is_on_the_sites_while_such_a_task_is_played() -> None:
    hook = Hook()
    gate = ResetGate(hook, ["shop"])
    await gate.enter(0, a_task())
    asking = asyncio.create_task(gate.enter(1, a_task("2", require_reset=True)))
    elsewhere = asyncio.create_task(gate.enter(3, a_task("4", "forum")))
    await turns()
    assert elsewhere.done() and not asking.done() and hook.calls == []
    gate.leave(0)
    await turns()
    assert asking.done() and hook.calls == [("shop",)]
    after = asyncio.create_task(gate.enter(2, a_task("3")))
    await turns()
    assert not after.done()
    gate.leave(1)
    await turns()
    assert after.done()


async def test_a_hook_that_fails_leaves_nothing_held_and_the_site_dirty() -> None:
    hook = Hook()
    hook.error = ConfigError("no")
    gate = ResetGate(hook, ["shop"])
    with pytest.raises(ConfigError):
        await gate.enter(0, a_task(require_reset=True))
    hook.error = None
    await gate.enter(1, a_task(require_reset=True))
    assert hook.calls == [("shop",)] * 2


async def test_a_lane_that_is_lost_while_it_waits_holds_nobody_up() -> None:
    gate = ResetGate(Hook(), ["shop"])
    first, second, third = a_task("1"), a_task("2", require_reset=True), a_task("3")
    schedule = Schedule([Job(task=task) for task in (first, second, third)], gate)
    assert (await schedule.take(0)) == Job(task=first)
    waiting = asyncio.create_task(schedule.take(1))
    await turns()
    waiting.cancel()
    await turns()
    assert schedule.reclaim(1) == Job(task=second)
    schedule.reclaim(0)
    await schedule.settle(0, Job(task=first), over=True)
    assert (await schedule.take(2)) is not None
