"""`harness settings` and the page of the documentation that it writes."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ

import pytest

from harness.plugins.settings_reference.setting_catalog import catalog
from tests.e2e.conftest import environment

pytestmark = pytest.mark.integration
PAGE = Path(__file__).resolve().parents[3] / "docs" / "pages" / "settings.md"
Command = Callable[..., subprocess.CompletedProcess[str]]


def test_the_page_is_what_the_fields_say_now(harness: Command) -> None:
    done = harness("settings", "--markdown")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == PAGE.read_text(), "make docs writes the page again"
    rows = re.findall(r"^\| `([^`]+)` \|", done.stdout, re.MULTILINE)
    assert sorted(rows) == sorted(one.name for one in catalog())


@pytest.mark.slow
def test_a_pipe_gets_each_setting_whole_on_one_line(harness: Command) -> None:
    lines = harness("settings").stdout.splitlines()
    assert len(lines) == len(catalog()) + 1
    (line,) = (line for line in lines if line.startswith("browser.uploads "))
    assert "null" in line and "folder whose files an agent may upload" in line and "Measured." in line
    (line,) = (line for line in lines if line.startswith("limits.max_steps "))
    assert "Whole number from 0 on" in line and "task=webvoyager: 15" in line


@pytest.mark.slow
def test_at_80_columns_names_are_whole_and_nothing_is_cut() -> None:
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 24, 80, 0, 0))
    program = [sys.executable, "-m", "harness.main", "settings", "executor"]
    with subprocess.Popen(program, stdout=theirs, stderr=theirs, env={**environment(), "TERM": "dumb"}) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            said += part
        os.close(ours)
    assert process.returncode == 0
    lines = said.decode().replace("\r", "").split("\n")
    assert max(map(len, lines)) <= 80 and "…" not in said.decode().replace("constraint…", "")
    assert any(line.startswith("executor.task_deadline_s ") and "Default: null." in line for line in lines)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("llm.*_s", {"llm.timeout_s", "llm.max_retry_s", "llm.max_outage_s"}),
        ("silence", {"executor.silence_s"}),
        ("sites.shop.reset_url", {"sites.NAME.reset_url"}),
        ("honoured", {"sites.live.robots"}),
        ("DURABILITY", {"journal.durability"}),
    ],
)
def test_a_pattern_means_names_then_words(harness: Command, pattern: str, names: set[str]) -> None:
    done = harness("settings", pattern, "--json")
    assert {one["name"] for one in json.loads(done.stdout)} == names


@pytest.mark.slow
def test_json_says_values_and_where_they_come_from(harness: Command) -> None:
    (one,) = json.loads(harness("settings", "llm.temperature", "--json").stdout)
    assert one["bounds"] == {"least": 0, "most": 100, "above": False} and one["null"] and one["measured"]
    assert one["default"] is None and one["given_by"]["llm=openai"] == 0.0
    (one,) = json.loads(harness("settings", "journal.durability", "--json").stdout)
    assert set(one["choices"]) == {"record", "task", "none"} and all(one["choices"].values())


@pytest.mark.slow
def test_no_match_names_the_nearest_and_exits_2(harness: Command) -> None:
    done = harness("settings", "limits.max_stps")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "harness: limits.max_stps is not a setting; did you mean limits.max_steps; harness settings lists all\n"
    )
    done = harness("settings", "--config-dir", "nope")
    assert done.returncode == 2 and "nope is not a folder" in done.stderr


@pytest.mark.slow
def test_files_of_your_own_are_included(harness: Command, tmp_path: Path) -> None:
    (tmp_path / "conf" / "agent").mkdir(parents=True)
    (tmp_path / "conf" / "agent" / "mine.yaml").write_text("# Mine: harness run agent=mine\nname: mine\nhistory: 7\n")
    (one,) = json.loads(harness("settings", "agent.history", "--json", "--config-dir", "conf").stdout)[:1]
    assert one["given_by"]["agent=mine"] == 7


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("text", "why"),
    [("a: [", "is not valid YAML"), ("- 1", "must contain one mapping"), ("\x00", "is not valid YAML")],
)
def test_a_file_of_your_own_that_is_broken_is_named(harness: Command, tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "conf" / "agent").mkdir(parents=True)
    (tmp_path / "conf" / "agent" / "mine.yaml").write_text(text)
    done = harness("settings", "--config-dir", "conf")
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert f"conf/agent/mine.yaml {why}" in done.stderr


@pytest.mark.slow
def test_a_file_that_begins_with_itself_ends(harness: Command, tmp_path: Path) -> None:
    (tmp_path / "conf" / "agent").mkdir(parents=True)
    for name, other in (("mine", "yours"), ("yours", "mine")):
        (tmp_path / "conf" / "agent" / f"{name}.yaml").write_text(f"defaults: [{other}]\nname: {name}\n")
    done = harness("settings", "agent.name", "--config-dir", "conf", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)[0]["given_by"]["agent=mine"] == "mine"
