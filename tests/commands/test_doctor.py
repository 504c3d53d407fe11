"""Doctor tries the real things: browser, embedded sites and endpoint, a foreign endpoint, the disk."""

import asyncio
import re
import shlex
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from harness.commands.machine import DoctorCheck, machine
from harness.loopback_server import serving
from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripts import Scripts

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
async def endpoint() -> AsyncIterator[str]:
    """Address of an endpoint that wants the key `right`."""
    async with serving(endpoint_app(Scripts(), api_key="right")) as port:
        yield f"http://127.0.0.1:{port}/v1"


def verdicts(out: str) -> dict[str, str]:
    """What is looked at, to `ok`, `note` or `WRONG`."""
    return {about: mark for mark, about in re.findall(r"^(ok|note|WRONG) +(site \w+|\w+)", out, re.MULTILINE)}


@pytest.mark.slow
def test_when_all_is_there_it_says_so_and_leaves_nothing(harness: Command, tmp_path: Path) -> None:
    done = harness("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    found = verdicts(done.stdout)
    assert found.pop("judge") == "note", "a task of the demo needs one"
    assert set(found.values()) == {"ok"}
    assert set(found) >= {"python", "packages", "disk", "clock", "tasks", "endpoint", "browser"}
    assert {name for name in found if name.startswith("site")} == {
        "site shop",
        "site forum",
        "site code",
        "site office",
    }
    assert done.stdout.count("the login works") == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_each_thing_that_is_wrong_is_told_with_what_to_do(harness: Command) -> None:
    done = harness(
        "doctor",
        "llm=openai",
        "llm.base_url=http://127.0.0.1:9/v1",
        "judge.model=gpt-4o",
        "run.root=/proc/nowhere",
        "sites.shop.login.probe_url=http://shop.localhost/nowhere",
    )
    assert done.returncode == 1
    wrong = {about for about, mark in verdicts(done.stdout).items() if mark == "WRONG"}
    assert wrong == {"endpoint", "judge", "disk", "site shop"}
    assert done.stdout.count("\n      -> ") == 4
    assert "https://api.openai.com/v1 needs a key, and OPENAI_API_KEY is not set" in done.stdout
    for setting in ("run.root", "llm.base_url", "sites.shop.login"):
        assert setting in done.stdout


@pytest.mark.slow
def test_without_a_browser_the_sites_are_still_looked_at(harness: Command) -> None:
    done = harness("doctor", "browser.executable=/bin/false", "task.path=nope.json")
    found = verdicts(done.stdout)
    assert done.returncode == 1
    assert (found["browser"], found["tasks"], found["site forum"]) == ("WRONG", "WRONG", "ok")


@pytest.mark.slow
@pytest.mark.parametrize(("key", "code"), [("right", 0), ("expired", 1)])
async def test_the_key_is_tried_by_asking(harness: Command, endpoint: str, key: str, code: int) -> None:
    done = await asyncio.to_thread(
        harness, "doctor", "llm=openai", f"llm.base_url={endpoint}", f"llm.api_key={key}", "task=smoke"
    )
    assert done.returncode == code, done.stdout
    assert verdicts(done.stdout)["endpoint"] == ("ok" if key == "right" else "WRONG")
    assert f"llm.api_key={key}" not in done.stdout


@pytest.mark.slow
def test_sites_of_others_without_an_address_are_missed_when_tasks_are_on_them(harness: Command, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(
        '[{"task_id": 1, "sites": ["reddit"], "intent": "Look", "start_url": "__REDDIT__", "storage_state": null,'
        ' "require_login": false, "intent_template_id": 1, "eval": {"eval_types": ["url_match"],'
        ' "reference_answers": null, "reference_url": "__REDDIT__/f/all", "program_html": []}}]'
    )
    done = harness("doctor", "task=webarena", "task.path=one.json", "llm=openai", "llm.base_url=http://127.0.0.1:9/v1")
    found = verdicts(done.stdout)
    assert (done.returncode, found["site reddit"], found["site map"]) == (1, "WRONG", "ok")
    assert "set sites.reddit.url" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "path", "mark", "says"),
    [
        ("bubblewrap", "/nowhere", "WRONG", "agent.sandbox=bubblewrap: bubblewrap is not installed"),
        ("auto", "/nowhere", "note", "not confined (bubblewrap is not installed"),
        ("none", None, "ok", "not confined (agent.sandbox=none)"),
    ],
)
def test_of_an_agent_that_is_a_process_it_says_what_confines_it(
    harness: Command, wanted: str, path: str | None, mark: str, says: str
) -> None:
    settings = ("agent=process", "agent.command=[/bin/true]", f"agent.sandbox={wanted}", "task=smoke")
    done = harness("doctor", *settings, **({} if path is None else {"PATH": path}))
    assert verdicts(done.stdout)["sandbox"] == mark
    assert says in done.stdout


@pytest.mark.slow
def test_an_unknown_setting_is_one_sentence(harness: Command) -> None:
    done = harness("doctor", "nope=1")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "nope" in done.stderr


def test_a_place_that_cannot_be_written_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    found = {finding.about: finding for finding in machine(tmp_path / "file" / "results")}
    assert not found["disk"].fine
    assert "run.root" in found["disk"].fix


@pytest.mark.parametrize("installed", ["99.0", None])
def test_the_tested_versions_are_installed_by_a_command_that_any_folder_knows(
    installed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a wheel there is no checkout, neither here nor elsewhere."""
    monkeypatch.setattr("harness.commands.machine._installed", lambda name: installed)
    monkeypatch.chdir(tmp_path)
    found = {finding.about: finding for finding in machine(tmp_path)}
    command = shlex.split(found["packages"].fix)
    assert command[:3] == ["pip", "install", "-c"] and command[4] == "cairn-harness"
    assert Path(command[3]).is_absolute() and Path(command[3]).is_file()


def test_looking_leaves_a_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    found: list[DoctorCheck] = [*machine(tmp_path / "results"), *machine(tmp_path / "new" / "results")]
    assert all(finding.fine for finding in found)
    assert [path.name for path in tmp_path.rglob("*")] == ["results"]
