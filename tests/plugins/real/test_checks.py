"""REAL's checks, start and limits beside its own code (`make test-published` installs it), and its programs in the sandbox."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from harness.api import EvaluatorError
from harness.choices import Sandbox
from harness.cli import configured
from harness.errors import TaskError
from harness.plugins.real.check_scripts import CheckScripts
from harness.plugins.real.real import Real
from harness.plugins.real.script import run_script
from harness.plugins.real.state_checks import StateChecks
from harness.records import Task
from harness.sandbox.bubblewrap import choose_sandbox
from harness.testing import ScriptedPage
from tests.benchmarks.test_live_benchmarks import Asked, loaded, recorded
from tests.e2e.conftest import PROJECT
from tests.plugins.real import reference
from tests.plugins.real.states import changed, holding, odd_values

PYTHON = PROJECT / ".venv-published/real/bin/python"
needs_package = pytest.mark.skipif(not PYTHON.exists(), reason="make test-published installs agisdk")
SANDBOX, WHY_NOT = choose_sandbox(Sandbox.auto)
needs_sandbox = pytest.mark.skipif(SANDBOX is None, reason=WHY_NOT)
Case = dict[str, Any]


def theirs(checks: Sequence[Case] = (), starts: Sequence[str] = ()) -> dict[str, Any]:
    asked = json.dumps({"checks": checks, "starts": starts})
    done = subprocess.run([str(PYTHON), reference.__file__], input=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@cache
def published() -> dict[str, Any]:
    """The package's limits, and where it is."""
    return theirs()


def tasks_of(version: str) -> list[dict[str, Any]]:
    folder = Path(published()["root"]) / "browsergym/webclones" / version / "tasks"
    return [json.loads(file.read_bytes()) for file in sorted(folder.glob("*.json"))]


def written(folder: Path, checks: Sequence[Case], **fields: Any) -> Path:
    """A task file as the package has it, with a folder for programs beside its own."""
    (folder / "tasks").mkdir(exist_ok=True)
    file = folder / "tasks" / "t.json"
    row = {"id": "t", "goal": "x", "website": {"id": "s", "url": "https://a.com"}, "evals": checks, **fields}
    file.write_text(json.dumps(row))
    return file


async def ours(file: Path, case: Case) -> float:
    """As a run scores it."""
    (task,) = loaded(Real(str(file)))
    judge = Asked(*["met" if float(case["grade"]) > 0.8 else "not met"] * len(case["checks"]))
    found = await StateChecks(CheckScripts(file)).evaluate_judged(
        recorded(task, case["answer"], json.loads(case["state"])), judge
    )
    return found.value


def cases() -> Iterator[Case]:
    """The tasks' own checks on states that hold them, on such with one value changed, and on others; and made-up checks."""
    draw = Random(5)
    for task in tasks_of("v1"):
        state = holding(task["evals"])
        for grade in ("0.9", "0.8"):
            yield {"checks": task["evals"], "state": json.dumps(state), "answer": "a", "grade": grade}
        for other in (changed(state, draw), changed(state, draw), {}, {"differences": None}):
            yield {"checks": task["evals"], "state": json.dumps(other), "answer": "a", "grade": "1"}
    values = odd_values()
    for wanted in values:
        for found in (wanted, *draw.sample(values, 12)):
            check = {"type": "jmespath", "query": "a", "expected_value": wanted}
            yield {"checks": [check], "state": json.dumps({"a": found}), "answer": "", "grade": "0"}


@needs_package
async def test_scores_are_those_of_the_package(tmp_path: Path) -> None:
    chosen, kinds = list(cases()), Counter[str]()
    for case, value in zip(chosen, theirs(chosen)["scores"], strict=True):
        mine = await ours(written(tmp_path, case["checks"]), case)
        kinds["passed" if value else "failed"] += 1
        if mine != value:  # the only difference, as the page says: `true` is not 1, nor `false` 0
            texts = (json.dumps(case["checks"][0]["expected_value"]), case["state"])
            assert mine == 0.0 and ["true" in one or "false" in one for one in texts].count(True) == 1, case
            kinds["named"] += 1
    assert kinds["passed"] > 120 and kinds["failed"] > 400 and 0 < kinds["named"] < 30, kinds


@needs_package
@needs_sandbox
@pytest.mark.slow  # two processes for each of 121 programs
async def test_programs_give_what_the_package_runs_them_for(tmp_path: Path) -> None:
    orders = {"0": {"cartItems": [{"name": "Noodles"}], "checkoutDetails": {"charges": {"totalAmount": 12.5}}}}
    state = json.dumps({"initialfinaldiff": {"added": {"cart": {"foodOrders": orders}}}, "differences": {}})
    chosen = [
        {"checks": task["evals"], "state": one, "answer": "", "grade": "0"}
        for task in tasks_of("v2")
        for one in (("{}", state) if task["id"].startswith(("dash", "goca")) else (state,))
    ]
    (tmp_path / "eval_scripts").symlink_to(Path(published()["root"]) / "browsergym/webclones/v2/eval_scripts")
    scores = theirs(chosen)["scores"]
    for case, value in zip(chosen, scores, strict=True):
        assert await ours(written(tmp_path, case["checks"], version="v2"), case) == value, case["checks"]
    assert 0 < sum(scores) < len(scores)


@needs_package
async def test_an_episode_begins_as_in_the_package() -> None:
    chosen = [f"v1.{task['id']}" for task in tasks_of("v1")[::20]] + [
        f"v2.{task['id']}" for task in tasks_of("v2")[::20]
    ]
    for name, opened in theirs(starts=chosen)["starts"].items():
        version, _, task_id = name.partition(".")
        folder = Path(published()["root"]) / "browsergym/webclones" / version / "tasks"
        benchmark, page = Real(str(folder / f"{task_id}.json")), Tabs()
        (task,) = loaded(benchmark)
        await benchmark.prepare(page, task)
        assert page.opened == [
            (tab, url.replace("//config", "/config").replace("//finish", "/finish").rstrip("/")) for tab, url in opened
        ]


class Tabs(ScriptedPage):
    """Keeps what is opened, by tab."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[tuple[str, str]] = []
        self._tab = "agent"

    async def goto(self, url: str) -> None:
        self.opened.append((self._tab, url.rstrip("/")))
        await super().goto(url)

    def tab(self, url: str) -> Any:
        self._tab = "second"
        self.opened.append((self._tab, url))
        within = super().tab(url)
        return _Closing(self, within)


class _Closing:
    def __init__(self, tabs: Tabs, within: Any) -> None:
        self._tabs, self._within = tabs, within

    async def __aenter__(self) -> Any:
        return await self._within.__aenter__()

    async def __aexit__(self, *raised: Any) -> None:
        await self._within.__aexit__(*raised)
        self._tabs._tab = "agent"


@needs_package
@needs_sandbox
def test_limits_and_tasks_are_those_of_the_package() -> None:
    limits = published()["limits"]
    config = configured(["task=real", "task.path=x"])
    assert config.limits.max_steps == limits["max_steps"]
    assert {"width": config.browser.width, "height": config.browser.height} == limits["viewport"]
    for version, number in limits["tasks"].items():
        folder = Path(published()["root"]) / "browsergym/webclones" / version / "tasks"
        assert len(loaded(Real(str(folder)))) == number


# --- programs ---------------------------------------------------------------------------------------


def with_script(folder: Path, text: str, name: str = "eval_t.py") -> Path:
    (folder / "eval_scripts").mkdir(exist_ok=True)
    (folder / "eval_scripts" / name).write_text(text)
    return written(folder, [{"script": name}], version="v2")


READS = "import json, sys\ndata = json.load(open(sys.argv[1]))\n"


@needs_sandbox
@pytest.mark.parametrize(
    ("text", "value", "why"),
    [
        (f"{READS}print('success' if data['id'] == {2**64 + 1} else 'no')", 1.0, "all 1 checks hold"),
        ("print('FAILURE: too dear')", 0.0, "the check eval_t.py writes FAILURE: too dear"),
        ("raise SystemExit('no orders')", 0.0, "the check eval_t.py writes no orders"),
        (f"{READS}print(data['none'])", 0.0, "KeyError: 'none'"),
        ("pass", 0.0, "the check eval_t.py writes nothing"),
        ("print('not a ' + 'success')", 1.0, "all 1 checks hold"),
    ],
)
async def test_a_program_passes_by_what_it_writes(tmp_path: Path, text: str, value: float, why: str) -> None:
    file = with_script(tmp_path, text)
    (task,) = loaded(Real(str(file)))
    assert "success" not in json.dumps(task.metadata).lower(), "an agent cannot read it"
    found = await StateChecks(CheckScripts(file)).evaluate_judged(recorded(task, "", {"id": 2**64 + 1}), Asked())
    assert found.value == value and why in found.why


@needs_sandbox
async def test_a_program_is_confined(tmp_path: Path) -> None:
    assert SANDBOX is not None
    secret = tmp_path / "secret.txt"
    secret.write_text("k-1")
    text = f"""
import json, os, socket, sys
found = {{"environment": sorted(set(os.environ) - {{"PWD", "LC_CTYPE"}}), "root": sorted(os.listdir("/"))}}
def fails(what):
    try:
        what()
    except (OSError, MemoryError) as error:
        return type(error).__name__
found["secret"] = fails(lambda: open({str(secret)!r}))
found["home"] = os.listdir({str(Path.home())!r}) if os.path.isdir({str(Path.home())!r}) else []
found["passwd"] = fails(lambda: open("/etc/passwd"))
found["network"] = fails(lambda: socket.create_connection(("192.0.2.1", 80), 2))
found["writes"] = [fails(lambda: open(place, "w")) for place in ("x", "/tmp/x", "/dev/shm/x", "/usr/x", sys.argv[1])]
found["memory"] = fails(lambda: bytearray(2 << 30))
print(json.dumps(found))
"""
    end = await run_script(SANDBOX, text.encode(), b"{}", limit_s=30)
    found = json.loads(end.stdout)
    python = Path(sys.base_prefix)
    way = python.relative_to(Path.home()).parts[:1] if python.is_relative_to(Path.home()) else ()
    assert found["environment"] == [] and found["home"] == list(way), found
    assert not set(found["root"]) & {"etc", "home", "work", "tmp", "var", "srv", "mnt"}
    assert [found[name] for name in ("secret", "passwd")] == ["FileNotFoundError"] * 2
    assert found["network"] == "OSError" and found["memory"] == "MemoryError" and None not in found["writes"]


TYPES_INTO_THE_TERMINAL = b"""
import fcntl, os, termios
terminal = os.open("/dev/tty", os.O_RDWR)
os.write(terminal, b"said by the script")
fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
"""


@needs_sandbox
def test_a_program_cannot_write_or_type_into_the_persons_terminal() -> None:
    assert SANDBOX is not None
    child, terminal = pty.fork()  # its terminal, as a shell gives a command one
    if child == 0:
        end = asyncio.run(run_script(SANDBOX, TYPES_INTO_THE_TERMINAL, b"", limit_s=30))
        os.write(1, end.stderr.encode()[-300:])
        os._exit(0)
    seen = b""
    with suppress(OSError):  # the terminal is gone with its process
        while part := os.read(terminal, 4096):
            seen += part
    os.waitpid(child, 0)
    os.close(terminal)
    assert b"No such device or address: '/dev/tty'" in seen and b"said by the script" not in seen, seen


@needs_sandbox
async def test_a_program_that_does_not_end_is_ended_with_all_it_started() -> None:
    assert SANDBOX is not None
    text = b"import os, time\ntry:\n    os.fork()\nexcept OSError:\n    pass\ntime.sleep(1000 + 0.125)"
    with pytest.raises(TimeoutError):
        await run_script(SANDBOX, text, b"", limit_s=1)
    commands = list[str]()
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # also a zombie, which another test of this process has left
            commands.append(" ".join(one.cmdline()))
    assert not [one for one in commands if "limited.py" in one], "killing bubblewrap ends what is in it"


@needs_sandbox
async def test_what_a_program_writes_is_bounded() -> None:
    assert SANDBOX is not None
    end = await run_script(SANDBOX, b"for _ in range(100): print('x' * 100_000)", b"", limit_s=30)
    assert len(end.stdout) < 1 << 20 and "File too large" in end.stderr


@needs_sandbox
async def test_only_the_program_that_the_task_was_loaded_with_is_run(tmp_path: Path) -> None:
    file = with_script(tmp_path, "print('SUCCESS')")
    (task,) = loaded(Real(str(file)))
    with_script(tmp_path, "print('SUCCESS') ")
    with pytest.raises(EvaluatorError, match=r"is not the file eval_t\.py that the task was loaded with"):
        await judged(task, file)
    (tmp_path / "eval_scripts/eval_t.py").unlink()
    with pytest.raises(EvaluatorError, match=r"cannot be read from .*eval_t.py \(No such file or directory\)"):
        await judged(task, file)
    with pytest.raises(EvaluatorError, match=r"needs the folder of the tasks; give task\.path"):
        await StateChecks(CheckScripts(None)).evaluate_judged(recorded(task, "", {}), Asked())


async def judged(task: Task, file: Path) -> float:
    return (await StateChecks(CheckScripts(file)).evaluate_judged(recorded(task, "", {}), Asked())).value


@needs_sandbox
@pytest.mark.parametrize("name", ["../x.py", "/etc/x.py", "x.sh", "a/b.py", "", "x.py\n", "-.py"])
def test_a_program_is_named_by_a_file_beside_the_tasks(tmp_path: Path, name: str) -> None:
    (tmp_path / "x.py").write_text("print('SUCCESS')")
    file = written(tmp_path, [{"type": "script", "script": name}])
    with pytest.raises(TaskError, match=r"t\.json: field `evals\[0\]\.script` "):
        list(Real(str(file)).tasks())


@pytest.mark.slow
def test_without_a_sandbox_tasks_with_programs_are_refused_before_anything_is_played(tmp_path: Path) -> None:
    file = with_script(tmp_path, "print('SUCCESS')")
    command = [
        sys.executable,
        "-m",
        "harness.main",
        "run",
        "task=real",
        f"task.path={file}",
        "run.dry=true",
        "llm=none",
    ]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PATH": "", "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "third-party programs, run only in bubblewrap: bubblewrap is not installed" in done.stderr
