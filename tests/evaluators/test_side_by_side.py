"""Questions that an evaluator asks side by side: when one fails, the others' replies are waited for, as they are paid."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO

import pytest
from PIL import Image

from harness.api import JudgedEvaluator, Message
from harness.codec import dumps, plain
from harness.errors import EvaluatorError
from harness.evaluators.scorer import recorded_episode
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.plugins.online_mind2web.published_webjudge import PublishedWebJudge
from harness.plugins.online_mind2web.webjudge import WebJudge
from harness.records import TrajectoryStep
from tests.evaluators.evidence import closed, task


class FailsFirst:
    """Answers the question before the pictures, fails at the first picture, and answers the others later."""

    def __init__(self) -> None:
        self.asked = 0
        self.answered = 0

    async def ask(self, messages: Sequence[Message], /) -> str:
        self.asked += 1
        number = self.asked
        if number == 2:
            raise EvaluatorError("the judge did not answer")
        for _ in range(10 * (number - 1)):
            await asyncio.sleep(0)
        self.answered += 1
        return "1. It is done."


def picture(shade: int) -> bytes:
    data = BytesIO()
    Image.new("RGB", (2, 2), (shade, 0, 0)).save(data, "PNG")
    return data.getvalue()


@pytest.mark.parametrize("evaluator", [WebJudge(), PublishedWebJudge()])
async def test_what_is_on_its_way_is_waited_for(evaluator: JudgedEvaluator) -> None:
    kept, judge = MemoryArtifacts(), FailsFirst()
    steps = [
        TrajectoryStep(action="click", why_not="", url="u", title="t", screenshot=kept.put(picture(shade)))
        for shade in (1, 2, 3)
    ]
    done = closed("five")
    evidence = replace(done.evidence, trajectory=kept.put(dumps([plain(step) for step in steps])))
    recorded = recorded_episode(task("webjudge"), replace(done, evidence=evidence), kept)
    with pytest.raises(EvaluatorError, match="the judge did not answer"):
        await evaluator.evaluate_judged(recorded, judge)
    assert (judge.asked, judge.answered) == (4, 3), "each picture was asked about, and all answers came in time"
