"""VisualWebArena's schema played in a real browser: pictures in the objective and on pages, functions, a judge that sees."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.journal.log import read
from tests.e2e.conftest import Start
from tests.e2e.test_run import decided, running
from tests.e2e.test_task_images import BLUE, RED, at, labels, picture, sent, served
from tests.waiting import wait_until

Starter = Callable[..., Start]
pytestmark = [pytest.mark.browser, pytest.mark.integration]
GALLERY = b"""<!DOCTYPE html><title>Gallery</title><h1>Three pictures</h1>
<div class="photo"><img src="/static/red.png"><img src="http://10.9.9.9/away.png"></div>
<img class="photo small" src="small.png"><p class="price">$599.99</p><p id="q">it's 1,200</p>"""
FILES = {
    "/static/red.png": RED,
    "/gallery.html": GALLERY,
    "/small.png": picture("green"),
    "/away.html": b"<h1>Elsewhere</h1>",
}


def homepage(path: str, body: bytes) -> tuple[int, bytes]:
    return (200, FILES[path]) if path in FILES else (404, b"nothing")


def vision_judge(path: str, body: bytes) -> tuple[int, bytes]:
    """Says yes to a question about a picture, and correct to anything else."""
    said = "Yes" if b"image_url" in body else "correct"
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "j", "choices": [choice]}
    return 200, json.dumps(whole | {"usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()


def task(number: int, start: str, **judged: Any) -> dict[str, Any]:
    return {
        "task_id": number,
        "sites": ["shop", "homepage"],
        "require_login": False,
        "storage_state": None,
        "start_url": start,
        "geolocation": None,
        "intent": f"What does this cost ({number})?",
        "image": None,
        "require_reset": False,
        "viewport_size": {"width": 1280},
        "mutates": False,
        "eval": judged,
    }


def required(locator: str, url: str = "last", **contents: Any) -> dict[str, Any]:
    return {"url": url, "locator": locator, "required_contents": contents}


def tasks() -> list[dict[str, Any]]:
    shop = task(
        0,
        "__SHOP__/",
        eval_types=["string_match", "url_match"],
        reference_answers={"must_include": ["44.50 |OR| 99"], "must_exclude": ["1000"], "one_of": ["$44", "euro"]},
        reference_url="__SHOP__/contact |OR| __SHOP__/search?q=Storm+Lantern",
        url_note="EXACT",
    )
    pages = task(
        1,
        "__HOMEPAGE__/gallery.html |AND| __SHOP__/",
        eval_types=["program_html"],
        program_html=[
            required("func:get_query_text(__page__, 'h1')", must_include=["Three"], must_exclude=["Three"]),
            required("document.querySelector('#q').textContent", must_include=["1,200"]),
            required(
                "lambda:(() => parseFloat(document.querySelector('.price').textContent.substr(1)))()",
                required_values=["< 600"],
            ),
            required("func:get_query_text(__page__, 'h1')", "__HOMEPAGE__/away.html", exact_match="elsewhere"),
            required("document.title.toLocaleLowerCase()", exact_match="gallery"),
            required("func:get_query_text(__page__, \"a[href='x']\")", exact_match=""),
            required("", must_exclude=["Elsewhere"]),
            required("func:get_query_text(__page__, 'h1')", fuzzy_match="3 pictures"),
        ],
    )
    seen = task(
        2,
        "__HOMEPAGE__/gallery.html",
        eval_types=["page_image_query"],
        page_image_query=[
            {
                "eval_image_url": "last",
                "eval_image_class": ".photo",
                "eval_fuzzy_image_match": "red.png |OR| __HOMEPAGE__/static/red.png",
                "ssim_threshold": 0.95,
                "eval_vqa": [{"question": "Is this green? (yes/no)", "answer": "yes"}],
            }
        ],
    )
    unlike, outside = (
        task(
            number,
            "__HOMEPAGE__/gallery.html",
            eval_types=["page_image_query"],
            page_image_query=[
                {"eval_image_url": "last", "eval_image_class": place, "eval_fuzzy_image_match": "noise.png"}
            ],
        )
        for number, place in ((3, ".small"), (4, ".photo"))
    )
    return [
        {**shop, "image": ["red.png", "__HOMEPAGE__/static/red.png", "blue.jpg"]},
        pages,
        {**seen, "image": "blue.jpg"},
        unlike,
        outside,
    ]


def settings(folder: Path) -> tuple[str, ...]:
    (folder / "red.png").write_bytes(RED)
    (folder / "blue.jpg").write_bytes(BLUE)
    from PIL import Image

    Image.effect_noise((64, 48), 120).save(folder / "noise.png")
    (folder / "mine.json").write_text(json.dumps(tasks()))
    search = {"do": "type", "role": "searchbox", "name": "Search products", "text": "Storm Lantern", "enter": True}
    stop = {"do": "stop", "answer": "It costs $44.50"}
    plans = [{"task_id": number, "steps": [*([search] if number == 0 else []), stop]} for number in range(5)]
    (folder / "plans.json").write_text(json.dumps(plans))
    return (
        *("task=visualwebarena", f"task.arguments.path={folder}/mine.json", "sites=embedded", "llm.plans=plans.json"),
        *("agent=vision", "workers=1", "executor=inline", "executor.lanes=1", "browser.height=720"),
    )


def judged_by(url: str) -> tuple[str, ...]:
    return ("judge=openai", "judge.model=j", f"judge.base_url={url}/v1", "judge.api_key=key-for-a-test")


def scores(folder: Path) -> dict[str, Any]:
    found = {path.name.split(".")[0]: read(path) for path in sorted(folder.glob("*.traj.jsonl"))}
    return {name: episode.scores["webarena"] for name, episode in found.items() if episode.scores}


@pytest.mark.slow
def test_played_killed_resumed_and_judged(start: Starter, tmp_path: Path) -> None:
    chosen, folder = settings(tmp_path), tmp_path / "results" / "run"
    with served(homepage) as (url, _), served(vision_judge) as (judge, asked):
        chosen = (*chosen, *at(url), *judged_by(judge), "llm.latency_ms=400", "task.ids=[0-3]")
        with running(*chosen, root=tmp_path / "results") as process:
            wait_until(lambda: folder.exists() and decided(folder) >= 1)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        done = start(*chosen)
        assert done.code == 0, done.out + done.err
        found = scores(folder)
        said = {name: [(one.value, one.why) for one in scored.verdicts] for name, scored in found.items()}
        assert {name: scored.value for name, scored in found.items()} == {"0": 1.0, "1": 1.0, "2": 1.0, "3": 0.0}, said
        assert "no picture is like the reference (similarity" in said["3"][0][1]
        looked = [json.loads(body) for _, body in asked if b"image_url" in body]
        assert looked and looked[0]["messages"][-1]["content"][0]["text"] == "Q: Is this green? (yes/no) A:"
        paid = len(asked)
        again = start(*chosen)
        assert again.code == 0 and len(asked) == paid, "replies of the judge are not paid for twice"
    for prompt in sent(folder, "0"):
        assert labels(prompt) == [f"PICTURE {number} OF THE OBJECTIVE:" for number in (1, 2, 3)]
    stored = [path.read_bytes() for path in (folder / "artifacts").rglob("*") if path.is_file()]
    assert stored.count(RED) == stored.count(BLUE) == 1
    ended = read(folder / "2.traj.jsonl").closed
    assert ended is not None and len(ended.evidence.kept) == 2


@pytest.mark.slow
def test_without_a_judge_what_needs_one_is_unscored_and_can_be_scored_later(start: Starter, tmp_path: Path) -> None:
    from harness.main import main

    with served(homepage) as (url, _), served(vision_judge) as (judge, _):
        done = start(*settings(tmp_path), *at(url))
        assert done.code == 3, done.out + done.err
        found = scores(done.folder)
        assert {name: scored.value for name, scored in found.items()} == {
            "0": 1.0,
            "1": None,
            "2": None,
            "3": 0.0,
            "4": None,
        }
        assert "away.png' is on no site of the run" in found["4"].verdicts[0].why
        for name in ("1", "2"):
            assert "this task needs a judge: set judge.model=" in found[name].verdicts[0].why
        later = main(["score", str(done.folder), *settings(tmp_path), *at(url), *judged_by(judge)])
        assert later == 3, "task 4 cannot be scored"
        rescored = json.loads((done.folder / "rescored-webarena.json").read_bytes())["results"]
        assert {one["task_id"]: one["scored"]["value"] for one in rescored} == {
            **{"0": 1.0, "1": 1.0, "2": 1.0, "3": 0.0},
            "4": None,
        }


@pytest.mark.slow
def test_a_reference_that_cannot_be_had_refuses_its_task_before_it_is_played(start: Starter, tmp_path: Path) -> None:
    with served(lambda path, body: (404, b"") if path == "/static/red.png" else homepage(path, body)) as (url, _):
        done = start(*settings(tmp_path), *at(url), "task.ids=[2,3]", "resume.max_attempts=1")
    assert done.code == 3 and "task 2 is refused: " in done.out + done.err, done.out + done.err
    assert "/static/red.png cannot be fetched (its server answered 404)" in done.out + done.err
    assert read(done.folder / "2.traj.jsonl").arrival is None
    assert scores(done.folder)["3"].value == 0.0
