"""Who holds what when sessions, lanes and the server end at awkward moments: no slot stays taken, nobody waits in vain."""

import asyncio
import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from harness.actions import CairnActionSet
from harness.choices import Durability
from harness.errors import StorageError, UnsafeFile
from harness.journal.store import RunFolder
from harness.plugins.environments.agent import ClientAgent
from harness.plugins.environments.clients.connection import URL, Connection, EnvironmentFailed
from harness.plugins.environments.clients.trl import CairnTools, reward
from harness.plugins.environments.hub import Waiting
from harness.plugins.environments.ledger import NAME, Ledger
from harness.plugins.environments.problem import Problem
from harness.plugins.environments.requests import read_step
from harness.plugins.environments.slots import Patience
from harness.plugins.environments.wire import Order, Page, Question
from harness.records import CloseReason, EpisodeLimits
from harness.settings.observation import ObservationSettings
from harness.testing import ScriptedModel, play
from tests.journal.episodes import acted, decided, failed, opened
from tests.plugins.environments.stand import Stand, stand
from tests.reports.runs import task
from tests.waiting import until

_CREATE = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create", "params": {"task": "0"}}


async def rpc(there: Stand, path: str, method: str, **params: Any) -> Any:
    """The result of a JSON-RPC request over HTTP."""
    async with httpx.AsyncClient(base_url=there.url, timeout=600) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await http.post(path, json=body)).json().get("result")


async def test_a_reset_that_is_refused_leaves_the_session_its_episode(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, there.client() as one:
        await one.reset(task="0", episode_id="x")
        for wrong in (
            {"task": "nope"},
            {"episode_id": "y", "resume": True},
            {"episode_id": "x"},
            {"task": "0", "trial": 0},
        ):
            assert (await one.refused("reset", wrong))["code"] == "VALIDATION_ERROR"
        assert (await one.step("scroll [down]"))["observation"]["episode_id"] == "x"


async def test_an_episode_whose_task_is_not_served_any_more_is_refused(tmp_path: Path) -> None:
    """The run folder may have been served with another `task.ids` before."""
    entry = {"episode_id": "x", "task_id": "9", "trial": 0, "seed": None}
    (tmp_path / NAME).write_text(json.dumps(entry) + "\n")
    async with stand(tmp_path) as there, there.client() as one, httpx.AsyncClient(base_url=there.url) as http:
        async with asyncio.timeout(300):
            refused = await one.refused("reset", {"episode_id": "x", "resume": True})
        assert refused["code"] == "VALIDATION_ERROR" and "task 9" in refused["message"]
        assert (await http.post("/fork", json={"episode_id": "x", "step": 0})).status_code == 422
        assert there.served.slots.taken == 0
        await one.reset(task="0")


def test_lines_that_are_no_entries_are_passed_over(tmp_path: Path) -> None:
    entry = {"episode_id": "x", "task_id": "9", "trial": 0, "seed": None}
    odd = ({"episode_id": ["x"]}, {"task_id": ["9"]}, {"trial": "z"}, {"seed": "z"}, {"more": 1})
    lines = [json.dumps(entry), *(json.dumps(entry | wrong) for wrong in odd), "[" * 100_000, "7", ""]
    (tmp_path / NAME).write_text("\n".join(lines))
    with Ledger(tmp_path) as ledger:
        assert [entry.episode_id for entry in ledger.entries.values()] == ["x"]


def test_a_ledger_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    with pytest.raises(UnsafeFile):
        Ledger(tmp_path)


async def test_who_waits_for_an_environment_is_told_that_the_server_ends(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, there.client() as one, there.client() as other:
        await one.reset(task="0")
        waits = asyncio.create_task(other.refused("reset", {"task": "1"}))
        await until(lambda: there.served.slots.waiting == 1)
        there.served.stop()
        assert (await waits)["failure_class"] == "shutdown"
        await until(lambda: there.served.slots.taken == 0)


async def test_who_waits_for_an_environment_is_told_so_before_the_episodes_there_have_ended(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, there.client() as one, there.client() as other:
        await one.reset(task="0")
        there.lanes.held = True
        await one.refused("step", {"action_str": "scroll [down]", "timeout_s": 0.01})
        waits = asyncio.create_task(other.refused("reset", {"task": "1"}))
        await until(lambda: there.served.slots.waiting == 1)
        there.served.stop()
        async with asyncio.timeout(60):
            assert (await waits)["failure_class"] == "shutdown"
        assert there.served.slots.taken == 1


async def test_an_episode_that_cannot_be_queued_is_refused_and_can_be_resumed(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, there.client() as one:
        there.lanes.refusal = StorageError("the disk is full")
        async with asyncio.timeout(300):
            refused = await one.refused("reset", {"task": "0", "episode_id": "x"})
        assert refused["failure_class"] == "StorageError" and "the disk is full" in refused["message"]
        assert there.served.slots.taken == 0 and not there.served._queueing
        async with asyncio.timeout(300):
            assert (await one.reset(episode_id="x", resume=True))["observation"]["episode_id"] == "x"


async def test_a_step_that_is_asked_for_again_ends_with_why_its_attempt_did(tmp_path: Path) -> None:
    page = Page(text="", url="", title="", tabs=(), notices=())
    async with stand(tmp_path) as there, there.client() as one:
        await one.reset(task="0")
        there.lanes.held = True
        step = {"action_str": "scroll [down]", "request_id": "r"}
        assert (await one.refused("step", {**step, "timeout_s": 0.01}))["failure_class"] == "timeout"
        again = asyncio.create_task(one.refused("step", step))
        [play] = there.served._plays.values()
        await until(lambda: play.changed._waiters)
        question = Question(
            task_id="0",
            trial=0,
            attempt=2,
            goal="",
            steps=0,
            page=page,
            image=None,
            reward=None,
            refused="",
            doubts=(),
        )
        there.served.asked(Waiting(question=question))
        assert (await again)["failure_class"] == "EnvironmentDiverged"


@pytest.mark.parametrize("has_page", [True, False])
async def test_an_attempt_that_began_while_nobody_could_be_told_is_an_error_each_time(
    tmp_path: Path, has_page: bool
) -> None:
    """Its client would go on with pages that it has not seen, and perform again what was answered."""
    step = {"action_str": "click [1]", "request_id": "r1"}
    first = replace(decided(1), memory=read_step(step, CairnActionSet()).order.memory)
    diverged = (replace(failed(), type="EnvironmentDiverged"), opened(2, why="diverged", of=task("0")))
    with RunFolder.open(tmp_path, durability=Durability.none) as run, run.journal("0") as journal:
        for record in (opened(of=task("0")), acted(0), first, acted(1), *diverged, *((acted(0),) if has_page else ())):
            journal.append(record)
    (tmp_path / NAME).write_text(json.dumps({"episode_id": "x", "task_id": "0", "trial": 0, "seed": None}) + "\n")
    async with stand(tmp_path) as there:
        there.lanes.attempt = 2
        for _ in range(2):
            async with there.client() as one:
                refused = await one.refused("reset", {"episode_id": "x", "resume": True})
                assert refused["failure_class"] == "EnvironmentDiverged" and refused["mask_sample"] and refused["done"]
                assert (await one.refused("step", step))["failure_class"] == "EnvironmentDiverged"
        await until(lambda: there.served.slots.taken == 0)
        assert all("leave" in told for told in there.lanes.orders)


async def test_an_episode_that_is_left_is_not_waited_for_when_no_worker_comes_up(tmp_path: Path) -> None:
    async with stand(tmp_path) as there:
        async with there.client() as one:
            await one.reset(task="0")
            there.lanes.held = True
            asking = asyncio.create_task(one.ask("step", {"action_str": "scroll [down]"}))
            await until(lambda: there.lanes.orders)
            one.socket.transport.abort()
            await asyncio.gather(asking, return_exceptions=True)
        [play] = there.served._plays.values()
        await until(lambda: play.leaving)
        there.lanes.queued.append(play.entry.place)  # its worker died
        there.served.stalled("no worker comes up")
        assert there.served.slots.taken == 0


async def test_the_state_of_an_episode_says_what_a_step_would(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, there.client() as one:
        await one.reset(task="0")
        await one.step("scroll [down]")
        [play] = there.served._plays.values()
        assert play.waiting is not None
        there.served.hung_up(play.waiting)  # its worker died; the next one is being started
        assert (await one.ask("state"))["data"]["step_count"] == 1
        there.lanes.queued.append(play.entry.place)
        there.served.stalled("no worker comes up")
        lost = await one.refused("state")
        assert lost["failure_class"] == "WorkerLost" and lost["mask_sample"]
        assert lost == await one.refused("step", {"action_str": "scroll [down]"})


async def test_a_task_of_cube_that_is_closed_while_its_reset_waits_takes_no_environment(tmp_path: Path) -> None:
    async with stand(tmp_path) as there:
        [config] = await rpc(there, "/cube", "cube/task_configs", task_id="1")
        address = await rpc(there, "/cube", "cube/spawn", task_config=config)
        async with there.client() as one:
            await one.reset(task="0")
            resetting = asyncio.create_task(rpc(there, address, "cube/reset"))
            await until(lambda: there.served.slots.waiting == 1)
            await rpc(there, address, "cube/close")
        await resetting
        await until(lambda: there.served.slots.taken == 0)


async def test_a_session_whose_client_left_before_it_had_its_name_is_given_back(tmp_path: Path) -> None:
    for path, body in (("/nemo/reset", {"task": "0"}), ("/mcp", _CREATE)):
        async with stand(tmp_path / path.strip("/").replace("/", "-")) as there:
            there.lanes.held = True
            async with httpx.AsyncClient(base_url=there.url) as http:
                asking = asyncio.create_task(http.post(path, json=body))
                await until(lambda there=there: there.lanes.queued)
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
            async with httpx.AsyncClient(base_url=there.url) as http:
                assert (await http.get("/health")).json()["active_sessions"] == 1
            playing = asyncio.create_task(there.lanes.ask(there.lanes.queued.pop(), steps=0))
            await until(lambda there=there: there.served.slots.taken == 0)
            await playing


async def test_a_session_whose_socket_is_lost_before_it_had_its_name_is_given_back(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, there.client() as one:
        there.lanes.held = True
        await one.socket.send(json.dumps({"type": "mcp", "data": _CREATE}))
        await until(lambda: there.lanes.queued)
        place = there.lanes.queued.pop()  # a lane takes it
        one.socket.transport.abort()
        [play] = there.served._plays.values()
        await until(lambda: play.leaving)
        await there.lanes.ask(place, steps=0)
        assert there.served.slots.taken == 0


async def test_a_full_disk_is_no_sample_and_spoils_no_later_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    async with stand(tmp_path) as there, httpx.AsyncClient(base_url=there.url, timeout=600) as http:

        def half(file: int, data: bytes) -> int:
            if not os.path.samestat(os.fstat(file), (tmp_path / NAME).stat()):
                return write(file, data)
            write(file, data[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as full:
            full.setattr(os, "write", half)
            answer = await http.post("/nemo/reset", json={"task": "0"})
        assert answer.status_code == 500 and answer.json()["detail"]["failure_class"] == "StorageError"
        assert there.served.slots.taken == 0
        begun = (await http.post("/nemo/reset", json={"task": "0"})).json()["info"]["episode_id"]
        with Ledger(tmp_path) as again:
            assert list(again.entries) == [begun]


async def test_who_resumes_the_episode_that_it_holds_finds_its_page_as_it_is(tmp_path: Path) -> None:
    async with stand(tmp_path) as there, there.client() as one:
        wanted = {"task": "0", "episode_id": "x", "resume": True}
        await one.reset(**wanted)
        await one.step("scroll [down]")
        assert (await one.reset(**wanted))["observation"]["step"] == 1
        assert not any("leave" in told for told in there.lanes.orders)


async def test_the_address_of_a_client_may_end_with_a_slash(tmp_path: Path) -> None:
    async with stand(tmp_path) as there:
        connection = Connection(f"{there.url}/", patience_s=0)
        assert (await asyncio.to_thread(connection.reset, task="0"))["observation"]["step"] == 0
        await asyncio.to_thread(connection.close)


async def test_the_same_reset_on_another_connection_goes_on_with_the_episode(tmp_path: Path) -> None:
    """As of a client whose socket was lost, which the server does not know yet."""
    wanted = {"task": "0", "episode_id": "x", "resume": True}
    async with stand(tmp_path) as there, there.client() as busy, there.client() as lost, there.client() as again:
        await busy.reset(task="1")
        first = asyncio.create_task(lost.reset(**wanted))
        await until(lambda: there.served.slots.waiting == 1)
        second = asyncio.create_task(again.reset(**wanted))
        await until(lambda: there.served.slots.waiting == 2)
        await busy.socket.close()
        await first
        await lost.socket.close()
        assert (await second)["observation"]["episode_id"] == "x"
        assert there.served.slots.taken == 1 and list(there.served._ledger.entries)[1:] == ["x"]


async def test_the_same_reset_is_told_that_another_connection_holds_the_episode(tmp_path: Path) -> None:
    wanted = {"task": "0", "episode_id": "x"}
    async with (
        stand(tmp_path, slots=2) as there,
        there.client() as busy,
        there.client() as other,
        there.client() as lost,
        there.client() as again,
        there.client() as careless,
    ):
        for one in (busy, other):
            await one.reset(task="1")
        first = asyncio.create_task(lost.reset(**wanted, resume=True))
        await until(lambda: there.served.slots.waiting == 1)
        second = asyncio.create_task(again.refused("reset", {**wanted, "resume": True}))
        await until(lambda: there.served.slots.waiting == 2)
        third = asyncio.create_task(careless.refused("reset", wanted))
        await until(lambda: there.served.slots.waiting == 3)
        for one in (busy, other):
            await one.socket.close()
        await first
        assert (await second)["code"] == "SESSION_ERROR", "clients ask again"
        assert "resume=true" in (await third)["message"]
        await until(lambda: there.served.slots.taken == 1)


async def test_what_a_server_worked_for_is_not_taken_from_the_patience_with_one_that_is_gone(tmp_path: Path) -> None:
    async with stand(tmp_path) as there:
        there.lanes.held = True
        asking = asyncio.create_task(asyncio.to_thread(Connection(there.url, patience_s=2).reset, task="0"))
        await until(lambda: there.lanes.queued)
        await asyncio.sleep(2.5)
        there.lanes.held = False
        [play] = there.served._plays.values()
        assert play.holder is not None
        play.holder.ends(Problem.infrastructure("shutdown", "it is restarted", code="SESSION_ERROR"))
        assert (await asking)["observation"]["step"] == 0


async def test_a_client_whose_reset_failed_has_no_episode(tmp_path: Path) -> None:
    async with stand(tmp_path) as there:
        connection = Connection(there.url)
        for begin in (False, True):
            if begin:
                await asyncio.to_thread(connection.reset, task="0")
            there.lanes.refusal = StorageError("the disk is full")
            with pytest.raises(EnvironmentFailed, match="the disk is full"):
                await asyncio.to_thread(connection.reset, task="1")
            with pytest.raises(EnvironmentFailed, match="the disk is full"):
                await asyncio.to_thread(connection.step, "scroll [down]")
            assert connection.episode_id is None
        await asyncio.to_thread(connection.close)


@pytest.mark.parametrize("path", ["mcp", "ws"])
async def test_a_session_that_is_named_over_a_socket_is_the_one_that_is_played(tmp_path: Path, path: str) -> None:
    async with stand(tmp_path, slots=2) as there, connect(f"{there.url.replace('http', 'ws')}/{path}") as socket:

        async def ask(kind: str, data: dict[str, Any]) -> Any:
            await socket.send(json.dumps({"type": kind, "data": data} if path == "ws" else data))
            answer = json.loads(await socket.recv())
            return answer["data"] if path == "ws" else answer

        if path == "ws":
            await ask("reset", {"task": "1"})
        session = (await ask("mcp", _CREATE))["result"]["session_id"]
        call = {"name": "scroll", "arguments": {"direction": "down"}, "session_id": session}
        done = await ask("mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        seen = done["result"]["structuredContent"]["observation"]
        assert (seen["task"], seen["step"]) == ("0", 1)


async def test_a_client_whose_event_loop_stands_still_keeps_its_episode(tmp_path: Path) -> None:
    """As while weights are updated in it; it answers no ping then."""
    async with stand(tmp_path, ping_every_s=0.01) as there:
        protocol = ClientProtocol(parse_uri(f"{there.url.replace('http', 'ws')}/ws"))
        reader, writer = await asyncio.open_connection("127.0.0.1", int(there.url.rpartition(":")[2]))

        async def received(opcode: Opcode) -> Frame:
            while True:
                for event in protocol.events_received():
                    if isinstance(event, Frame) and event.opcode == opcode:
                        return event
                data = await reader.read(1 << 16)
                assert data, "the server hung up"
                protocol.receive_data(data)
                protocol.data_to_send()  # the answers to pings, which stay here

        async def ask(kind: str, **data: str) -> dict[str, Any]:
            protocol.send_text(json.dumps({"type": kind, "data": data}).encode())
            writer.writelines(protocol.data_to_send())
            answer: dict[str, Any] = json.loads((await received(Opcode.TEXT)).data)
            return answer["data"]

        protocol.send_request(protocol.connect())
        writer.writelines(protocol.data_to_send())
        while protocol.state is not State.OPEN:
            protocol.receive_data(await reader.read(1 << 16))
        await ask("reset", task="0")
        for _ in range(3):
            await received(Opcode.PING)
        assert (await ask("step", action_str="scroll [down]"))["observation"]["step"] == 1
        writer.close()


async def test_a_start_page_that_fails_costs_trl_one_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand(tmp_path, patience=Patience(queue_s=0, grace_s=0)) as there, there.client() as other:
        monkeypatch.setenv(URL, there.url)
        tools = CairnTools()
        tools._connection._patience_s = 1
        there.lanes.refusal = StorageError("the disk is full")
        said = await asyncio.to_thread(tools.reset, task="0")
        assert said == "\n\nthe environment cannot go on: StorageError: the disk is full"
        assert await asyncio.to_thread(tools.click, "1") == said.strip() and reward([tools]) == [None]
        assert "page 0" in await asyncio.to_thread(tools.reset, task="0")
        with pytest.raises(EnvironmentFailed, match="there is no task"):
            await asyncio.to_thread(tools.reset, task="nope")
        await asyncio.to_thread(tools._connection.close)
        await until(lambda: there.served.slots.taken == 0)
        await other.reset(task="1")
        assert "are in use" in await asyncio.to_thread(tools.reset, task="0")
        late = CairnTools()
        late._connection._patience_s = 0
        with pytest.raises(EnvironmentFailed, match="serve more with environments="):
            await asyncio.to_thread(late.reset, task="0")
        for one in (tools, late):
            await asyncio.to_thread(one._connection.close)


async def test_a_task_that_trls_model_does_not_end_is_ended_for_its_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with stand(tmp_path) as there:
        monkeypatch.setenv(URL, there.url)
        tools = CairnTools()
        assert (await asyncio.to_thread(tools.reset, task="0")).startswith("\n\n"), "it stands behind the prompt"
        await asyncio.to_thread(tools.scroll, "down")
        await asyncio.to_thread(reward, [tools])
        assert [one["order"]["name"] for one in there.lanes.orders] == ["scroll", "stop"]
        await asyncio.to_thread(tools._connection.close)


async def test_a_reset_that_waits_for_a_site_of_other_sessions_is_refused_as_one_without_a_free_environment(
    tmp_path: Path,
) -> None:
    async with stand(tmp_path, slots=4, patience=Patience(queue_s=0.2)) as there, there.client() as one:
        there.lanes.held = True
        async with asyncio.timeout(300):
            waits = asyncio.create_task(one.refused("reset", {"task": "0", "episode_id": "x", "resume": True}))
            await until(lambda: there.lanes.queued)
            await asyncio.sleep(0.5)
            assert not waits.done(), "it waits for a worker or for a reset, which end by themselves"
            there.lanes.in_the_way = "task 1 uses shop"
            refused = await waits
        assert refused["code"] == "CAPACITY_REACHED" and "task 1 uses shop" in refused["message"]
        assert there.served.slots.taken == 0 and not there.lanes.queued
        there.lanes.held = False
        turn = await one.reset(task="0", episode_id="x", resume=True)
        assert turn["observation"]["episode_id"] == "x", "it may be asked for again"


async def test_a_client_that_is_away_uses_up_no_working_time_of_its_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("harness.testing._LIMITS", EpisodeLimits(max_working_s=60))
    for where in ("harness.episode.episode", "harness.plugins.environments.agent"):
        monkeypatch.setattr(f"{where}.working_s", lambda: now)

    async def ask_host(question: bytes) -> bytes:
        nonlocal now
        now += 600.0
        return Order(text="stop []" if Question.of(question).steps else "scroll [down]").encoded()

    agent = ClientAgent(ScriptedModel(), CairnActionSet(), ask_host, observation_settings=ObservationSettings())
    episode = await play(agent, "[1] link 'Tea'", "[1] link 'Tea'")
    assert episode.closed is not None and episode.closed.reason == CloseReason.STOPPED
    assert now == 1200.0 and episode.elapsed_ms == 0.0
