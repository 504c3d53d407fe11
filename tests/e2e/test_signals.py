"""However a run is asked to end, it says so, leaves no process behind, and the same command goes on."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.e2e.conftest import Start, command, environment
from tests.e2e.test_webarena import Deployment, deployment, text_task
from tests.waiting import alive, wait_until

__all__ = ["deployment"]
pytestmark = [pytest.mark.browser, pytest.mark.slow]
ORDER = [
    {"do": "goto", "url": "__SHOPPING__/product/DES-503"},
    {"do": "click", "role": "button", "name": "Add to cart"},
    {"do": "stop", "answer": "one desk"},
]
LOOK = [*[{"do": "goto", "url": "__SHOPPING__/product/DES-503"}] * 4, {"do": "stop", "answer": "one desk"}]


@contextmanager
def starting(
    overrides: list[str], deployment: Deployment, root: Path, *, stderr: int | IO[bytes] = subprocess.STDOUT
) -> Iterator["subprocess.Popen[str]"]:
    settings = ("run.report=false", "run.display=plain", "executor.lanes=1")
    with subprocess.Popen(
        command(*overrides, *settings, root=root),
        env={**environment(), **deployment.env},
        text=True,
        stdout=subprocess.PIPE,
        stderr=stderr,
    ) as run:
        try:
            yield run
        finally:
            run.kill()


def acted(folder: Path) -> int:
    return sum(path.read_bytes().count(b'"kind":"acted"') for path in folder.glob("*.traj.jsonl"))


def looking(deployment: Deployment, count: int = 1) -> list[str]:
    numbers = range(count)
    tasks = [text_task(n, f"What is number {n}?", "one desk", mutates=False, storage_state=None) for n in numbers]
    return [*deployment.overrides(tasks, dict.fromkeys(numbers, LOOK)), "llm.latency_ms=200"]


def test_a_run_that_is_ended_in_its_last_reset_ends_the_command_and_says_what_it_came_to(
    deployment: Deployment, tmp_path: Path
) -> None:
    """The second reset is the one after the only task."""
    pids = tmp_path / "pids"
    hook = tmp_path / "hook.sh"
    hook.write_text(f"echo $$ >> {pids}\ntest $(wc -l < {pids}) = 1 || exec sleep 600\n")
    task = text_task(0, "Buy a desk", "one desk", mutates=True, storage_state=None)
    overrides = deployment.overrides([task], {0: ORDER})
    hooked = f'+sites.shopping.reset_command="sh {hook}"'
    with starting([*overrides, hooked], deployment, tmp_path / "results") as run:
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        log = tmp_path / "results" / "run" / "run.log"
        wait_until(lambda: log.exists() and "worker 0 ended" in log.read_text())
        run.send_signal(signal.SIGTERM)
        said, _ = run.communicate(timeout=600)
    assert run.returncode == 0, said
    assert "stopping after" in said and "Traceback" not in said
    assert Start(0, said, "", tmp_path / "results" / "run").summary["passed"] == 1
    wait_until(lambda: not alive(int(pid) for pid in pids.read_text().split()))


def test_a_run_whose_output_nobody_reads_any_more_stops_and_goes_on_later(
    deployment: Deployment, tmp_path: Path
) -> None:
    overrides = looking(deployment, 2)
    errors = tmp_path / "errors"
    with errors.open("wb") as kept, starting(overrides, deployment, tmp_path / "results", stderr=kept) as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.wait(timeout=600) == 130, errors.read_text()
    assert errors.read_text() == ""
    assert goes_on(overrides, deployment, tmp_path / "results") == 0


@pytest.mark.parametrize("hangs_up", ["the terminal", "a signal", "ignored"])
def test_a_hang_up_stops_a_run_kindly_unless_it_is_ignored(
    deployment: Deployment, tmp_path: Path, hangs_up: str
) -> None:
    overrides, folder = looking(deployment), tmp_path / "results" / "run"
    ours, theirs = pty.openpty()
    errors = tmp_path / "errors"
    # The terminal has to control the run, or it would not hear of its end.
    opening = f"import os, sys; os.setsid(); os.close(os.open({os.ttyname(theirs)!r}, os.O_RDWR)); "
    # Not as it was inherited: what is started in the background, or under nohup, ignores it.
    handler = "SIG_IGN" if hangs_up == "ignored" else "SIG_DFL"
    handling = f"import signal; signal.signal(signal.SIGHUP, signal.{handler}); "
    whole = command(*overrides, "run.report=false", "run.display=plain", "executor.lanes=1", root=tmp_path / "results")
    with errors.open("wb") as kept:
        run = subprocess.Popen(
            [sys.executable, "-c", f"{opening}{handling}os.execv(sys.argv[1], sys.argv[1:])", *whole],
            env={**environment(), **deployment.env, "TERM": "xterm"},
            stdin=theirs,
            stdout=theirs,
            stderr=kept,
        )
    os.close(theirs)
    with run:
        wait_until(lambda: acted(folder) >= 2)
        if hangs_up == "the terminal":
            os.close(ours)
        else:
            run.send_signal(signal.SIGHUP)
        try:
            code = run.wait(timeout=600)
        finally:
            run.kill()
    if hangs_up != "the terminal":
        os.close(ours)
    assert code == (0 if hangs_up == "ignored" else 130), errors.read_text()
    assert errors.read_text() == ""
    assert goes_on(overrides, deployment, tmp_path / "results") == 0


def goes_on(overrides: list[str], deployment: Deployment, root: Path) -> int:
    with starting(overrides, deployment, root) as run:
        said, _ = run.communicate(timeout=600)
    assert "passed" in said, said
    return run.returncode
