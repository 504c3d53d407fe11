"""An agent that is a process, played as a run plays it: what is recorded when, how it ends, and what it cannot do."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from harness.actions import Goto, InvalidAction, Stop
from harness.errors import InfraError, ShutdownRequested, StorageError
from harness.plugins.process_agent import launcher
from harness.plugins.process_agent.request_key import Volatile
from harness.records import Answered, Asked, CloseReason, Episode, EpisodeLimits, Eval, Exited, Record
from harness.testing import MemoryJournal, a_task, play
from tests.llm.test_endpoint_model import KEY
from tests.plugins.process_agent.processes import HEAD, THREE, Model, agent_of
from tests.waiting import alive, until

PAGES = ("[1] link 'one'", "[1] link 'two'", "[1] link 'three'", "[1] link 'four'")
pytestmark = pytest.mark.integration


def output(journal: MemoryJournal) -> str:
    """What the last process wrote to its standard output."""
    ended = journal.episode.exited[-1]
    return journal.artifacts.read(ended.stdout).decode() if ended.stdout else ""


def kinds(journal: MemoryJournal) -> list[str]:
    return [record.kind for record in journal.records]


async def test_it_plays_to_its_answer_and_everything_is_recorded(tmp_path: Path) -> None:
    journal, model = MemoryJournal(), Model()
    async with agent_of(THREE, tmp_path, model) as agent:
        episode = await play(agent, *PAGES, journal=journal)
    assert episode.closed is not None and episode.closed.answer == "r1 r2 r3 r4"
    pair, step = ["asked", "answered"], ["decided", "acted"]
    whole = ["opened", "acted", *(pair + step) * 3, *pair, "decided", "exited", "closed", "scored"]
    assert kinds(journal) == whole
    assert [type(one.decided.action) for one in episode.steps] == [Goto] * 3
    assert [one.step for one in episode.asked] == [1, 2, 3, 4]
    assert [journal.artifacts.read(one.request) for one in episode.asked] == model.seen
    assert episode.usage.tokens == 44 and episode.usage.requests == 4 and episode.spent()[2].tokens == 11
    assert episode.steps[0].decided.model == "m" and episode.steps[0].decided.usage.tokens == 0
    assert episode.exited[0].code == 0 and episode.exited[0].why == "it ended by itself"


async def test_a_request_is_durable_before_it_is_sent(tmp_path: Path) -> None:
    journal = MemoryJournal()
    last: list[Record] = []
    model = Model(look=lambda body: last.append(journal.records[-1]))
    async with agent_of(THREE, tmp_path, model) as agent:
        await play(agent, *PAGES, journal=journal)
    assert [one.number for one in last if isinstance(one, Asked)] == [1, 2, 3, 4]


async def test_an_answer_that_cannot_be_recorded_is_never_seen(tmp_path: Path) -> None:
    class Full(MemoryJournal):
        def append(self, record: Record) -> Episode:
            if isinstance(record, Answered):
                raise StorageError("the disk is full")
            return super().append(record)

    journal = Full()
    script = HEAD + "print('told', post('/v1/chat/completions', {'messages': []}))\nact('stop', answer='x')"
    async with agent_of(script, tmp_path, Model()) as agent:
        with pytest.raises(StorageError):
            await play(agent, *PAGES, journal=journal)
    assert "r1" not in output(journal) and journal.episode.closed is None


async def test_a_request_that_is_under_way_when_the_run_is_to_stop_is_answered_and_recorded(tmp_path: Path) -> None:
    journal, stopping = MemoryJournal(), asyncio.Event()
    async with agent_of(THREE, tmp_path, Model(look=lambda body: stopping.set())) as agent:
        with pytest.raises(ShutdownRequested):
            await play(replace(agent, stopping=stopping.wait), *PAGES, journal=journal)
    assert kinds(journal)[2:5] == ["asked", "answered", "exited"], "and nothing that the process does with it"


async def test_a_stream_is_passed_on_from_the_durable_copy(tmp_path: Path) -> None:
    journal, model = MemoryJournal(), Model()
    script = HEAD + (
        "status, body = post('/v1/chat/completions', {'model': 'm', 'messages': [], 'stream': True})\n"
        "print(body.decode())\nact('stop', answer='x')"
    )
    async with agent_of(script, tmp_path, model) as agent:
        episode = await play(agent, journal=journal)
    stored = journal.artifacts.read(episode.answered[1].response)
    assert stored.decode().strip() == output(journal).strip() and stored.endswith(b"data: [DONE]\n\n")
    assert episode.usage.tokens == 11 and episode.answered[1].headers["content-type"] == "text/event-stream"


async def test_a_call_that_is_no_action_is_a_step_and_is_told_so(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + "print(act('fly', to='moon')['text'])\nact('stop', answer='x')"
    async with agent_of(script, tmp_path) as agent:
        episode = await play(agent, *PAGES, journal=journal)
    assert isinstance(episode.steps[0].decided.action, InvalidAction)
    assert output(journal).startswith("RESULT: error: there is no function 'fly'")


@pytest.mark.parametrize(
    ("ending", "answer"),
    [
        ("print('thinking'); print(json.dumps({'answer': 7}))", "7"),
        ("open(os.environ['CAIRN_ANSWER'], 'w').write('in a file\\n')", "in a file"),
        (
            "open(os.environ['CAIRN_ANSWER'], 'w').write(json.dumps({'answer': 'both'})); print('{\"answer\": 1}')",
            "both",
        ),
        ('print(\'{"answer": "and failed"}\'); sys.exit(3)', "and failed"),
        ("open(os.environ['CAIRN_ANSWER'], 'w').write('and was killed'); os.kill(os.getpid(), 9)", "and was killed"),
        ("pass", ""),
    ],
)
async def test_a_process_may_end_with_its_answer(tmp_path: Path, ending: str, answer: str) -> None:
    async with agent_of(HEAD + ending, tmp_path) as agent:
        episode = await play(agent)
    assert episode.closed is not None and episode.closed.answer == answer
    assert episode.closed.reason is CloseReason.STOPPED


async def test_a_process_that_fails_fails_its_attempt_with_its_last_words(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + "print('noise', file=sys.stderr); sys.exit('no such tool')"
    async with agent_of(script, tmp_path) as agent:
        with pytest.raises(InfraError):
            await play(agent, journal=journal)
    (failed,) = journal.episode.failures
    assert failed.type == "PluginFailed" and "exit code 1: no such tool" in failed.message
    assert kinds(journal)[-2:] == ["exited", "failed"] and journal.episode.exited[0].code == 1


async def test_a_process_that_takes_too_long_is_ended_without_an_answer(tmp_path: Path) -> None:
    async with agent_of(HEAD + "time.sleep(600)", tmp_path, timeout_s=1.0) as agent:
        episode = await play(agent)
    assert episode.closed is not None and episode.closed.answer == ""
    assert episode.exited[0].why == "agent.timeout_s=1 was over" and episode.exited[0].code is None


async def test_everything_it_started_ends_with_the_episode(tmp_path: Path) -> None:
    script = HEAD + (
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "        os.environ.clear(); time.sleep(600)\n"
        "    os._exit(0)\n"
        f"while not os.path.exists({str(tmp_path / 'pid')!r}): time.sleep(0.01)\n"
        "act('stop', answer='x')"
    )
    async with agent_of(script, tmp_path) as agent:
        await play(agent)
    await until(lambda: not alive([int((tmp_path / "pid").read_text())]))


async def test_it_and_what_it_starts_can_be_ended_by_signals(tmp_path: Path) -> None:
    """As a client of MCP ends its server; a signal that is ignored stays so in all that a process starts."""
    started = "import signal; print(signal.SIGTERM, flush=True); signal.pause()"
    script = HEAD + (
        "import signal, subprocess\n"
        f"child = subprocess.Popen([sys.executable, '-c', {started!r}], stdout=subprocess.PIPE)\n"
        "child.stdout.readline(); child.terminate()\n"
        "try: code = child.wait(10)\n"
        "except subprocess.TimeoutExpired: code = 'it goes on'; child.kill()\n"
        "status = subprocess.run(['cat', '/proc/self/status'], capture_output=True, restore_signals=False)\n"
        "ignored = int(status.stdout.partition(b'SigIgn:')[2].split()[0], 16)\n"
        "act('stop', answer=f'{code} {ignored & 1 << 14} {ignored & 1}')"
    )
    async with agent_of(script, tmp_path) as agent:
        episode = await play(agent)
    assert episode.closed is not None and episode.closed.answer == "-15 0 0"


def test_a_command_begins_with_the_signals_of_a_shell(tmp_path: Path) -> None:
    lifeline, ours = os.pipe()
    started = (sys.executable, "-I", "-S", launcher.__file__, str(lifeline), str(tmp_path / "none"))
    done = subprocess.run(
        [*started, "cat", "/proc/self/status"], pass_fds=[lifeline], capture_output=True, text=True, check=True
    )
    os.close(lifeline)
    os.close(ours)
    ignored = int(done.stdout.partition("SigIgn:")[2].split()[0], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1), "as in Python"


async def test_the_limit_of_steps_ends_a_process_that_waits_for_a_result(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + "while True: act('goto', url='http://site.test/%f' % time.time())"
    async with agent_of(script, tmp_path) as agent:
        episode = await play(agent, journal=journal)
    assert episode.closed is not None and episode.closed.reason is CloseReason.MAX_STEPS
    assert len(episode.steps) == 30 and episode.exited[0].why == "the episode ended first"


async def test_a_spent_budget_stops_requests_before_they_are_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = EpisodeLimits(max_tokens=25)
    monkeypatch.setattr("harness.testing._LIMITS", limits)
    model = Model()
    script = HEAD + "for number in range(100): ask(str(number))"
    async with agent_of(script, tmp_path, model) as agent:
        episode = await play(agent)
    assert episode.closed is not None and episode.closed.reason is CloseReason.BUDGET
    assert "25 tokens" in episode.closed.detail and len(model.seen) == 3 and episode.usage.tokens == 33


@pytest.mark.parametrize("status", [401, 404])
async def test_a_model_that_the_endpoint_does_not_have_is_the_processes_to_mend(tmp_path: Path, status: int) -> None:
    journal = MemoryJournal()
    script = HEAD + "print([ask('x') for _ in range(6)])\nact('stop', answer='y')"
    async with agent_of(script, tmp_path, Model(status=status)) as agent:
        episode = await play(agent, journal=journal)
    assert (
        json.loads(output(journal)) == [status] * 6
        and [one.status for one in episode.answered.values()] == [status] * 6
    )
    assert episode.closed is not None and episode.closed.answer == "y"


async def test_a_refused_request_is_the_processes_to_mend(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with agent_of(HEAD + "print(ask('x'))\nact('stop', answer='y')", tmp_path, Model(status=422)) as agent:
        episode = await play(agent, journal=journal)
    assert output(journal).strip() == "422" and episode.answered[1].status == 422
    assert episode.closed is not None and episode.closed.answer == "y"


async def test_it_is_given_no_key_and_no_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-host-0123456789")
    monkeypatch.setenv("SOME_SECRET", "hunter2-of-the-host")
    journal = MemoryJournal()
    task = a_task("Find it")
    secret = Eval(eval_types=(), reference_answers={"exact_match": "the-reference"})
    script = HEAD + "print(dict(os.environ), task, open(os.environ['CAIRN_TASK']).read())\nact('stop', answer='x')"
    async with agent_of(script, tmp_path, Model(), env={"MINE": "given"}) as agent:
        await play(agent, task=replace(task, eval=secret), journal=journal)
    said = output(journal)
    assert "'MINE': 'given'" in said and "Find it" in said
    for hidden in ("sk-of-the-host", "hunter2-of-the-host", "the-reference", KEY):
        assert hidden not in said


async def test_only_the_token_of_the_episode_opens_the_gateway(tmp_path: Path) -> None:
    journal, model = MemoryJournal(), Model()
    script = HEAD + (
        "paths = ('/v1/chat/completions', '/v1/responses', '/v1/messages', '/mcp', '/actions/stop')\n"
        "print([post(path, {'model': 'm', 'messages': []}, token='other')[0] for path in paths])\n"
        "act('stop', answer='x')"
    )
    async with agent_of(script, tmp_path, model) as agent:
        episode = await play(agent, journal=journal)
    assert output(journal).strip() == "[401, 401, 401, 401, 401]" and model.seen == []
    assert episode.asked == () and episode.closed is not None and episode.closed.answer == "x"


async def test_the_token_is_in_nothing_that_is_kept(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + "print('token', os.environ['CAIRN_TOKEN'], file=sys.stderr)\nact('stop', answer='x')"
    async with agent_of(script, tmp_path) as agent:
        await play(agent, journal=journal)
    written = journal.episode.exited[0].stderr
    assert written is not None and journal.artifacts.read(written) == b"token [token]\n"


async def test_a_flood_of_output_is_bounded(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + "sys.stdout.write('x' * 5_000_000 + '\\nend\\n')\nact('stop', answer='x')"
    async with agent_of(script, tmp_path) as agent:
        await play(agent, journal=journal)
    said = output(journal)
    assert said.endswith("\nend\n") and len(said) < 1_300_000 and "bytes are left out" in said


async def test_what_is_no_request_is_answered_with_a_sentence(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + (
        "print(post('/v1/chat/completions', b'{'), post('/actions/goto', b'['), post('/mcp', b'7'))\n"
        "act('stop', answer='x')"
    )
    async with agent_of(script, tmp_path, Model()) as agent:
        episode = await play(agent, journal=journal)
    assert output(journal).count("(400") == 3 and episode.asked == () and episode.steps == ()


@pytest.mark.parametrize("volatile", [(), ("[0-9]+",)], ids=["none", "expression"])
async def test_a_body_that_is_nested_too_deeply_is_refused(tmp_path: Path, volatile: tuple[str, ...]) -> None:
    script = f"""{HEAD}
deep = b'{{"messages": ' + b"[" * 800 + b"1" + b"]" * 800 + b"}}"
print(post("/v1/chat/completions", deep)[0])
act("stop", answer=ask("hello"))
"""
    journal = MemoryJournal()
    async with agent_of(script, tmp_path, model := Model(), volatile=Volatile.of(volatile)) as agent:
        episode = await play(agent, *PAGES, journal=journal)
    assert output(journal) == "400\n" and len(model.seen) == len(episode.asked) == 1
    assert episode.closed is not None and episode.closed.answer == "r1"


async def test_a_run_without_a_model_says_so(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with agent_of(HEAD + "print(ask('x'))\nact('stop', answer='y')", tmp_path) as agent:
        await play(agent, journal=journal)
    assert output(journal).strip() == "404" and journal.episode.answered[1].status == 404


async def test_calls_at_once_become_steps_one_after_the_other(tmp_path: Path) -> None:
    script = HEAD + (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    list(pool.map(lambda n: act('goto', url='http://site.test/%d' % n), range(4)))\n"
        "act('stop', answer='x')"
    )
    async with agent_of(script, tmp_path) as agent:
        episode = await play(agent)
    urls = {one.decided.action.url for one in episode.steps if isinstance(one.decided.action, Goto)}
    assert urls == {f"http://site.test/{number}" for number in range(4)}


async def test_without_a_browser_it_can_only_stop(tmp_path: Path) -> None:
    journal = MemoryJournal()
    script = HEAD + (
        "print([tool['name'] for tool in task['tools']])\n"
        "print(act('goto', url='http://site.test/')['text'])\nact('stop', answer='x')"
    )
    async with agent_of(script, tmp_path, browser="none") as agent:
        episode = await play(agent, *PAGES, journal=journal)
    said = output(journal)
    assert said.startswith("['stop']\nRESULT: error: there is no function 'goto'; there are stop\n")
    assert isinstance(episode.steps[0].decided.action, InvalidAction)
    assert episode.pending is not None and isinstance(episode.pending.action, Stop)


async def test_its_folder_is_gone_afterwards(tmp_path: Path) -> None:
    journal = MemoryJournal()
    async with agent_of(HEAD + "print(os.environ['CAIRN_TASK'])\nact('stop', answer='x')", tmp_path) as agent:
        await play(agent, journal=journal)
    assert not Path(output(journal).strip()).parent.exists()
    assert isinstance(journal.records[-3], Exited)


FROM_A_FILE = HEAD.replace("json.load(sys.stdin)", "json.load(open(os.environ['CAIRN_TASK']))")
MORE_THAN_A_PIPE_HOLDS = "x" * 400_000


async def test_a_process_need_not_read_its_standard_input(tmp_path: Path) -> None:
    script = FROM_A_FILE + "act('stop', answer=str(len(task['intent'])))"
    async with agent_of(script, tmp_path) as agent, asyncio.timeout(300):
        episode = await play(agent, task=a_task(intent=MORE_THAN_A_PIPE_HOLDS))
    assert episode.closed is not None and episode.closed.answer == str(len(MORE_THAN_A_PIPE_HOLDS))


async def test_a_process_that_reads_nothing_ends_with_an_attempt_that_is_cut_off(tmp_path: Path) -> None:
    script = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write('%d ' % os.getpid()); time.sleep(600)"
    async with agent_of(script, tmp_path) as agent:
        played = asyncio.create_task(play(agent, task=a_task(intent=MORE_THAN_A_PIPE_HOLDS)))
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith(" "))
        played.cancel()
        with pytest.raises(asyncio.CancelledError):
            await played
    pid = int((tmp_path / "pid").read_text())
    try:
        await until(lambda: not alive([pid]), within_s=20)
    finally:
        for one in alive([pid]):
            one.kill()


async def test_the_process_dies_with_the_worker(tmp_path: Path) -> None:
    """The launcher sees that its lifeline has closed, whoever closed it."""
    from harness.plugins.process_agent.agent_process import AgentProcess, process_environment

    folder = tmp_path / "own"
    folder.mkdir()
    process = await AgentProcess.start(
        ("/bin/sh", "-c", "sleep 600 & sleep 600"), cwd=None, environment=process_environment({}), folder=folder
    )
    started = psutil.Process(process._process.pid)
    deadline = time.monotonic() + 20
    while len(found := started.children(recursive=True)) < 3:
        assert time.monotonic() < deadline
    assert process._lifeline is not None
    os.close(process._lifeline)
    process._lifeline = None
    assert await process.ended() == 137 and not folder.exists()
    _, alive = psutil.wait_procs(found, timeout=600)
    assert alive == []


async def test_the_folder_of_a_process_that_is_ended_is_left_to_the_worker(tmp_path: Path) -> None:
    from harness.plugins.process_agent.agent_process import AgentProcess, process_environment

    folder = tmp_path / "own"
    folder.mkdir()
    process = await AgentProcess.start(("sleep", "600"), cwd=None, environment=process_environment({}), folder=folder)
    assert await process.stop() is None and folder.exists()


WITHOUT_PROC = f"""
import ctypes, os, runpy, sys
def no_library(*args, **options):
    raise OSError
ctypes.CDLL = no_library
there = os.listdir
def listdir(path):
    if path == "/proc":
        raise FileNotFoundError(2, "No such file or directory", path)
    return there(path)
os.listdir = listdir
sys.argv[0] = {launcher.__file__!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""The launcher on a machine that has no /proc and no subreapers, such as one with macOS."""


@pytest.mark.parametrize("script", ["exit 0", "sleep 100 & exit 7", "kill -9 $$"])
def test_without_proc_the_code_is_that_of_the_command(tmp_path: Path, script: str) -> None:
    lifeline, ours = os.pipe()
    started = (sys.executable, "-c", WITHOUT_PROC, str(lifeline), str(tmp_path / "none"), "/bin/sh", "-c", script)
    done = subprocess.run(started, pass_fds=[lifeline], capture_output=True, timeout=60, check=False)
    os.close(lifeline)
    os.close(ours)
    expected = {"exit 0": 0, "kill -9 $$": 137}.get(script, 7)
    assert (done.returncode, done.stderr) == (expected, b"")


def test_without_proc_all_ends_with_the_worker(tmp_path: Path) -> None:
    lifeline, ours = os.pipe()
    script = "sleep 100 & setsid sleep 100 & sleep 100"
    process = subprocess.Popen(
        (sys.executable, "-c", WITHOUT_PROC, str(lifeline), str(tmp_path / "none"), "/bin/sh", "-c", script),
        pass_fds=[lifeline],
    )
    os.close(lifeline)
    started = psutil.Process(process.pid)
    deadline = time.monotonic() + 20
    while len(found := started.children(recursive=True)) < 4:
        assert time.monotonic() < deadline
    os.close(ours)
    assert process.wait(30) == 137
    _, alive = psutil.wait_procs(found, timeout=600)
    assert alive == []
