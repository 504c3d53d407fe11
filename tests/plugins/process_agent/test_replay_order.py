"""What a process asks for while a recorded step is compared waits until that is done, whatever is being done for it."""

import asyncio
from types import SimpleNamespace
from typing import Any

from harness.actions import Cdp
from harness.plugins.process_agent.cdp.replay import Replay
from harness.plugins.process_agent.recording import Recording


def a_step(number: int) -> Any:
    return SimpleNamespace(decided=SimpleNamespace(action=Cdp(number=number, first="click")), acted=number)


async def test_a_request_to_the_model_may_come_while_the_process_is_given_a_step() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()
    reached: Any = SimpleNamespace(similarity=(), view=None)

    async def deliver(step: Any) -> None:
        begun.set()
        await may_end.wait()  # as where a picture is read for it

    async def follow(acted: Any, *, is_last: bool) -> Any:
        return reached

    episode: Any = SimpleNamespace(
        steps=(a_step(1),), asked=(), answered={}, pending=None, commands_of=lambda number: ()
    )
    recording = Recording(episode)
    deps: Any = SimpleNamespace(journal=SimpleNamespace(episode=episode), recording=recording, divergence=None)
    browser: Any = SimpleNamespace(state=lambda: 0, follow=follow)
    replay = Replay(deps, browser, deliver)
    playing = asyncio.create_task(replay.play(reached))
    await begun.wait()
    compared = asyncio.ensure_future(recording.compared())
    may_end.set()  # what waits for it goes on after `compared` has begun
    await asyncio.gather(playing, compared)
    assert replay.is_over and recording.is_used_up
