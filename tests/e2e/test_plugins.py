"""A stranger's package beside Cairn: agent, evaluator, action, site, tasks and a benchmark with its own reward.

Nothing is changed in this repository for it.
"""

import ast
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from harness.journal.log import read
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from harness.records import CloseReason, Episode
from tests.e2e.conftest import PROJECT, Start
from tests.e2e.test_run import decided, running
from tests.waiting import alive, wait_until

Starter = Callable[..., Start]
SOURCE = Path(__file__).parent / "plugin" / "lantern"
RUN = ("task=lantern", "+agent=adder", "llm=none", "workers=1")


class Pages(BaseHTTPRequestHandler):
    """`/3` holds the number 3."""

    def do_GET(self) -> None:
        time.sleep(0.1)
        body = f"<!doctype html><title>Lantern</title><p>number {self.path.strip('/') or 0}</p>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def wheel(folder: Path, *, version: str = "1.0", without: str = "none") -> Path:
    """A wheel made by hand, as nothing can be fetched to build one."""
    info = f"lantern-{version}.dist-info"
    files = {
        f"lantern/{path.relative_to(SOURCE)}": path.read_bytes()
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix in (".py", ".yaml", ".json") and without not in path.parts
    }
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: lantern\nVersion: {version}\n".encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/entry_points.txt"] = (
        b"[cairn.plugins]\nlantern = lantern\n[cairn.actions]\nturn_to = lantern.action:TurnTo\n"
        b"[cairn.providers]\ntelegraph = lantern.provider:Telegraph\n"
        b"[cairn.commands]\nlantern = lantern.command\n[cairn.exports]\nlantern = lantern.export:Lines\n"
    )
    files[f"{info}/top_level.txt"] = b"lantern\n"
    record = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    path = folder / f"lantern-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in {**files, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(name, data)
    return path


def install(built: Path, place: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--upgrade"]
    done = subprocess.run([*pip, "--target", str(place), str(built)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def beside(tmp_path: Path, site: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the plug-in is installed, beside Cairn; every command of the test finds it."""
    install(wheel(tmp_path), tmp_path / "installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "installed"), str(PROJECT))))
    monkeypatch.setenv("LANTERN", site)
    return tmp_path / "installed"


def harness(*arguments: str) -> str:
    """What a sub-command prints."""
    command = [sys.executable, "-m", "harness.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def state_of_the_repository() -> str:
    files = sorted(path for name in ("harness", "configs", "tasks") for path in (PROJECT / name).rglob("*"))
    state = hashlib.sha256()
    for path in files:
        if path.is_file() and path.suffix != ".pyc":
            state.update(f"{path} {path.stat().st_mtime_ns}".encode())
    return state.hexdigest()


def killed_and_resumed(start: Starter, results: Path, *chosen: str, executor: str) -> list[Episode]:
    """The episodes of two tasks of six steps, whose run was killed after three and started again."""
    folder = results / executor
    command = (*chosen, f"executor={executor}", f"run.id={executor}")
    with running(*command, root=results) as process:
        wait_until(lambda: decided(folder) >= 3, within_s=180)
        family = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_until(lambda: not alive(one.pid for one in family))
    assert 3 <= decided(folder) < 12
    resumed = start(*command, "fail_under=1.0")
    assert resumed.code == 0, resumed.out + resumed.err
    assert decided(folder) == 12, "a decision was made twice"
    return [read(path) for path in sorted(folder.glob("*.traj.jsonl"))]


@pytest.mark.browser
@pytest.mark.slow
def test_an_installed_plugin_is_run_killed_resumed_reported_and_compared(
    start: Starter, tmp_path: Path, beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state_of_the_repository()
    monkeypatch.syspath_prepend(beside)  # so that this process, too, knows the kind of its action
    results = tmp_path / "results"
    for executor in ("processes", "inline"):
        episodes = killed_and_resumed(start, results, *RUN, executor=executor)
        assert [episode.closed and episode.closed.answer for episode in episodes] == ["21", "21"]
        memory = episodes[0].memory
        assert memory["numbers"] == [1, 2, 3, 4, 5, 6]
        assert len(set(memory["processes"])) == 2, "its memory came back in another process"
        assert {step.decided.action.kind for step in episodes[0].steps} == {"turn_to"}
        (total,) = episodes[0].scores["corrected"].verdicts
        assert (total.evaluator, total.value, total.why) == ("total", 1.0, "the answer is '21', the total 21")

    assert "report/index.html" in harness("report", str(results / "inline"))
    assert "2" in harness("compare", str(results / "processes"), str(results / "inline"))
    assert "2 passed" in harness("score", str(results / "inline"), "task=lantern")
    assert state_of_the_repository() == before


@pytest.mark.slow
@pytest.mark.browser
def test_an_installed_benchmark_gives_rewards_and_ends_its_episodes(
    start: Starter, tmp_path: Path, beside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(beside)
    results, chosen = tmp_path / "results", ("task=row", "agent=walker", "llm=none", "workers=1", "run.seed=5")
    for executor in ("processes", "inline"):
        for episode in killed_and_resumed(start, results, *chosen, executor=executor):
            rewards = [step.acted.reward for step in episode.steps]
            assert rewards == [number / 6 for number in range(1, 7)]
            assert [step.acted.done for step in episode.steps] == [False] * 5 + [True]
            assert episode.closed is not None and episode.closed.reason is CloseReason.DONE
            assert "begins with 5" in (episode.arrival.observation.text if episode.arrival else "")
            verdicts = [(one.evaluator, one.value, one.why) for one in episode.scores["corrected"].verdicts]
            assert verdicts == [("reward", 1.0, "the last reward is 1"), ("seeded", 1.0, "seed 5")]
    assert "report/index.html" in harness("report", str(results / "inline"))
    assert "2 passed" in harness("score", str(results / "inline"), "task=row")
    assert "2" in harness("compare", str(results / "processes"), str(results / "inline"))


class Wire(BaseHTTPRequestHandler):
    """An endpoint of the package's wire format, whose model only ever scrolls."""

    asked: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.asked.append(self.rfile.read(int(self.headers["Content-Length"])))
        words = "In summary, the next action is ```scroll [down]```"
        body = json.dumps({"words": words, "station": "wire-1", "in": 70, "out": 8}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.mark.browser
def test_an_installed_provider_stop_rule_command_and_export_need_no_change(start: Starter, beside: Path) -> None:
    before = state_of_the_repository()
    with ThreadingHTTPServer(("127.0.0.1", 0), Wire) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        played = start(
            *("task=row", "agent=prompt", "+task.arguments.patience=2", "limits.repeated_actions=null", "workers=1"),
            *("llm=openai", "llm.api=telegraph", "llm.model=wire-1", "llm.api_key=k"),
            f"llm.base_url=http://127.0.0.1:{server.server_port}/v1",
        )
        server.shutdown()
    assert played.code == 0, played.out + played.err
    assert all(set(json.loads(body)) == {"telegram", "station"} for body in Wire.asked) and len(Wire.asked) == 4
    for path in played.folder.glob("*.traj.jsonl"):
        episode = read(path)
        assert episode.closed is not None
        assert (episode.closed.reason, episode.closed.detail) == (CloseReason.DONE, "2 times scroll is enough")
        assert episode.total_usage.prompt_tokens == 140
    assert harness("lantern", str(played.folder)) == "4 scroll\n"
    (written,) = [
        line for line in harness("export", "lantern", str(played.folder)).splitlines() if "lantern.jsonl" in line
    ]
    rows = [json.loads(line) for line in Path(written.split()[-1]).read_text().splitlines()]
    assert rows == [{"task": f"row-{number}", "steps": 2, "status": "failed"} for number in range(2)]
    assert state_of_the_repository() == before


def test_the_package_is_written_against_what_is_public() -> None:
    public = {"harness.api", "harness.runs", "harness.testing"}
    found = {
        node.module
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("harness")
    }
    assert found <= public


@pytest.mark.slow
@pytest.mark.browser
def test_an_installed_renderer_writes_what_an_agent_is_shown(start: Starter, beside: Path) -> None:
    chosen = ("task.ids=[0,1]", "observation._target_=lantern.renderer.Flat", "+observation.arguments.heading=FLAT")
    done = start(*chosen, "fail_under=1.0")
    assert done.code == 0, done.out + done.err
    artifacts = ArtifactStore(done.folder / "artifacts")
    for path in done.folder.glob("*.traj.jsonl"):
        episode = read(path)
        assert episode.arrival is not None
        seen = episode.arrival.observation
        tabs = seen.text.partition("\n\n")[0]
        assert seen.shown is not None and seen.shown.startswith(f"{tabs}\n\nFLAT\n[")
        assert "\t" in seen.text and "\t" not in seen.shown, "what pages are compared by stays as it was"
        question = read_message(episode.steps[0].decided.prompt[-1], artifacts)
        assert question["content"].startswith(f"OBSERVATION:\n{seen.shown}\n")
    changed = start("task.ids=[0,1]")
    assert changed.code == 2 and "observation._target_" in changed.err
