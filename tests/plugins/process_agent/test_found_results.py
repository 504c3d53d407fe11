"""A confined process reads no results of other runs, wherever they are in its folders, and reaches no other program
through a socket or a pipe in them.
"""

import asyncio
import contextlib
import io
import json
import os
import socket
import sys
from pathlib import Path

import pytest

from harness.actions import CairnActionSet
from harness.agents.kind import AgentContext, LaneServices
from harness.choices import OnDivergence, Sandbox
from harness.errors import ConfigError
from harness.plugins.bundles.archive import write_archive
from harness.plugins.html_report.pages import TEMPLATES
from harness.plugins.process_agent import found_results
from harness.plugins.process_agent.found_results import results_in
from harness.plugins.process_agent.kind import build_process_agent
from harness.plugins.process_agent.session import ProcessAgent
from harness.sandbox.bubblewrap import choose_sandbox
from harness.settings.observation import ObservationSettings
from harness.settings.process_agent import ProcessSettings
from harness.testing import MemoryJournal, play

SANDBOX, WHY_NOT = choose_sandbox(Sandbox.auto)
ANSWER = "the reference answer"
READS = """
import json, os, sys, urllib.request
def text(path):
    try: return open(path, "rb").read().decode("latin-1")
    except OSError as error: return type(error).__name__
found = {path: text(path) for path in json.load(open("paths.json"))}
print(json.dumps({"answer": json.dumps(found)}))
"""


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def results(tmp_path: Path) -> list[Path]:
    """Files of results in the folder of an agent: of a run under another root, two bundles, and reports, old and new."""
    place = tmp_path / "agent"
    bundle = place / "mine.cairn"
    bundle.parent.mkdir()
    with bundle.open("wb") as file:
        write_archive(file, [("0.traj.jsonl", ANSWER.encode())])
    report = (TEMPLATES / "layout.html").read_text() + ANSWER
    old = report.replace('<meta name="generator" content="Cairn">', "")
    return [
        write(place / "results-june" / "deep" / "first" / "0.traj.jsonl", ANSWER.encode()),
        write(place / "results-june" / "deep" / "first" / "artifacts" / "ab" / "cd", ANSWER.encode()),
        write(place / "results-june" / "deep" / "first" / "summary.json", ANSWER.encode()),
        bundle,
        write(place / "kept" / "JUNE.ZST", bundle.read_bytes()),
        write(place / "docs" / "report.html", report.encode()),
        write(place / "docs" / "old.HTM", old.encode()),
    ]


CONTEXT = AgentContext(
    observation=ObservationSettings(),
    action_set=CairnActionSet(),
    viewport=(1280, 720),
    api="chat",
    model="m",
    on_divergence=OnDivergence.restart,
)


def an_agent(folder: Path, program: str = READS) -> ProcessAgent:
    script = write(folder / "reads.py", program.encode())
    settings = ProcessSettings(command=(sys.executable, str(script)), cwd=str(folder), sandbox=Sandbox.auto)
    services = LaneServices(passthrough=_no_model, stopping=asyncio.Event().wait, hidden=tuple)  # type: ignore[arg-type]
    return build_process_agent(settings, CONTEXT, services, None)


async def _no_model(_: str | None) -> None:
    return None


def test_results_are_found_and_other_files_are_not(tmp_path: Path, results: list[Path]) -> None:
    place = tmp_path / "agent"
    write(place / "index.html", b"<!doctype html><title>Cairn</title>")
    write(place / "data.zst", b"\x28\xb5\x2f\xfd of something else")
    write(place / "results.json", b"{}")
    (place / "link").symlink_to("/")
    assert set(results_in([place])) == {results[0].parent, *results[3:]}


def test_links_that_lead_nowhere_are_not_followed_and_end_nothing(tmp_path: Path, results: list[Path]) -> None:
    place = tmp_path / "agent"
    for name in ("circle", "circle.html", "circle.zst"):
        (place / name).symlink_to(name)
    assert set(results_in([place])) == {results[0].parent, *results[3:]}


def test_a_run_folder_is_no_place_for_an_agent(results: list[Path]) -> None:
    with pytest.raises(ConfigError, match="is a run folder, which the agent must not read"):
        list(results_in([results[0].parent]))


def test_folders_that_cannot_be_looked_through_are_refused(
    tmp_path: Path, results: list[Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(found_results, "_MOST_ENTRIES", 3)
    with pytest.raises(ConfigError, match="more than 3 files"):
        list(results_in([tmp_path / "agent"]))
    list(results_in([tmp_path / "agent"], limited=False))
    assert "an agent's process could read them" in caplog.text


@pytest.mark.integration
@pytest.mark.skipif(SANDBOX is None, reason=WHY_NOT or "-")
async def test_a_confined_process_reads_none_of_them_and_its_tries_are_recorded(
    tmp_path: Path, results: list[Path]
) -> None:
    write(tmp_path / "agent" / "paths.json", json.dumps(list(map(os.fspath, results))).encode())
    episode = await play(an_agent(tmp_path / "agent"), "[1] link 'one'", journal=(journal := MemoryJournal()))
    assert episode.closed is not None, journal.records
    found = json.loads(episode.closed.answer)
    assert set(found) == set(map(os.fspath, results)) and not any(ANSWER in text for text in found.values())
    tried = " ".join(one.what for one in episode.violations)
    assert all(path.name in tried for path in (results[0], results[3], results[5])), tried


DOORS = """
import json, os, socket
def connect():
    with socket.socket(socket.AF_UNIX) as one: one.connect("deep/socket")
def write():
    os.write(os.open("deep/pipe", os.O_WRONLY | os.O_NONBLOCK), b"x")
def said(way):
    try: way()
    except OSError as error: return type(error).__name__
    return "through"
print(json.dumps({"answer": json.dumps([said(connect), said(write)])}))
"""


@pytest.mark.integration
@pytest.mark.skipif(SANDBOX is None, reason=WHY_NOT or "-")
async def test_a_confined_process_reaches_no_program_through_a_socket_or_a_pipe_of_its_folder(tmp_path: Path) -> None:
    (deep := tmp_path / "agent" / "deep").mkdir(parents=True)
    os.mkfifo(deep / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, _read(deep / "pipe") as reading:
        listener.setblocking(False)
        with contextlib.chdir(deep):  # the path of a socket is short
            listener.bind("socket")
        listener.listen()
        assert set(results_in([tmp_path / "agent"])) == {deep / "pipe", deep / "socket"}
        episode = await play(an_agent(tmp_path / "agent", DOORS), "[1] link 'one'")
        assert (
            episode.closed is not None and "Error" in episode.closed.answer and "through" not in episode.closed.answer
        )
        with pytest.raises(BlockingIOError):
            listener.accept()
        assert not reading.read(1)


def _read(pipe: Path) -> io.FileIO:
    return io.FileIO(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
