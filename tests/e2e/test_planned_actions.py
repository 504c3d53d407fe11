"""Plans that use every kind of form field on a site of one's own, and a plan that does not fit its page."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.journal.log import read
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from tests.e2e.conftest import Start
from tests.e2e.test_task_images import served

Starter = Callable[..., Start]
pytestmark = [pytest.mark.browser, pytest.mark.integration]
PAGE = b"""<title>Board</title><p id=said></p>
<label><input type=checkbox onchange="say('ticked ' + checked)">Read</label>
<button ondblclick="say('opened')">Folder</button>
<label>Day<input type=date oninput="say('day ' + value)"></label>
<label>Plan<input type=file onchange="files[0].text().then((text) => say('got ' + text))"></label>
<div role=button tabindex=0 aria-label=Card draggable=true>Card</div>
<div role=button tabindex=0 aria-label=Done ondragover="event.preventDefault()" ondrop="say('dropped')">Done</div>
<script>function say(text) { said.textContent += text + '. ' }</script>"""
STEPS = (
    {"do": "check", "role": "checkbox", "name": "Read"},
    {"do": "dblclick", "role": "button", "name": "Folder"},
    {"do": "type", "role": "Date", "name": "Day", "text": "2026-11-24", "clear": True},
    {"do": "upload", "role": "button", "name": "Plan", "exact": False, "file": "plan.txt"},
    {"do": "drag", "name": "Card", "role": "button", "to_name": "Done", "to_role": "button"},
    {"do": "stop", "answer": "done"},
)


def settings(folder: Path, url: str, *plans: Any) -> tuple[str, ...]:
    """A task for each plan, and the settings of a run of them."""
    task = {"sites": ["board"], "start_url": "__BOARD__/board.html", "storage_state": None, "mutates": False}
    score = {"eval": {"eval_types": ["string_match"], "reference_answers": {"exact_match": "done"}}}
    tasks = [{**task, **score, "task_id": number, "intent": f"Do it {number}."} for number, _ in enumerate(plans)]
    (folder / "mine.json").write_text(json.dumps(tasks))
    listed = [{"task_id": number, "steps": list(steps)} for number, steps in enumerate(plans)]
    (folder / "plans.json").write_text(json.dumps(listed))
    (folder / "files").mkdir()
    (folder / "files" / "plan.txt").write_text("a plan")
    site = ("sites=suite", "sites.embedded=false", f"+sites.board.url={url}", "+sites.board.read_only=true")
    return (*site, "task.path=mine.json", "llm.plans=plans.json", "workers=1", "executor.lanes=1")


def board(path: str, _: bytes) -> tuple[int, bytes]:
    return (200, PAGE) if path == "/board.html" else (404, b"")


def sent(folder: Path) -> tuple[str, str]:
    """The system message of the first step and what tools say of uploading; "" without tools."""
    artifacts = ArtifactStore(folder / "artifacts")
    episode = read(folder / "0.traj.jsonl")
    first = episode.steps[0].decided if episode.steps else episode.pending
    assert first is not None
    system = str(read_message(first.prompt[0], artifacts)["content"])
    request = json.loads(artifacts.read(first.request)) if first.request else {}
    tools = [one["function"] for one in request.get("body", {}).get("tools") or ()]
    return system, next((one["description"] for one in tools if one["name"] == "upload"), "")


@pytest.mark.sample(1)
@pytest.mark.parametrize("agent", ["prompt", "tools"])
def test_a_plan_uses_each_field_and_the_model_is_told_the_files(start: Starter, tmp_path: Path, agent: str) -> None:
    with served(board) as (url, _):
        done = start(*settings(tmp_path, url, STEPS), f"agent={agent}", "browser.uploads=files")
    assert done.code == 0, done.out + done.err
    last = read(done.folder / "0.traj.jsonl").steps[-1].acted.observation.text
    for said in ("ticked true", "opened", "day 2026-11-24", "got a plan", "dropped"):
        assert said in last
    system, tool = sent(done.folder)
    told = "Available files: 'plan.txt'."
    assert (told in system, told in tool) == (agent == "prompt", agent == "tools")


@pytest.mark.slow
def test_without_uploads_the_prompt_is_what_it_was(start: Starter, tmp_path: Path) -> None:
    with served(board) as (url, _):
        done = start(*settings(tmp_path, url, [{"do": "stop", "answer": "done"}]))
    assert done.code == 0, done.out + done.err
    assert "Available files" not in sent(done.folder)[0]


@pytest.mark.slow
def test_why_a_plan_does_not_fit_is_in_table_and_summary(start: Starter, tmp_path: Path) -> None:
    with served(board) as (url, _):
        done = start(*settings(tmp_path, url, [{"do": "click", "role": "link", "name": "Folder"}]))
    assert done.code == 0, done.out + done.err
    why = "there is no link named 'Folder', even after scrolling 6 times; in sight: button 'Folder'"
    assert why in done.out and why in (done.folder / "summary.md").read_text()
    assert why in (done.folder / "report" / "index.html").read_text().replace("&#39;", "'")
    (result,) = done.summary["results"]
    assert result["why"] == "the agent did not end the episode itself (PARSE_FAILURES)" and "unread" not in result
