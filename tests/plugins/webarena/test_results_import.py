"""`harness import`: what WebArena's render files tell becomes a legal run, and what they do not is said."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from harness.actions import Click, InvalidAction, Stop, Type
from harness.journal.log import read
from harness.journal.store import ArtifactStore
from harness.main import main
from harness.plugins.webarena.results_import import VERDICT_KEY
from harness.records import CloseReason

BASE = "http://shop.test:7770"
TREE = (
    "Tab 0 (current): Shop | Tab 1: Help\n\n[1] RootWebArea 'Shop'\n\t[7] searchbox 'Find it' required: False\n\t[8]"
    ' link "it\'s"'
)
PNG = b"\x89PNG not really"


def config(task_id: int, **evaluation: Any) -> dict[str, Any]:
    return {
        "sites": ["shopping"],
        "task_id": task_id,
        "require_login": True,
        "storage_state": "/tmp/x/shopping_state.json",
        "start_url": BASE,
        "geolocation": None,
        "intent": "how much\nis it?",
        "require_reset": False,
        "eval": {"eval_types": ["string_match"], "reference_answers": {"must_include": ["12"]}, **evaluation},
        "intent_template_id": 9,
    }


def rendered(task: dict[str, Any], *steps: tuple[str, str], last: str = TREE) -> str:
    """A render file as WebArena leaves it; steps are (reply, parsed action)."""
    body = "<pre>" + "".join(f"{key}: {value}\n" for key, value in task.items()) + "</pre>\n"
    for number, (reply, parsed) in enumerate(steps):
        text = last if number == len(steps) - 1 else TREE
        body += "<h2>New Page</h2>\n"
        body += f"<h3 class='url'><a href={BASE}/p{number}>URL: {BASE}/p{number}</a></h3>\n"
        body += f"<div class='state_obv'><pre>{text}</pre><div>\n"
        body += f"<img src='data:image/png;base64,{b64encode(PNG).decode()}' style='width:50vw; height:auto;'/>\n"
        body += "<div class='prev_action' style='background-color:pink'>None</div>\n"
        body += (
            f"<div class='predict_action'><div class='raw_parsed_prediction' style='background-color:grey'><pre>{reply}"
            "</pre></div><div class='action_object' style='background-color:grey'><pre>{'action_type': 6}</pre></div>"
            f"<div class='parsed_action' style='background-color:yellow'><pre>{parsed}</pre></div></div>\n"
        )
    return f"\n<!DOCTYPE html>\n<head>\n</head>\n<html>\n    <body>\n     {body}\n    </body>\n</html>\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "results"
    source.mkdir()
    (source / "config.json").write_text('{"model": "gpt-4", "instruction_path": "agent/prompts/p_cot_na_2s.json"}')
    files = {
        0: (
            ("So ```type [7] [lamp] [1]```", "type [7] [lamp]"),
            ("Thus ```click [8]```", "click [8]"),
            ("```stop [$12]```", "stop [$12]"),
        ),
        1: (("no action here", "none"), ("", "stop [Early stop: Failed to parse actions for 1 times]")),
        2: (("```click [8]```", "click [8]"),),
    }
    for task_id, steps in files.items():
        (source / f"render_{task_id}.html").write_text(rendered(config(task_id), *steps))
    (source / "render_3.html").write_text("<html>something else</html>")
    (tmp_path / "log.log").write_text("x [Result] (PASS) /tmp/a/0.json\ny [Result] (PASS) config_files/1.json\n")
    return source


def test_episodes_are_told_as_far_as_the_files_go(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = folder.parent / "run"
    assert main(["import", str(folder), "--to", str(target), "--log", str(folder.parent / "log.log")]) == 0
    episode = read(target / "0.traj.jsonl")
    assert episode.opened is not None and episode.opened.task.intent == "how much\nis it?"
    assert episode.opened.task.metadata[VERDICT_KEY] == "PASS"
    typed, clicked = (step.decided.action for step in episode.steps)
    assert isinstance(typed, Type) and (typed.text, typed.enter, typed.target.name) == ("lamp", True, "Find it")
    assert isinstance(clicked, Click) and clicked.target.name == "it's"
    assert episode.pending is not None and episode.pending.action == Stop(answer="$12")
    assert episode.closed is not None and episode.closed.evidence.url == f"{BASE}/p2"
    assert episode.scores["webarena"].value == 1.0
    arrival = episode.arrival
    assert arrival is not None and arrival.observation.title == "Shop"
    assert arrival.observation.screenshot is not None
    assert ArtifactStore(target / "artifacts").read(arrival.observation.screenshot) == PNG
    out = capsys.readouterr().out
    assert "3 episodes" in out
    assert "render_3.html: is not a WebArena render file" in out
    assert "missing in 3: prompts, tokens, cost and times" in out
    assert "missing in 1: an end" in out
    assert "on 1 of 2" in out and "disagrees on: 1" in out


def test_what_webarena_ended_is_closed_for_its_reason(folder: Path) -> None:
    main(["import", str(folder), "--to", str(folder.parent / "run")])
    episode = read(folder.parent / "run" / "1.traj.jsonl")
    assert isinstance(episode.steps[0].decided.action, InvalidAction)
    assert episode.closed is not None
    assert (episode.closed.reason, episode.closed.detail) == (
        CloseReason.PARSE_FAILURES,
        "Failed to parse actions for 1 times",
    )
    assert read(folder.parent / "run" / "2.traj.jsonl").closed is None


def test_an_imported_run_can_be_shown_reported_and_scored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = folder.parent / "run"
    main(["import", str(folder), "--to", str(target)])
    assert main(["report", str(target)]) == 0
    assert main(["show", str(target), "0"]) == 0
    assert main(["score", str(target)]) == 3
    assert "webarena: 3 episodes, 1 passed, 1 failed, 1 unscored" in capsys.readouterr().out


def test_wrong_folders_are_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder.parent / "empty").mkdir()
    assert main(["import", str(folder.parent / "empty")]) == 2
    assert "render_*.html" in capsys.readouterr().err
    assert main(["import", str(folder), "--to", str(folder)]) == 2
    assert "not empty" in capsys.readouterr().err
