"""`harness replay` performs a recorded episode again and says how well each step came back."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.actions import Cdp
from harness.codec import seal, unseal
from tests.e2e.conftest import PROJECT, Start, environment
from tests.journal.episodes import acted, decided, opened, write

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def replay(journal: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness.main", "replay", journal],
        capture_output=True, text=True, check=False, cwd=PROJECT, env=environment(), timeout=1200,
    )  # fmt: skip


def test_every_page_of_a_recorded_episode_comes_back_and_its_journal_is_left_alone(
    start: Callable[..., Start],
) -> None:
    journal = start("task=smoke", "task.ids=[2]", "run.report=false").folder / "2.traj.jsonl"
    before = journal.read_bytes()
    done = replay(journal)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines() if line[:3].strip().isdigit()] == [
        [str(number), "1.000"] for number in range(5)
    ]
    assert "5 of 5 pages reproduced" in done.stdout
    assert journal.read_bytes() == before
    journal.write_bytes(with_another_page(before, step=2))
    other = replay(journal)
    assert other.returncode == 1
    assert "4 of 5 pages reproduced" in other.stdout and "(differs)" in other.stdout


def with_another_page(journal: bytes, *, step: int) -> bytes:
    """The journal with other text on one recorded page, sealed anew."""
    crc, before, lines = 0, 0, []
    for line in journal.splitlines():
        body, before = unseal(line, before)
        record = json.loads(body + b"}")
        if record["kind"] == "acted" and record["step"] == step:
            record["observation"].update(text="Another page\n" * 200, fingerprint="0" * 64)
        sealed, crc = seal(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()[:-1], crc)
        lines.append(sealed)
    return b"".join(lines)


def test_what_is_no_journal_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for given in (tmp_path / "9.traj.jsonl", tmp_path):
        done = replay(given)
        assert done.returncode == 2 and "is not a file; give a journal" in done.stderr
    (tmp_path / "9.traj.jsonl").touch()
    done = replay(tmp_path / "9.traj.jsonl")
    assert done.returncode == 2 and "config.yaml" in done.stderr and "Traceback" not in done.stderr


def test_an_agent_that_drove_the_browser_itself_cannot_be_replayed(tmp_path: Path) -> None:
    journal = tmp_path / "7.traj.jsonl"
    write(journal, [opened(), acted(0), decided(1, Cdp(number=1, first="")), acted(1)])
    done = replay(journal)
    assert done.returncode == 2 and "drove the browser itself" in done.stderr and done.stderr.count("\n") == 1
