"""WebVoyager's judge of the corrected scoring: the task, the answer, and the last k screenshots that differ.

The rules it decides by are those of the paper's evaluation (He et al. 2024, "WebVoyager", arXiv 2401.13919;
`evaluation/auto_eval.py`); the text is ours. As there, an episode without an answer fails without a question.
docs/pages/webvoyager.md lists what differs from the published inputs, which `published_screenshots` has.
"""

from collections.abc import Mapping

from harness.api import Finding, JudgeAccess, JudgedEvaluator, RecordedEpisode, digest
from harness.api.judging import RULE, asked, last_word, picture_part, quoted, screenshots_of, text_part
from harness.api.scoring import WEBARENA
from harness.plugins.webvoyager.published_screenshots import PublishedScreenshots

VERDICT = f"""You decide whether a task on the web was done. You are given the task, the last screenshots that were \
taken, the newest at the end, and the answer that was given. You do not use the web yourself.

- Judge only by what the screenshots and the answer show; assume nothing else.
- A task of several parts is done only when every part is: information that was to be found and is not in the answer \
makes it a failure.
- The screenshots are true; the answer was written by a model. Where they contradict each other, the screenshots \
count. What the answer says and no screenshot shows may be believed.
{RULE}

Explain your decision in a few sentences. Then write, alone on the last line, exactly one of: success, not success."""


class LastScreenshots(JudgedEvaluator):
    """Passed when the verdict is `success`; in the published scoring `PublishedScreenshots` judges.

    Args:
        last: How many screenshots are shown, the newest ones.
        prompts: See `PublishedScreenshots`.
    """

    def __init__(self, last: int = 15, prompts: Mapping[str, str] | None = None) -> None:
        if not isinstance(last, int) or not 1 <= last <= 100:
            raise ValueError(f"last is {last!r}; give a number from 1 to 100")
        self._last = last
        self.prompt_digest = digest([VERDICT, last])
        self._published = PublishedScreenshots(last, prompts)

    def in_dialect(self, dialect: str, /) -> JudgedEvaluator:
        return self._published if dialect == WEBARENA else self

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        if not recorded.closed.answer.strip():
            return Finding(value=0.0, why="there is no answer")
        shots = screenshots_of(recorded.trajectory)[-self._last :]
        task, answer = quoted(recorded.task.intent, "task"), quoted(recorded.closed.answer, "answer")
        said = f"The task: {task}\nThe answer: {answer}\nThe last {len(shots)} screenshots:"
        parts = (text_part(said), *(picture_part(recorded.artifacts, shot) for shot in shots))
        verdict = last_word(await judge.ask(asked(VERDICT, parts)), ("success", "not success"))
        return Finding(value=float(verdict == "success"), why=f"the judge says {verdict}, by {len(shots)} screenshots")
