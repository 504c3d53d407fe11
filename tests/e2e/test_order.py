"""The kernel is asked: no input reaches the browser before the decision behind it is on the disk."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import command, environment

pytestmark = pytest.mark.browser
CALL = re.compile(r"^\d+ +(\w+)\(\d+<([^>]*)>, ?(.*)$")
INPUTS = ('"Input.dispatch', '"Input.insertText', '"mouseClick"', '"Page.navigate"')
"""How a browser is told to act, in the bytes that go to its driver."""


def test_a_decision_is_fsynced_before_the_browser_acts_on_it(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    run = command("task=smoke", "task.ids=[2]", "executor=inline", "workers=1", "run.report=false", root=tmp_path / "r")
    # --seccomp-bpf: the browser's processes stop for these calls only, and not for each of their calls.
    calls = "trace=write,writev,sendto,sendmsg,fsync"
    traced = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "2000", "-e", calls, "-o", str(trace)]
    done = subprocess.run([*traced, *run], capture_output=True, text=True, check=False, env=environment(), timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    events = list(events_in(trace))
    decided = [index for index, event in enumerate(events) if event == "decided"]
    assert len(decided) == 5, "one write for each decision"
    for index in decided[:-1]:  # the last is a stop, which asks nothing of the browser
        after = events[index + 1 :]
        assert "input" in after, "the trace shows what the browser is told"
        assert after[0] == "fsync", f"after the decision came {after[:3]}"
    acted = [index for index, event in enumerate(events) if event == "acted"]
    for index, before in zip(decided, acted, strict=False):
        assert "input" not in events[before:index], "nothing is done between two steps"


def events_in(trace: Path) -> list[str]:
    """`decided` and `acted` lines written, journal fsyncs, and inputs told to the browser's driver, in order."""
    found = []
    for line in trace.read_text(errors="replace").splitlines():
        call = CALL.match(line)
        if call is None:
            if re.search(r"fsync\(\d+<[^>]*2\.traj\.jsonl>", line):
                found.append("fsync")
            continue
        name, file, rest = call.groups()
        if file.endswith("2.traj.jsonl"):
            kind = re.search(r'kind\\":\\"(\w+)', rest)
            found += [kind[1]] if kind and name == "write" else []
        elif any(word in rest.replace("\\", "") for word in INPUTS):
            found.append("input")
    return found
