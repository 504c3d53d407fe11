"""What the judges are asked on made-up trajectories, in both scorings: messages, order, pictures, detail and cuts."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest

from harness.api import Finding, JudgedEvaluator, Message, RecordedEpisode
from harness.evaluators.quotation import quoted
from harness.evaluators.result import CORRECTED, WEBARENA
from harness.plugins.browsecomp import browsecomp, published_grader
from harness.plugins.online_mind2web import published_webjudge, webjudge
from harness.plugins.webvoyager import last_screenshots, published_screenshots
from tests.benchmarks.judged import made_up, published_rules
from tests.benchmarks.judged.published_rules import Content, as_it_is, text

SEEDS = range(24)
THRESHOLD, MOST, LAST = 3, 50, 15
OWN = {
    "key_points": "Points of a person's own.",
    "rating": "A rating of a person's own.",
    "verdict": "A verdict of a person's own.",
}


def of_trajectory(seed: int) -> RecordedEpisode:
    """The first one has more screenshots than are shown."""
    return next(made_up.trajectories(seed, 1)) if seed == 0 else list(made_up.trajectories(seed, 2))[1]


def shots_of(recorded: RecordedEpisode) -> list[bytes]:
    return [recorded.artifacts.read(step.screenshot) for step in recorded.trajectory if step.screenshot]


def without_repeats(shots: list[bytes]) -> list[bytes]:
    return [one for one, _ in groupby(shots)]


async def judged(evaluator: JudgedEvaluator, dialect: str, recorded: RecordedEpisode, judge: Any) -> Finding:
    return await evaluator.in_dialect(dialect).evaluate_judged(recorded, judge)


def sent(messages: tuple[Message, ...]) -> tuple[str, list[Content] | str]:
    system, user = messages
    assert (system.role, user.role) == ("system", "user")
    return str(system.content), user.content if isinstance(user.content, str) else [dict(one) for one in user.content]


class Stages:
    """A judge of WebJudge's three stages."""

    def __init__(self, points: str, ratings: Sequence[str], verdict: str) -> None:
        self.asked: list[tuple[Message, ...]] = []
        self._replies = [points, *ratings, verdict]

    async def ask(self, messages: Sequence[Message], /) -> str:
        self.asked.append(tuple(messages))
        return self._replies[len(self.asked) - 1]


@pytest.mark.sample(1)
@pytest.mark.parametrize("own", [None, OWN], ids=["our texts", "texts of one's own"])
async def test_webjudge_is_asked_as_published(own: Mapping[str, str] | None) -> None:
    key_counts = set()
    for seed in SEEDS:
        recorded = of_trajectory(seed)
        task, shots = recorded.task.intent, shots_of(recorded)
        points = next(made_up.points(seed, 1))
        ratings = (
            list(made_up.ratings(seed, len(shots))) if seed else ["**Reasoning**: x\n\n**Score**: 4/5"] * len(shots)
        )
        verdict = next(made_up.verdicts(seed, 1))
        judge = Stages(points, ratings, verdict)
        evaluator = webjudge.WebJudge(THRESHOLD, MOST, own)
        found = await judged(evaluator, WEBARENA, recorded, judge)
        listed = published_rules.key_points(points)
        actions = [step.action for step in recorded.trajectory[1:]]
        rated = list(zip(shots, ratings, strict=True))
        last = published_rules.webjudge_verdict(task, listed, actions, rated, THRESHOLD, MOST)
        prompts = own or published_webjudge.PROMPTS
        assert [sent(one) for one in judge.asked] == [
            (prompts["key_points"], [text(f"Task: {task}")]),
            *((prompts["rating"], published_rules.webjudge_rating(task, listed, shot)) for shot in shots),
            (prompts["verdict"], last),
        ]
        assert found.value == float(published_rules.status_is_success(verdict))
        key_counts.add(len(last) - 1)
    assert 0 in key_counts and MOST in key_counts, "none, and more than are shown"


@pytest.mark.slow
async def test_webjudge_is_asked_with_quotations_when_corrected() -> None:
    for seed in SEEDS:
        recorded = of_trajectory(seed)
        shots = without_repeats(shots_of(recorded))
        scores = random.Random(seed).choices("12345", k=len(shots))
        judge = Stages("1. A mug", [f"It  shows\na page {n}.\n{score}" for n, score in enumerate(scores)], "success")
        found = await judged(webjudge.WebJudge(THRESHOLD, MOST), CORRECTED, recorded, judge)
        task = quoted(recorded.task.intent, "task")
        about = f"The task: {task}\nIts key points: {quoted('1. A mug', 'key-points')}"
        lines = tuple(
            f"{n}. {step.action}; " + (f"refused: {step.why_not}" if step.why_not else f"led to {step.url}")
            for n, step in enumerate(recorded.trajectory[1:], start=1)
        )
        expected = [text(f"{about}\nThe agent's actions: {quoted(lines or ('(no action)',), 'actions')}")]
        keys = [(n, shot) for n, (shot, score) in enumerate(zip(shots, scores, strict=True)) if int(score) >= THRESHOLD]
        for number, (n, shot) in enumerate(keys[:MOST], start=1):
            note = quoted(f"It shows a page {n}.", "note")
            expected += [text(f"Screenshot {number}, with this note: {note}"), as_it_is(shot)]
        assert [sent(one) for one in judge.asked] == [
            (webjudge.KEY_POINTS, [text(f"The task: {task}")]),
            *((webjudge.RATING, [text(about), as_it_is(shot)]) for shot in shots),
            (webjudge.VERDICT, expected),
        ]
        assert found.value == 1.0


@pytest.mark.sample(1)
@pytest.mark.parametrize("own", [None, {"verdict": OWN["verdict"]}], ids=["our text", "a text of one's own"])
async def test_webvoyagers_judge_is_asked_as_published(own: Mapping[str, str] | None) -> None:
    repeats = 0
    for seed in SEEDS:
        recorded, judge = of_trajectory(seed), Stages("It is a SUCCESS", [], "")
        recorded = replace(recorded, task=replace(recorded.task, intent=f" {recorded.task.intent} "))
        found = await judged(last_screenshots.LastScreenshots(LAST, own), WEBARENA, recorded, judge)
        shots = shots_of(recorded)
        answer = recorded.closed.answer
        expected = published_rules.webvoyager(recorded.task.intent, answer, shots, LAST)
        prompt = (own or published_screenshots.PROMPTS)["verdict"]
        assert [sent(one) for one in judge.asked] == [(prompt, expected)] and found.value == 1.0
        assert len(expected) - 2 == min(LAST, len(shots))
        repeats += len(without_repeats(shots[-LAST:])) < len(shots[-LAST:])
    assert repeats >= 5, "pages that did not change are shown again"


@pytest.mark.slow
async def test_webvoyagers_judge_is_asked_with_quotations_when_corrected() -> None:
    for seed in SEEDS:
        recorded, judge = of_trajectory(seed), Stages("success", [], "")
        await judged(last_screenshots.LastScreenshots(LAST), CORRECTED, recorded, judge)
        shots = without_repeats(shots_of(recorded))[-LAST:]
        task, answer = quoted(recorded.task.intent, "task"), quoted(recorded.closed.answer, "answer")
        said = f"The task: {task}\nThe answer: {answer}\nThe last {len(shots)} screenshots:"
        assert [sent(one) for one in judge.asked] == [(last_screenshots.VERDICT, [text(said), *map(as_it_is, shots)])]


@pytest.mark.slow
async def test_browsecomps_grader_is_asked_as_published_and_with_quotations_when_corrected() -> None:
    own = {"system": "You grade.", "grader": "[q] {question} [r] {response} [c] {correct_answer} {other} {0}"}
    for seed in SEEDS:
        recorded = of_trajectory(seed)
        task, answer = recorded.task.intent, recorded.closed.answer
        for prompts in (None, own):
            judge = Stages("correct: yes", [], "")
            found = await judged(browsecomp.Grader(prompts), WEBARENA, recorded, judge)
            text_of = prompts or published_grader.PROMPTS
            before, between = text_of["grader"].split("{question}")
            middle, rest = between.split("{response}")
            after, end = rest.split("{correct_answer}")
            expected = f"{before}{task}{middle}{answer}{after}Harbor Mug{end}"
            assert [sent(one) for one in judge.asked] == [(text_of["system"], expected)] and found.value == 1.0
        judge = Stages("correct", [], "")
        await judged(browsecomp.Grader(), CORRECTED, recorded, judge)
        expected = (
            f"The question: {quoted(task, 'question')}\nThe correct answer: {quoted('Harbor Mug', 'correct-answer')}\n"
            f"What was given: {quoted(answer, 'answer')}"
        )
        assert [sent(one) for one in judge.asked] == [(browsecomp.GRADER, expected)]


@pytest.mark.parametrize(
    ("evaluator", "prompts", "why"),
    [
        (webjudge.WebJudge, {"verdicts": "x"}, "prompts has 'verdicts'; choose among key_points, rating, verdict"),
        (last_screenshots.LastScreenshots, {"verdict": " "}, "prompts.verdict is ' '; give a text"),
        (browsecomp.Grader, {"grader": 3}, "prompts.grader is 3; give a text"),
        (webjudge.WebJudge, "x", "prompts is 'x'; give texts by name, as in {key_points: TEXT}"),
    ],
)
def test_a_prompt_that_cannot_be_used_is_one_sentence(evaluator: Any, prompts: Any, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        evaluator(prompts=prompts)


def test_each_prompt_has_a_digest_of_its_own() -> None:
    evaluators = [
        webjudge.WebJudge(),
        webjudge.WebJudge(prompts=OWN),
        webjudge.WebJudge(threshold=4),
        last_screenshots.LastScreenshots(),
        last_screenshots.LastScreenshots(prompts={"verdict": "x"}),
        browsecomp.Grader(),
        browsecomp.Grader({"grader": "x"}),
    ]
    published = [one.in_dialect(WEBARENA).prompt_digest for one in evaluators]
    assert len(set(published)) == len(published)
    assert not set(published) & {one.prompt_digest for one in evaluators}
