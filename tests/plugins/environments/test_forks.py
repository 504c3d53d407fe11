"""`POST /fork`: further episodes that begin at a step of one, on the demo's sites, in a real browser."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from harness.runs import Run
from tests.plugins.environments.conftest import Server, client
from tests.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.browser]


async def forked(server: Server, **wanted: Any) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server.url, timeout=600) as http:
        return await http.post("/fork", json=wanted)


@pytest.mark.slow
async def test_forks_begin_at_the_step_of_an_episode_that_goes_on_and_part_from_there(server: Server) -> None:
    async with client(server) as one, client(server) as other:
        first = (await one.reset(task="0", seed=5))["observation"]
        at_step = await one.step("scroll [down]", request_id="a")
        answer = await forked(server, episode_id=first["episode_id"], step=1, n=3)
        assert answer.status_code == 200, answer.text
        found = answer.json()["episodes"]
        assert len({each["trial"] for each in found} | {first["trial"]}) == 4
        later = await one.step("goto [about:blank]", request_id="b")
        for each in found[:2]:
            begun = await other.reset(episode_id=each["episode_id"], resume=True)
            seen = begun["observation"]
            assert (seen["step"], seen["trial"], seen["task"]) == (1, each["trial"], "0")
            assert (seen["text"], seen["url"]) == (at_step["observation"]["text"], at_step["observation"]["url"])
            # The ids of the other episode's requests are free here.
            parted = await other.step("scroll [up]", request_id="a")
            assert parted["observation"]["step"] == 2 and parted["observation"]["error"] == ""
            assert (await other.step("stop [x]"))["done"]
        assert later["observation"]["step"] == 2 and (await one.step("stop [y]"))["done"]
    await until(lambda: server.health()["active_sessions"] == 0)
    run = Run(server.folder)
    for each in found[:2]:
        record = run.episode("0", each["trial"]).record
        assert record.inherited == 1 and record.opened is not None and record.opened.seed == 5
        assert record.opened.fork is not None and record.opened.fork.trial == first["trial"]
        assert server.actions("0", each["trial"]) == ["scroll [down]", "scroll [up]"]


@pytest.mark.slow
async def test_a_fork_is_there_after_the_server_was_killed(serve: Callable[..., Server]) -> None:
    server = serve("task=demo", "environments=1", "--grace=0.2")
    async with client(server) as one:
        await one.reset(task="12", episode_id="x")
        await one.step("scroll [down]")
        await one.step("scroll [up]")
    (found,) = (await forked(server, episode_id="x", step=2)).json()["episodes"]
    server.kill()
    server.start()
    async with client(server) as one:
        assert (await one.reset(episode_id=found["episode_id"], resume=True))["observation"]["step"] == 2
        assert (await one.step("scroll [down]"))["observation"]["step"] == 3
    again = await forked(server, episode_id=found["episode_id"], step=3)
    assert again.status_code == 200, "a fork can be forked"
    async with client(server) as one:
        again_id = again.json()["episodes"][0]["episode_id"]
        while (answer := await one.ask("reset", {"episode_id": again_id, "resume": True}))["type"] == "error":
            assert answer["data"]["code"] == "CAPACITY_REACHED"
        assert answer["data"]["observation"]["step"] == 3


@pytest.mark.slow
async def test_an_episode_that_has_ended_can_be_forked_before_its_end(server: Server) -> None:
    async with client(server) as one:
        first = (await one.reset(task="1"))["observation"]
        assert (await one.step("stop [x]"))["done"]
        (found,) = (await forked(server, episode_id=first["episode_id"], step=0)).json()["episodes"]
        begun = await one.reset(episode_id=found["episode_id"], resume=True)
        assert begun["observation"]["text"] == first["text"] and not begun["done"]
    await until(lambda: server.health()["active_sessions"] == 0)


@pytest.mark.slow
async def test_what_cannot_be_forked_is_one_sentence(server: Server) -> None:
    async with client(server) as one:
        episode = (await one.reset(task="2"))["observation"]["episode_id"]
        known = {"episode_id": episode, "step": 0}
        for wanted, words in (
            ({"step": 0}, "fork: episode_id is missing"),
            ({"episode_id": episode}, "fork: step is missing"),
            ({"episode_id": "unknown", "step": 0}, "there is no episode 'unknown'"),
            ({"episode_id": "../x", "step": 0}, "episode_id must be"),
            ({**known, "step": -1}, "step must be a whole number"),
            ({**known, "step": True}, "step must be a whole number"),
            ({**known, "step": 9}, "no step after 0; give a step from 0 to 0"),
            ({**known, "n": 0}, "n must be a whole number from 1 to 256"),
            ({**known, "n": 257}, "n must be a whole number from 0 to 256"),
            ({**known, "frob": 1}, "fork: 'frob' is unknown"),
        ):
            refused = await forked(server, **wanted)
            assert refused.status_code == 422, (wanted, refused.text)
            message = refused.json()["detail"]["message"]
            assert words in message and str(server.folder) not in message, (wanted, message)
        before = sorted(server.folder.glob("2.*"))
        await asyncio.gather(*(forked(server, episode_id=episode, step=0) for _ in range(4)))
        assert len(sorted(server.folder.glob("2.*"))) == len(before) + 4, "each has a trial of its own"
    await until(lambda: server.health()["active_sessions"] == 0)
