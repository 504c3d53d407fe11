"""WebVoyager's judge of the published scoring: its inputs, and how its reply is read, as in the benchmark's own code.

The code is `evaluation/auto_eval.py` of MinorJerry/WebVoyager (Apache-2.0). Order, layout and labels of the messages,
pictures, cuts and the reading are its own; the instructions in the system message are in our words.
Why: docs/decisions/scoring.md#the-published-scoring-of-judged-benchmarks
"""

import re
from collections.abc import Mapping

from harness.api import EvaluatorError, Finding, JudgeAccess, JudgedEvaluator, RecordedEpisode, digest
from harness.api.judging import asked, own_prompts, picture_part, taken_screenshots, text_part
from harness.api.scoring import shown

_ANSWER = re.compile(r"ANSWER[; ]+\[?(.[^\]]*)\]?")
"""The published pattern for the answer in `ANSWER; [the answer]`: it ends at the first `]`."""

PROMPTS = {
    "verdict": """You evaluate whether a task on the web was done. You are given three things:

1. Web Task Instruction: what was to be done on a web site, in plain language, such as a search, a comparison, a \
check of facts or of availability.

2. Result Screenshots: what the screen showed at the end of the work or during it; they prove what was done.

3. Result Response: the text that was given as the result.

-- You do not use the web yourself, and do nothing of the task.
-- Assume nothing that the screenshots do not show when you compare them with the instruction.
-- Compare the instruction carefully with the screenshots and the response, and decide whether what was done meets it.
-- The instruction may hold several tasks, such as finding a place and summing up its reviews. If one of them is not \
done, as when the summary is missing, the whole is not successful.
-- The screenshots are authentic. The response was written by a model at the end, and may differ from them.
-- Where the response contradicts the screenshots, the screenshots count. What the response says and the screenshots \
do not mention may be believed.

Explain how you come to your decision, and then give your verdict on whether the task was done: either 'SUCCESS' or \
'NOT SUCCESS'.""",
}


class PublishedScreenshots(JudgedEvaluator):
    """Passed when the reply says `SUCCESS` and not `NOT SUCCESS`.

    Args:
        last: How many screenshots are shown, the newest ones.
        prompts: The system message in the place of ours, as `verdict`.
    """

    def __init__(self, last: int = 15, prompts: Mapping[str, str] | None = None) -> None:
        self._prompts = own_prompts(PROMPTS, prompts)
        self._last = last
        self.prompt_digest = digest(["published", self._prompts, last])

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        if not recorded.closed.answer.strip():
            return Finding(value=0.0, why="there is no answer")
        shots = taken_screenshots(recorded.trajectory)[-self._last :]
        text = (
            f"TASK: {recorded.task.intent.strip()}\nResult Response: {judged_answer(recorded.closed.answer)}\n"
            f"{self._last} screenshots at the end: "
        )
        pictures = [picture_part(recorded.artifacts, shot) for shot in shots]
        parts = [text_part(text), *pictures, text_part("Your verdict:\n")]
        passed = is_success(await judge.ask(asked(self._prompts["verdict"], parts)))
        said = "SUCCESS" if passed else "NOT SUCCESS"
        return Finding(value=float(passed), why=f"the judge says {said}, by {len(shots)} screenshots")


def judged_answer(answer: str) -> str:
    """What the published code reads of `ANSWER; [answer]`."""
    found = _ANSWER.search(f"ANSWER; [{answer}]")
    assert found is not None
    return found[1].strip()


def is_success(reply: str) -> bool:
    """Read in capitals, anywhere in the reply.

    Raises:
        EvaluatorError: It says neither; the published code leaves such a task out of its rate.
    """
    if "SUCCESS" not in reply:
        raise EvaluatorError(f"the judge says neither SUCCESS nor NOT SUCCESS: {shown(reply)}")
    return "NOT SUCCESS" not in reply
