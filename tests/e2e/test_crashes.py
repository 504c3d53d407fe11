"""Whatever dies, hangs or goes away comes back within the same run, or stays pending with a message; never a score of 0."""

import asyncio
import json
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.loopback_server import serving
from harness.records import Done
from tests.e2e.conftest import PROJECT
from tests.e2e.trouble import TroubledSites, World, endpoint, first, troubled_world
from tests.waiting import alive, until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
WISHLIST, PRICE, BRANCH, ACCOUNT = 12, 0, 6, 25
"""Demo tasks: three on the shop, one that writes twice, and two that need no login, of which the first starts at `/`;
one on the forum, whose cookie is another one after its last step.
"""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with troubled_world(tmp_path, TroubledSites(), latency_ms=150) as world:
        yield world


@pytest.mark.parametrize(
    ("word", "without", "number"),
    [
        ("harness.evaluation.worker_main", "\0", signal.SIGKILL),
        ("harness.evaluation.worker_main", "\0", signal.SIGSTOP),
        ("chrom", "--type=", signal.SIGKILL),
        ("--type=renderer", "\0", signal.SIGKILL),
    ],
    ids=["worker killed", "worker frozen", "browser killed", "renderer crashed"],
)
async def test_a_process_that_is_lost_is_replaced_and_the_task_goes_on(
    world: World, word: str, without: str, number: signal.Signals
) -> None:
    async with world.playing(f"task.ids=[{WISHLIST}]", "executor.silence_s=4") as play:
        await play.until(lambda: play.decisions >= 2)
        before = (play.folder / f"{WISHLIST}.traj.jsonl").read_bytes()
        victims = play.children(word, without=without)
        assert victims
        for victim in victims:
            victim.send_signal(number)
        assert await play.ended() == 0, play.text
    assert (play.folder / f"{WISHLIST}.traj.jsonl").read_bytes().startswith(before[: before.rfind(b"\n") + 1])
    episode = play.episode(WISHLIST)
    assert episode.attempt == 1 and episode.resumed, "it went on where it stood"
    assert episode.scores["corrected"].value == 1.0
    assert play.summary["invocation"]["model_requests"] <= play.decisions + 1
    await until(lambda: not alive(victim.pid for victim in victims))


async def test_an_endless_script_is_stopped_and_the_agent_told_while_the_browser_lives_on(world: World) -> None:
    world.sites.trouble = first(1, "endless", path="/")
    quick = ("browser.action_timeout_s=2", "browser.settle_timeout_s=1", "limits.max_steps=2")
    async with world.playing(f"task.ids=[{PRICE}]", *quick) as play:
        assert await play.ended() == 0, play.text
    arrival = play.episode(PRICE).arrival
    assert arrival is not None and "soon" in arrival.observation.text
    assert "a script of the page did not end and was stopped" in arrival.observation.notices
    assert play.failures(PRICE) == [] and play.summary["invocation"]["browser_starts"] == 1


async def test_a_start_page_that_never_answers_is_given_up_and_opened_again(world: World) -> None:
    world.sites.trouble = first(1, "silence", path="/")
    async with world.playing(f"task.ids=[{PRICE}]", "browser.navigation_timeout_s=2") as play:
        assert await play.ended() == 0, play.text
    assert play.failures(PRICE) == ["SiteUnavailable"]
    assert play.episode(PRICE).scores["corrected"].value == 1.0


async def test_an_endpoint_that_goes_down_pauses_the_run_and_burns_no_task(world: World) -> None:
    async with AsyncExitStack() as life:
        world.endpoint_port = port = await life.enter_async_context(endpoint())
        async with world.playing("task.ids=[0,12]", "workers=2", "llm.max_attempts=2") as play:
            await play.until(lambda: play.decisions >= 2)
            await life.aclose()
            await play.until(lambda: "paused" in play.text)
            async with endpoint(port):
                assert await play.ended() == 0, play.text
    assert play.failures(0) == play.failures(12) == []
    assert play.summary["passed"] == 2
    assert play.text.count("the run is paused") == play.text.count("the endpoint answers again") == 1, "by all workers"


async def test_a_storm_of_429_is_waited_out(world: World) -> None:
    storm = '[{"do": "429", "retry_after": 0.2, "on": {"first": 3}}]'
    async with endpoint(faults=storm) as world.endpoint_port, world.playing("task.ids=[0]") as play:
        assert await play.ended() == 0, play.text
    assert "429" in play.text and play.failures(0) == []
    assert play.summary["invocation"]["model_requests"] == 4 * play.decisions


def a_reply(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}]}).encode()


async def test_one_refused_prompt_and_one_endless_answer_cost_their_own_tasks_only(world: World) -> None:
    refused = {"error": {"message": "context is too long", "code": "context_length_exceeded"}}
    special = {b"Harbour Floor Lamp": json.dumps(refused).encode(), b"my order 1034": a_reply("x" * 40_000_000)}
    async with endpoint(special=special) as world.endpoint_port:
        async with world.playing(f"task.ids=[7,{WISHLIST},{PRICE}]") as play:
            assert await play.ended() == 3, play.text
    assert play.failures(7) == play.failures(WISHLIST) == ["RequestRefused"] * 3 and play.failures(PRICE) == []
    why = {result["task_id"]: (result["status"], result["why"]) for result in play.summary["results"]}
    assert why["0"][0] == "passed" and why["7"][0] == why["12"][0] == "unscored"
    assert "with HTTP 400 (context is too long)" in why["12"][1]
    assert "is longer than 32 MB (llm.max_answer_mb)" in why["7"][1]


async def test_a_setting_that_every_request_is_refused_for_stops_the_run_with_a_sentence(world: World) -> None:
    async with endpoint(faults='[{"do": "400"}]') as world.endpoint_port:
        async with world.playing("task.ids=[0,1,3,6]") as play:
            assert await play.ended() == 2, play.text
    assert (
        "rejected this request to model 'scripted' with HTTP 400 (injected fault 400), like every request" in play.text
    )
    assert "Traceback" not in play.text


async def test_a_reply_of_18_mb_neither_ends_the_run_nor_reaches_the_display(world: World) -> None:
    long = a_reply("```stop [" + "w" * 18_000_000 + "]```")
    async with endpoint(special={b"What does the Storm Lantern cost": long}) as world.endpoint_port:
        async with world.playing(f"task.ids=[{PRICE},{BRANCH}]", "workers=2") as play:
            assert await play.ended() == 0, play.text
    assert play.summary["passed"] == 1 and play.summary["failed"] == 1, "the answer is wrong, and long"
    assert len(play.text) < 20_000


async def test_a_wait_asked_for_is_bounded_and_said(world: World) -> None:
    day = '[{"do": "503", "retry_after": 86400, "on": {"first": 1}}]'
    async with endpoint(faults=day) as world.endpoint_port:
        async with world.playing(f"task.ids=[{PRICE}]", "llm.max_retry_s=3", "limits.max_steps=1") as play:
            assert await play.ended() == 0, play.text
    assert "the endpoint asks for a pause of 86400 s; retrying in 3 s (llm.max_retry_s)" in play.text


class Judging:
    """A judge that answers so many questions, and lets further ones wait."""

    def __init__(self) -> None:
        self.asked = self.answered = self.may_answer = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        gone = False
        while not gone and self.answered >= self.may_answer:
            gone = (await receive())["type"] == "http.disconnect"
        if gone:
            return
        self.answered += 1
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": a_reply("It does.\ncorrect")})


async def test_a_judge_is_paid_once_for_each_reply_however_often_scoring_is_killed(world: World) -> None:
    task = json.loads((PROJECT / "tasks" / "demo.json").read_bytes())[PRICE]
    task["eval"]["reference_answers"] = {"fuzzy_match": ["$44.50", "in dollars"]}
    (world.root / "tasks.json").write_text(json.dumps([task]))
    judge = Judging()
    async with serving(judge) as port:
        settings = (f"task.path={world.root}/tasks.json", "judge.model=j", f"judge.base_url=http://127.0.0.1:{port}/v1")
        for kills in (1, 2, 3):
            judge.may_answer = kills
            async with world.playing(*settings, "task=demo") as play:
                await play.until(lambda kills=kills: judge.asked == 2 * kills)  # type: ignore[misc]
                play.process.kill()
                await play.ended()
            assert len(play.episode(PRICE).judged) == kills, "on disk before the next is asked for"
        judge.may_answer = 100
        async with world.playing(*settings, "task=demo") as play:
            assert await play.ended() == 0, play.text
    assert (judge.answered, judge.asked) == (4, 7), "two references in two dialects; each kill lost what was under way"
    assert play.summary["judge"]["requests"] == 4 and play.summary["passed"] == 1


async def test_a_site_that_stays_broken_leaves_its_task_unscored_until_it_is_asked_for_again(world: World) -> None:
    world.sites.trouble = lambda method, path: "500" if path == "/__reset__" else None
    async with world.playing("task.ids=[0]", "browser.navigation_timeout_s=1") as play:
        assert await play.ended() == 3, play.text
    assert play.failures(0) == ["SiteUnavailable"] * 3
    (result,) = play.summary["results"]
    assert (result["status"], result["score"]) == ("unscored", None)
    world.sites.trouble = lambda method, path: None
    async with world.playing("task.ids=[0]", "browser.navigation_timeout_s=1", "run.retry=infra") as play:
        assert await play.ended() == 0, play.text
    assert play.summary["passed"] == 1


async def test_a_site_that_is_down_for_a_moment_is_waited_for_and_costs_nothing(world: World) -> None:
    world.sites.trouble = first(2, "500", method="POST", path="/__reset__")
    async with world.playing("task.ids=[0]") as play:
        assert await play.ended() == 0, play.text
    assert play.failures(0) == [] and play.summary["passed"] == 1
    assert "reset of shop: " in play.text and "answers 500; retrying" in play.text


async def test_a_site_that_is_gone_in_the_middle_of_an_episode_is_waited_for_and_the_episode_goes_on(
    world: World,
) -> None:
    async with AsyncExitStack() as life:
        world.sites_port = port = await life.enter_async_context(serving(world.sites))
        async with world.playing(f"task.ids=[{WISHLIST}]", "browser.navigation_timeout_s=3") as play:
            await play.until(lambda: play.decisions >= 2)
            await life.aclose()
            await play.until(lambda: bool(play.failures(WISHLIST)))
            async with serving(world.sites, port=port):
                assert await play.ended() == 0, play.text
    assert set(play.failures(WISHLIST)) == {"SiteUnavailable"}
    episode = play.episode(WISHLIST)
    assert episode.attempt == 1 and episode.resumed, "it went on where it stood"
    assert all(isinstance(step.acted.outcome, Done) for step in episode.steps), "the agent was told of nothing"
    assert episode.scores["corrected"].value == 1.0
    assert play.summary["invocation"]["model_requests"] == play.decisions


async def test_interrupting_twice_ends_at_once_and_the_run_goes_on_later(world: World) -> None:
    async with endpoint(latency_ms=3_600_000) as slow:
        fast, world.endpoint_port = world.endpoint_port, slow
        async with world.playing("task.ids=[0]") as play:
            await play.until(lambda: b'"kind":"acted"' in b"".join(p.read_bytes() for p in play.folder.glob("0.traj*")))
            play.process.send_signal(signal.SIGINT)
            await play.until(lambda: "again to stop now" in play.text)
            await asyncio.sleep(0.2)  # at once, it would be the same request
            play.process.send_signal(signal.SIGINT)
            assert await play.ended() == 130, play.text
    assert "Traceback" not in play.text
    world.endpoint_port = fast
    async with world.playing("task.ids=[0]") as play:
        assert await play.ended() == 0, play.text


async def test_a_run_without_its_checkpoints_goes_on_and_only_what_needed_one_begins_anew(world: World) -> None:
    both = (f"task.ids=[{ACCOUNT},{PRICE}]", "resume=checkpoint")
    fast = world.endpoint_port
    async with endpoint(latency_ms=2000) as world.endpoint_port, world.playing(*both) as play:
        journal = play.folder / f"{ACCOUNT}.traj.jsonl"
        await play.until(lambda: journal.exists() and b'"checkpoint":"' in journal.read_bytes())
        play.process.kill()
        await play.ended()
    shutil.rmtree(play.folder / "private")
    world.endpoint_port = fast
    async with world.playing(*both) as play:
        assert await play.ended() == 0, play.text
    assert play.summary["passed"] == 2
    assert set(play.failures(ACCOUNT)) == {"EnvironmentDiverged"} and play.episode(ACCOUNT).attempt == 2
    assert play.failures(PRICE) == []


async def test_a_second_process_on_a_run_folder_is_refused_and_told_who_has_it(world: World) -> None:
    async with world.playing("task.ids=[12]") as play:
        await play.until(lambda: play.decisions >= 1)
        play.process.send_signal(signal.SIGSTOP)  # it must not end before the second has tried
        async with world.playing("task.ids=[12]") as second:
            assert await second.ended() == 2, second.text
        play.process.send_signal(signal.SIGCONT)
        assert str(play.process.pid) in second.text
        assert len(second.text.strip().splitlines()) == 1
        assert await play.ended() == 0, play.text


async def test_a_full_disk_stops_the_run_with_a_sentence_and_space_lets_it_go_on(world: World, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = await asyncio.to_thread(
        subprocess.run, ["mount", "-t", "tmpfs", "-o", "size=120k", "tmpfs", small], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        async with world.playing("task.ids=[12]", root=small) as play:
            assert await play.ended() == 2, play.text
        assert "the disk is full" in play.text and "Traceback" not in play.text
        before = {path.name: path.read_bytes() for path in play.folder.glob("*.traj.jsonl")}
        await asyncio.to_thread(subprocess.run, ["mount", "-o", "remount,size=50m", small], check=True)
        async with world.playing("task.ids=[12]", root=small) as play:
            assert await play.ended() == 0, play.text
        for name, data in before.items():
            assert (play.folder / name).read_bytes().startswith(data[: data.rfind(b"\n") + 1])
    finally:
        await asyncio.to_thread(subprocess.run, ["umount", "-l", small], check=True)
