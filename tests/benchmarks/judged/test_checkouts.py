"""The published scoring beside the originals' own code, from checkouts that JUDGES_DIR names.

With the original's instructions as `prompts`, each question is the original's but for what is named here.
"""

import json
import os
import random
import subprocess
import sys
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.api import EvaluatorError, JudgedEvaluator, RecordedEpisode
from harness.evaluators.result import WEBARENA
from harness.plugins.browsecomp import published_grader
from harness.plugins.browsecomp.browsecomp import Grader
from harness.plugins.online_mind2web import published_webjudge
from harness.plugins.online_mind2web.webjudge import WebJudge
from harness.plugins.webvoyager import published_screenshots
from harness.plugins.webvoyager.last_screenshots import LastScreenshots
from tests.benchmarks.judged import made_up, reference
from tests.benchmarks.judged.test_inputs import SEEDS, Stages, of_trajectory, shots_of

CHECKOUTS = Path(os.environ.get("JUDGES_DIR", "nowhere"))
COUNT = 400


def theirs(benchmark: str, folder: str, episodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    place = CHECKOUTS / folder
    if not place.is_dir():
        pytest.skip(f"there is no checkout {place}; set JUDGES_DIR to a folder that has {folder}")
    given = {"benchmark": benchmark, "folder": str(place), "episodes": episodes}
    done = subprocess.run(
        [sys.executable, reference.__file__], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def episode(recorded: RecordedEpisode, *replies: str) -> dict[str, Any]:
    return {
        "task": " ".join(recorded.task.intent.split()),
        "answer": recorded.closed.answer,
        "reference": "Harbor Mug",
        "actions": [step.action for step in recorded.trajectory[1:]],
        "screenshots": [b64encode(shot).decode() for shot in shots_of(recorded)],
        "replies": replies,
    }


async def ours(evaluator: JudgedEvaluator, recorded: RecordedEpisode, given: dict[str, Any]) -> tuple[list[Any], Any]:
    judge = Stages(given["replies"][0], given["replies"][1:-1], given["replies"][-1])
    asked = replace(recorded, task=replace(recorded.task, intent=given["task"]))
    try:
        value: float | None = (await evaluator.in_dialect(WEBARENA).evaluate_judged(asked, judge)).value
    except EvaluatorError:
        value = None
    sent = [[{"role": one.role, "content": one.content} for one in messages] for messages in judge.asked]
    return json.loads(json.dumps(sent)), value


def plain(messages: Any) -> Any:
    """Without the media type, which is wrong there: a JPEG as `image/png`."""
    return json.loads(json.dumps(messages).replace("data:image/jpeg", "data:image/png"))


async def test_webjudge_asks_and_reads_as_its_own_code() -> None:
    episodes = []
    for seed in SEEDS:
        recorded = of_trajectory(seed)
        ratings = made_up.ratings(seed, len(shots_of(recorded)))
        said = (next(made_up.points(seed, 1)), *ratings, next(made_up.verdicts(seed, 1)))
        episodes.append(episode(recorded, *said))
    for seed, given, their in zip(SEEDS, episodes, theirs("online_mind2web", "Online-Mind2Web", episodes), strict=True):
        system = [messages[0]["content"] for messages in their["asked"]]
        prompts = {"key_points": system[0], "rating": system[1], "verdict": system[-1]}
        asked, value = await ours(WebJudge(prompts=prompts), of_trajectory(seed), given)
        assert plain(asked) == plain(their["asked"])
        assert value == their["verdict"]


async def test_webvoyagers_judge_asks_and_reads_as_its_own_code() -> None:
    episodes = [
        episode(recorded, reply)
        for recorded, reply in zip(map(of_trajectory, SEEDS), made_up.verdicts(9, len(SEEDS)), strict=True)
    ]
    for seed, given, their in zip(SEEDS, episodes, theirs("webvoyager", "WebVoyager", episodes), strict=True):
        given["replies"] = (given["replies"][0],) * 2
        prompts = {"verdict": their["asked"][0][0]["content"]}
        asked, value = await ours(LastScreenshots(prompts=prompts), of_trajectory(seed), given)
        assert plain(asked) == plain(their["asked"])
        assert value == their["verdict"]


async def test_browsecomps_grader_asks_and_reads_as_its_own_code() -> None:
    episodes = [
        episode(recorded, reply)
        for recorded, reply in zip(map(of_trajectory, SEEDS), made_up.grades(9, len(SEEDS)), strict=True)
    ]
    for seed, given, their in zip(SEEDS, episodes, theirs("browsecomp", "simple-evals", episodes), strict=True):
        given["replies"] = (given["replies"][0],) * 2
        asked, value = await ours(Grader({"grader": their["template"]}), of_trajectory(seed), given)
        system = {"role": "system", "content": "You are a helpful assistant."}
        assert asked == [[system, *their["asked"][0]]], "there, the sampler adds the system message"
        assert value == float(their["verdict"])


def replied(*replies: str, shots: int = 1) -> dict[str, Any]:
    rng = random.Random(shots)
    drawn = {made_up.picture(rng, "RGB") for _ in range(2 * shots)}
    screenshots = [b64encode(shot).decode() for shot in sorted(drawn)[:shots]]
    return {
        **{"task": "Find a mug.", "answer": "x", "reference": "y", "actions": [], "screenshots": screenshots},
        "replies": replies,
    }


def test_ratings_and_verdicts_of_webjudge_are_those_of_its_own_code() -> None:
    ratings, verdicts = list(made_up.ratings(21, COUNT)), list(made_up.verdicts(22, COUNT))
    episodes = [replied("points", *ratings, verdicts[0], shots=COUNT)]
    episodes += [replied("points", "no score", one) for one in verdicts]
    rated, *judged = theirs("online_mind2web", "Online-Mind2Web", episodes)
    assert rated["scores"] == [published_webjudge.rating(one)[0] for one in ratings]
    assert [one["verdict"] for one in judged] == [published_webjudge.is_success(one) for one in verdicts]


def test_verdicts_of_webvoyager_are_those_of_its_own_code() -> None:
    verdicts, found = list(made_up.verdicts(23, COUNT)), list[bool | None]()
    for reply in verdicts:
        try:
            found.append(published_screenshots.is_success(reply))
        except EvaluatorError:
            found.append(None)
    judged = theirs("webvoyager", "WebVoyager", [replied(one) for one in verdicts])
    assert [one["verdict"] for one in judged] == found


@pytest.mark.slow
def test_grades_of_browsecomp_are_those_of_its_own_code() -> None:
    grades = list(made_up.grades(24, COUNT))
    judged = theirs("browsecomp", "simple-evals", [replied(one) for one in grades])
    assert [one["verdict"] for one in judged] == [published_grader.is_correct(one) for one in grades]
