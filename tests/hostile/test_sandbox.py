"""A hostile agent in the sandbox: none of its tries gets anything, and those that can be seen are recorded."""

import asyncio
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from harness.actions import CairnActionSet
from harness.agents.tools_agent import ToolBox
from harness.choices import Sandbox
from harness.errors import ConfigError, InfraError
from harness.loopback_server import serving
from harness.plugins.process_agent import session
from harness.plugins.process_agent.file_view import view_of
from harness.plugins.process_agent.process_plan import ProcessPlan
from harness.plugins.process_agent.session import ProcessAgent
from harness.plugins.process_agent.violations import MOST
from harness.records import Episode
from harness.sandbox.bubblewrap import choose_sandbox
from harness.settings.process_agent import ProcessSettings
from harness.testing import MemoryJournal, play
from tests.hostile import hostile_agent

SANDBOX, WHY_NOT = choose_sandbox(Sandbox.auto)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(SANDBOX is None, reason=WHY_NOT or "-"),
]
SECRET = "hunter2-of-the-harness"
SCRIPT = Path(hostile_agent.__file__).read_text()


@dataclass(frozen=True)
class World:
    """What is around the agent, and what it knows of it."""

    folder: Path
    known: dict[str, Any]
    reached: list[str]
    """What got to a server of this world."""
    hidden: tuple[Path, ...]

    async def play(self, ending: str, journal: MemoryJournal, *, timeout_s: float = 120.0) -> Episode:
        """An episode in which the agent does one thing."""
        script = self.folder / "agent" / "hostile_agent.py"
        plan = ProcessPlan(
            settings=ProcessSettings(cwd=str(script.parent), timeout_s=timeout_s),
            command=(sys.executable, str(script), json.dumps(self.known), ending),
            sandbox=SANDBOX,
            hidden=self.hidden,
        )
        box = ToolBox(tuple(CairnActionSet().actions))
        return await play(ProcessAgent(plan=plan, box=box, passthrough=None, stopping=_never), journal=journal)


async def _never() -> None:
    await asyncio.Event().wait()


def _write(path: Path, text: str = SECRET) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Tasks, a run and keys around the agent's own folder, and servers on this machine."""
    folder, reached = tmp_path_factory.mktemp("world"), list[str]()
    agent, home = folder / "agent", folder / "home"
    _write(agent / "hostile_agent.py", SCRIPT)
    _write(agent / ".env")
    tasks, journal = _write(agent / "tasks" / "tasks.json"), _write(agent / "results" / "run" / "0.traj.jsonl")
    _write(agent / "results" / "run" / "artifacts" / "ab" / "abcd")
    _write(home / ".ssh" / "id_rsa")
    _write(home / "secret.txt")

    async def site(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": SECRET.encode()})

    with ExitStack() as closing, pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(home))
        patched.setenv("SECRET_OF_THE_HARNESS", SECRET)
        lane = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="cairn-agent-")))
        _write(lane / "task.json")
        listeners = [closing.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        named, abstract = f"{folder}/socket", f"cairn-{secrets.token_hex(8)}"
        for address in (named, "\0" + abstract):
            one = closing.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(address)
            one.listen()
            listeners.append(one)
        for one in listeners:
            one.setblocking(False)
        async with serving(site) as port:
            known = {
                **{"tasks": str(tasks), "journal": str(journal), "artifacts": str(journal.parent / "artifacts")},
                **{"lane": str(lane), "home": str(home), "outside": str(_write(folder / "outside.txt"))},
                **{"environment": SECRET, "harness": os.getpid(), "code": session.__file__},
                **{"site": f"http://127.0.0.1:{port}/", "port": port, "token": secrets.token_urlsafe(32)},
                **{"debugging": listeners[0].getsockname()[1], "gateway": listeners[1].getsockname()[1]},
                **{"socket": named, "abstract": abstract, "marker": f"{secrets.randbelow(10**9) + 10**9}"},
            }
            hidden = (agent / "results", journal.parent, tasks.parent, tasks, Path(session.__file__).parents[1])
            yield World(folder, known, reached, hidden)
        for one in listeners:
            with pytest.raises(BlockingIOError):
                one.accept()
    assert reached == [], "a site was reached past the browser"


@dataclass(frozen=True)
class Found:
    tries: dict[str, tuple[str, str]]
    """Name to what it got, and what it was told."""
    recorded: list[str]
    episode: Episode


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def found(world: World) -> Found:
    """All tries of one agent."""
    journal = MemoryJournal()
    episode = await world.play("tries", journal)
    ended = episode.exited[0]
    output = journal.artifacts.read(ended.stdout).decode() if ended.stdout else ""
    tries = json.loads(output)["answer"]
    return Found(tries, [f"{one.guarded.value}: {one.what}" for one in episode.violations], episode)


@pytest.mark.parametrize("name", hostile_agent.TRIES)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_try_gets_nothing(found: Found, name: str) -> None:
    got, why = found.tries[name]
    assert got == "", f"{name} succeeded: {got} ({why})"


RECORDED = {
    "task file": "files: opened {tasks}",
    "task folder": "files: listed {task_folder}",
    "journal": "files: opened {journal}",
    "artifacts": "files: listed {artifacts}",
    "key of ssh": "files: opened {home}/.ssh/id_rsa",
    "home folder": "files: listed {home}",
    "key in the agent's folder": "files: opened {agent}/.env",
    "site": "network: TCP to 127.0.0.1:{port}",
    "site over IPv6": "network: TCP to [::1]:{port}",
    "debugging port": "network: TCP to 127.0.0.1:{debugging}",
    "address of the world": "network: TCP to 192.0.2.7:443",
    "address of the world over IPv6": "network: TCP to [2001:db8::7]:443",
    "DNS": "network: DNS query for stolen.example",
    "UDP": "network: UDP to 192.0.2.8:5353",
    "proxy": "network: TCP to 192.0.2.9:3128",
    "other lane's gateway": "network: TCP to 127.0.0.1:{gateway}",
    "other lane's token": "gateway: POST /actions/stop with a token that is not of this episode",
    "forged token": "gateway: POST /v1/chat/completions with a token that is not of this episode",
    "no token": "gateway: POST /task with no token",
}


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_try_that_can_be_seen_is_recorded(world: World, found: Found, name: str) -> None:
    agent, tasks = world.folder / "agent", Path(world.known["tasks"])
    wanted = RECORDED[name].format(**world.known, agent=agent, task_folder=tasks.parent)
    assert wanted in found.recorded


@pytest.mark.asyncio(loop_scope="module")
async def test_the_process_is_said_to_be_confined(found: Found) -> None:
    (ended,) = found.episode.exited
    assert ended.sandbox == "bubblewrap" and ended.violations >= len(RECORDED) and not found.episode.is_unconfined
    assert len(found.recorded) == len(set(found.recorded)) <= MOST


@pytest.mark.sample(2)
@pytest.mark.parametrize("ending", ["link", "FIFO", "folder", "huge", "flood"])
@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_that_is_no_file_is_no_answer(world: World, ending: str) -> None:
    journal = MemoryJournal()
    episode = await world.play(ending, journal)
    assert episode.closed is not None and episode.closed.answer == ""
    ended = episode.exited[0]
    assert ended.stdout is None or len(journal.artifacts.read(ended.stdout)) < 1_300_000


@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_outlives_it(world: World) -> None:
    await world.play("outlive", MemoryJournal())
    assert [
        one for one in psutil.process_iter(["cmdline"]) if world.known["marker"] in (one.info["cmdline"] or ())
    ] == []


@pytest.mark.asyncio(loop_scope="module")
async def test_a_signal_to_all_ends_only_itself(world: World) -> None:
    journal = MemoryJournal()
    with pytest.raises(InfraError):
        await world.play("kill", journal)
    assert journal.episode.exited[0].code == 137


@pytest.mark.asyncio(loop_scope="module")
async def test_one_that_is_ended_is_not_accused_of_the_removal_of_its_masks(world: World) -> None:
    episode = await world.play("hang", MemoryJournal(), timeout_s=2.0)
    (ended,) = episode.exited
    assert ended.code is None and [one.what for one in episode.violations] == [] and ended.violations == 0


@pytest.mark.asyncio(loop_scope="module")
async def test_requests_that_never_end_are_bounded(world: World) -> None:
    episode = await world.play("loris", MemoryJournal())
    assert episode.closed is not None and episode.closed.answer == "600 True"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_storm_of_tries_is_counted_and_not_written(world: World) -> None:
    episode = await world.play("storm", MemoryJournal())
    assert episode.closed is not None and episode.closed.answer == "done"
    assert len(episode.violations) == MOST and episode.exited[0].violations > 1000


def test_too_wide_a_folder_is_refused(tmp_path: Path) -> None:
    for folder in ("/", tempfile.gettempdir()):
        with pytest.raises(ConfigError, match="too wide"):
            view_of((sys.executable,), cwd=folder)
    with pytest.raises(ConfigError, match="must not read"):
        view_of((sys.executable,), cwd=str(tmp_path), hidden=(tmp_path.parent,))
