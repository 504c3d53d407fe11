"""Sweeps that are repeated, changed, killed and played side by side with one reply cache."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.main import main
from tests.e2e.conftest import Start, command, environment
from tests.e2e.sampled import Sampled, cached, decisions, sampled
from tests.e2e.test_run import decided
from tests.forked import Forks
from tests.waiting import until

pytestmark = pytest.mark.browser

PRICES = "scripted: {prompt: 1.0, completion: 1.0}\n"
ASKER = '''
from harness.api import Decision, Message, Scroll, Stop

PROMPT = (Message(role="user", content="the same every time"),)


class Asker:
    """Asks the same thing twice in its first step, and once in each of the others."""

    def __init__(self, model):
        self._model = model

    async def decide(self, task, episode, observation, /):
        reply = await self._model.ask(PROMPT)
        if not episode.steps:
            reply = (await self._model.ask(PROMPT)).after(reply)
        stop = len(episode.steps) == 3
        direction = "up" if len(episode.steps) == 1 else "down"
        action = Stop(answer=reply.text) if stop else Scroll(direction=direction)
        return Decision(action=action, messages=PROMPT, reply=reply, memory=[*(episode.memory or []), reply.text])
'''
FOOTER = '''
class Footer:
    """Cairn's own text, and on some pages a word below it."""

    def __init__(self, word=""):
        self._word = word

    def render(self, observation, /):
        seen = observation.observation
        return seen.text + (f"\\n{self._word}" if "/product/" in seen.url or "/cart" in seen.url else "")
'''


class Sweeps:
    """Starts sweeps that share a cache, each in a run folder of its own."""

    def __init__(self, root: Path, endpoint: Sampled, url: str, forked: Forks) -> None:
        self.root, self.endpoint, self.cache, self._forked = root, endpoint, root / "cache", forked
        (root / "prices.yaml").write_text(PRICES)
        (root / "asker.py").write_text(ASKER)
        (root / "footer.py").write_text(FOOTER)
        self._settings = (f"llm.base_url={url}", f"llm.prices={root / 'prices.yaml'}", f"llm.cache_dir={self.cache}")

    def _command(self, name: str, *overrides: str) -> list[str]:
        return command(*self._settings, "llm.cache=readwrite", "run.report=false", *overrides, root=self.root / name)

    def _environment(self) -> dict[str, str]:
        given = environment()
        return {**given, "PYTHONPATH": os.pathsep.join((str(self.root), given.get("PYTHONPATH", "")))}

    async def begin(self, name: str, *overrides: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *self._command(name, *overrides),
            env=self._environment(),
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    async def end(self, name: str, process: asyncio.subprocess.Process) -> Start:
        out, err = await asyncio.wait_for(process.communicate(), 400)
        assert process.returncode is not None
        return Start(process.returncode, out.decode(), err.decode(), self.root / name / "run")

    async def play(self, name: str, *overrides: str) -> Start:
        given = ("run.py", *self._command(name, *overrides)[2:])
        done = await asyncio.to_thread(self._forked.run, *given, cwd=self.root, env=self._environment())
        return Start(done.returncode, done.stdout, done.stderr, self.root / name / "run")

    def files(self) -> list[Path]:
        return [path for path in (self.cache / "replies").rglob("*") if path.is_file()]


@pytest.fixture
async def sweeps(tmp_path: Path, forked: Forks) -> AsyncIterator[Sweeps]:
    async with sampled() as (endpoint, url):
        yield Sweeps(tmp_path, endpoint, url, forked)


@pytest.mark.slow
async def test_a_repeated_sweep_asks_nothing_and_decides_the_same(sweeps: Sweeps) -> None:
    few = ("task=smoke", "task.limit=3", "fail_under=1.0", "workers=2", "executor=inline")
    first = await sweeps.play("first", *few)
    assert first.code == 0, first.out + first.err
    asked = len(sweeps.endpoint.asked)
    assert asked == first.summary["invocation"]["model_requests"] == len(sweeps.files()) > 3
    assert first.summary["cost_usd"] > 0 and first.summary["reply_cache"] == {"replies": 0, "share": 0.0}
    assert "answered by the reply cache" not in first.out

    again = await sweeps.play("again", *few)
    assert again.code == 0, again.out + again.err
    assert len(sweeps.endpoint.asked) == asked and again.summary["invocation"]["model_requests"] == 0
    assert decisions(again.folder) == decisions(first.folder)
    assert again.summary["tokens"] == first.summary["tokens"] and again.summary["cost_usd"] == 0.0
    assert again.summary["reply_cache"] == {"replies": asked, "share": 1.0}
    assert f"answered by the reply cache: {asked} of {asked} requests (100.0%)" in again.out
    assert [result["steps"] for result in again.summary["results"]] == [
        result["steps"] for result in first.summary["results"]
    ]

    other = await sweeps.play("other", "task=smoke", "task.ids=[0]", "llm.cache=off", "executor=inline")
    assert len(sweeps.endpoint.asked) == asked + 2 and other.summary["reply_cache"]["replies"] == 0


@pytest.mark.slow
async def test_a_changed_word_misses_from_the_first_changed_step_only(sweeps: Sweeps) -> None:
    task = ("task=smoke", "task.ids=[2]", "executor=inline", "observation._target_=footer.Footer")
    first = await sweeps.play("first", *task)
    assert first.code == 0 and len(sweeps.endpoint.asked) == 5, first.out + first.err
    changed = await sweeps.play("changed", *task, "+observation.arguments.word=new")
    assert changed.code == 0, changed.out + changed.err
    assert cached(changed.folder) == [[True, True, False, False, False]], "search results come before the product"
    assert len(sweeps.endpoint.asked) == 5 + 3
    assert decisions(changed.folder)["2.traj.jsonl"][:2] == decisions(first.folder)["2.traj.jsonl"][:2]


@asynccontextmanager
async def killed(sweeps: Sweeps, name: str, *overrides: str, when: Any) -> AsyncIterator[int]:
    """A sweep that dies by SIGKILL, with all its processes; gives how many requests had been sent by then."""
    process = await sweeps.begin(name, *overrides)
    await until(when)
    family = psutil.Process(process.pid).children(recursive=True)
    for one in (psutil.Process(process.pid), *family):
        try:
            one.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
    await process.wait()
    psutil.wait_procs(family, timeout=600)
    yield len(sweeps.endpoint.asked)


@pytest.mark.parametrize("executor", ["inline", "processes"])
@pytest.mark.slow
async def test_equal_prompts_keep_their_replies_also_in_a_resumed_episode(sweeps: Sweeps, executor: str) -> None:
    task = sweeps.root / "ask.json"
    reference = {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["x"]}}
    content = {"task_id": 7, "sites": ["shop"], "intent": "Ask", "start_url": "__SHOP__", "eval": reference}
    task.write_text(json.dumps([content | {"storage_state": None, "require_login": False, "intent_template_id": 1}]))
    url = sweeps._settings[0].partition("=")[2]
    asker = (
        *("task=demo", f"task.path={task}", "agent._target_=asker.Asker", "agent.name=asker", f"executor={executor}"),
        *("judge.model=scripted", f"judge.base_url={url}", "trials=2", "workers=1"),
    )
    first = await sweeps.play("first", *asker)
    assert first.code == 0, first.out + first.err
    asked = len(sweeps.endpoint.asked)
    assert asked == 2 * (5 + 2), "five of each trial, and a judge's in two dialects"
    said = [[line["reply"] for line in lines] for lines in decisions(first.folder).values()]
    assert len({reply for replies in said for reply in replies}) == 2 * 4
    judged = ("judge.model=scripted", f"judge.base_url={url}", "llm.cache=read", f"llm.cache_dir={sweeps.cache}")
    assert await asyncio.to_thread(main, ["score", str(first.folder), *judged]) == 0
    assert len(sweeps.endpoint.asked) == asked, "the run's judge said it already"

    async with killed(sweeps, "again", *asker, when=lambda: decided(sweeps.root / "again" / "run") >= 2):
        pass
    again = await sweeps.play("again", *asker)
    assert again.code == 0, again.out + again.err
    assert len(sweeps.endpoint.asked) == asked, "a resumed episode counts on"
    assert decisions(again.folder) == decisions(first.folder)
    assert [line["earlier_responses"] for line in decisions(again.folder)["7.traj.jsonl"] if line["step"] == 1]
    judge = again.summary["judge"]
    assert (judge["requests"], judge["cost_usd"], judge["reply_cache"]["replies"]) == (0, 0.0, 4)


@pytest.mark.slow
async def test_without_a_cache_a_killed_decision_repeats_the_request_that_was_running_only(sweeps: Sweeps) -> None:
    task = sweeps.root / "ask.json"
    reference = {"eval_types": ["string_match"], "reference_answers": {"must_include": ["sample"]}}
    content = {"task_id": 7, "sites": ["shop"], "intent": "Ask", "start_url": "__SHOP__", "eval": reference}
    task.write_text(json.dumps([content | {"storage_state": None, "require_login": False, "intent_template_id": 1}]))
    asker = (
        *("task=demo", f"task.path={task}", "agent._target_=asker.Asker", "agent.name=asker", "llm.cache=off"),
        *("executor=inline", "workers=1"),
    )
    sweeps.endpoint.held = 2
    async with killed(sweeps, "run", *asker, when=lambda: len(sweeps.endpoint.asked) == 2):
        pass
    again = await sweeps.play("run", *asker)
    assert again.code == 0, again.out + again.err
    assert len(sweeps.endpoint.asked) == 1 + 5, "the first answer is on disk"
    lines = [json.loads(line) for line in (again.folder / "7.traj.jsonl").read_bytes().splitlines()]
    assert [line["kind"] for line in lines if line["kind"] in ("replied", "decided")] == ["replied", *["decided"] * 4]
    assert again.summary["tokens"] == 5 * 110 and again.summary["cost_usd"] == pytest.approx(5 * 110 / 1e6)


@pytest.mark.slow
async def test_a_sweep_that_is_killed_while_it_writes_loses_nothing(sweeps: Sweeps) -> None:
    folder = sweeps.root / "killed" / "run"
    task = ("task=smoke", "workers=2")
    async with killed(sweeps, "killed", *task, when=lambda: len(sweeps.files()) >= 9) as sent:
        whole, before = len(sweeps.files()), decisions(folder)
    recorded = sum(map(len, before.values()))
    assert recorded <= whole <= sent, "a decision is recorded when its reply is kept"
    again = await sweeps.play("again", *task)
    assert again.code == 0, again.out + again.err
    assert again.summary["reply_cache"]["replies"] == whole
    assert len(sweeps.endpoint.asked) == sent + 30 - whole
    for name, lines in decisions(again.folder).items():
        assert lines[: len(before.get(name, []))] == before.get(name, [])


@pytest.mark.slow  # in the gate, four processes write to one cache in tests/journal
async def test_four_processes_and_two_runs_at_once_share_a_cache(sweeps: Sweeps) -> None:
    both = [await sweeps.begin(name, "task=smoke", "workers=2", "executor=processes") for name in ("one", "two")]
    one, two = [await sweeps.end(name, process) for name, process in zip(("one", "two"), both, strict=True)]
    assert (one.code, two.code) == (0, 0), one.err + two.err
    asked = len(sweeps.endpoint.asked)
    third = await sweeps.play("third", "task=smoke", "workers=4", "executor=processes")
    assert third.code == 0, third.out + third.err
    assert len(sweeps.endpoint.asked) == asked and third.summary["reply_cache"]["replies"] == 30
    theirs = decisions(one.folder), decisions(two.folder)
    for name, lines in decisions(third.folder).items():
        for step, line in enumerate(lines):
            assert line in [found[name][step] for found in theirs]


@pytest.mark.slow
async def test_a_folder_that_breaks_is_one_sentence_and_the_run_goes_on(sweeps: Sweeps) -> None:
    process = await sweeps.begin("run", "task=smoke", "task.limit=3", "workers=2", "executor=processes")
    await until(lambda: len(sweeps.files()) >= 2)
    staging = sweeps.cache / ".staging"
    staging.rename(sweeps.root / "gone")
    staging.write_text("")
    ended = await sweeps.end("run", process)
    assert ended.code == 0 and ended.summary["passed"] == 3, ended.out + ended.err
    assert ended.out.count("keeps no more replies of this run") == 1, ended.out


def test_a_folder_that_cannot_be_used_is_refused_before_anything_is_paid(
    start_here: Callable[..., Start], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    cache.write_text("a file")
    given = ("task=smoke", "llm.base_url=http://127.0.0.1:9/v1", "llm.cache=readwrite", f"llm.cache_dir={cache}")
    refused = start_here(*given)
    assert refused.code == 2 and refused.err.count("\n") == 1, refused.err
    assert refused.err.partition(": ")[2].startswith(f"llm.cache_dir={cache} cannot be used as reply cache: ")
    reading = start_here(*given, "llm.cache=read", f"llm.cache_dir={tmp_path / 'none'}")
    assert reading.code == 2 and "there are no replies in it" in reading.err
    wrong = start_here(*given, "llm.cache=write")
    assert wrong.code == 2 and "llm.cache=write is unknown; choose one of off, read, readwrite" in wrong.err
    assert not refused.folder.exists()
