"""The kernel itself is asked whether a record was on the disk before anybody was told so."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.journal.episodes import PROJECT

pytestmark = pytest.mark.integration

WRITING = """
import os
import sys
from pathlib import Path
from harness.choices import Durability
from harness.journal.store import RunFolder
from tests.journal.episodes import whole_episode

with RunFolder.open(Path(sys.argv[1]), durability=Durability(sys.argv[2])) as run, run.journal("7") as journal:
    os.write(1, b"told open")
    run.artifacts.put(b"picture")
    os.write(1, b"told artifact")
    run.artifacts.put(b"picture")
    os.write(1, b"told again")
    staged = run.artifacts.stage(b"body")
    os.write(1, b"told staged")
    staged.settle()
    os.write(1, b"told settled")
    for record in whole_episode():
        journal.append(record)
        os.write(1, f"told {record.kind}".encode())
"""


def system_calls(tmp_path: Path, durability: str) -> list[str]:
    """What a process did to its files, in order: `write NAME`, `fsync NAME`, `rename NAME`, `told …`."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    calls = "trace=write,fsync,fdatasync,rename,renameat,renameat2"
    subprocess.run(
        ["strace", "-f", "-y", "-s", "40", "-e", calls, "-o", trace, sys.executable, "-c", WRITING, tmp_path / "run", durability],
        check=True, cwd=PROJECT, capture_output=True,
    )  # fmt: skip
    done = []
    for line in trace.read_text().splitlines():
        if told := re.search(r'write\(1<[^>]*>, "(told \w+)', line):
            done.append(told[1])
        elif found := re.search(r"\b(write|fsync|fdatasync)\(\d+<([^>]*)>", line):
            done.append(f"{found[1]} {Path(found[2]).name}")
        elif found := re.search(r'\brename\w*\(.*"([^"]*)"\)? *(?:, \d)?\)? = 0', line):
            done.append(f"rename {Path(found[1]).name}")
    return done


def test_a_record_is_written_once_and_fsynced_before_anything_else_happens(tmp_path: Path) -> None:
    calls = system_calls(tmp_path, "record")
    name = "7.traj.jsonl"
    first = calls.index(f"write {name}")
    assert calls[:3] == [f"fsync {name}", "fsync run", "told open"], "a new file is durable in its folder"
    lines = [call for call in calls[first:] if call != "write .index.jsonl"]
    assert len(lines) % 3 == 0
    for at in range(0, len(lines), 3):
        assert lines[at : at + 2] == [f"write {name}", f"fsync {name}"]
        assert lines[at + 2].startswith("told ")


def test_an_artifact_is_durable_before_its_name_is_known(tmp_path: Path) -> None:
    calls = system_calls(tmp_path, "record")
    end = calls.index("told artifact")
    digest = next(call.removeprefix("rename ") for call in calls if call.startswith("rename "))
    assert calls[end - 3 : end][1:] == [f"rename {digest}", f"fsync {digest[:2]}"]
    assert calls[end - 3].startswith("fsync .")
    assert calls.index("fsync artifacts") < end
    again = calls[end + 1 : calls.index("told again")]
    assert again[:2] == [f"fsync {digest}", f"fsync {digest[:2]}"], "who stored it first may not have got that far"


def test_a_staged_artifact_is_whole_at_once_and_durable_once_it_is_settled(tmp_path: Path) -> None:
    calls = system_calls(tmp_path, "record")
    again, staged, settled = (calls.index(f"told {moment}") for moment in ("again", "staged", "settled"))
    (digest,) = (call.removeprefix("rename ") for call in calls[again:staged] if call.startswith("rename "))
    assert not [call for call in calls[again:staged] if call.startswith("fsync")]
    assert calls[staged + 1 : settled] == [f"fsync {digest}", f"fsync {digest[:2]}", "fsync artifacts"]


def test_by_task_only_the_ends_of_an_attempt_are_fsynced(tmp_path: Path) -> None:
    calls = system_calls(tmp_path, "task")
    first = calls.index("write 7.traj.jsonl")
    synced = [
        after for call, after in zip(calls[first:], calls[first + 1 :], strict=False) if call.startswith("fsync 7")
    ]
    assert synced == ["told failed", "told closed", "told scored", "told scored"]


def test_without_durability_nothing_is_fsynced(tmp_path: Path) -> None:
    assert not [call for call in system_calls(tmp_path, "none") if call.startswith("fsync")]
