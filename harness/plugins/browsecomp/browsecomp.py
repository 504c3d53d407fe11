"""BrowseComp's tasks: published encrypted; the question is decrypted for the agent, the answer by the evaluator only.

The grader asks whether the answer says the same as the reference, as the published one does; the prompt is ours. In the
published scoring it is asked and read as the benchmark's own code does (`published_grader`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.api import (
    LIVE,
    Benchmark,
    Evaluator,
    Finding,
    JudgeAccess,
    JudgedEvaluator,
    Message,
    RecordedEpisode,
    digest,
)
from harness.api.judging import RULE, last_word, quoted
from harness.api.scoring import WEBARENA
from harness.api.sealed_answers import decrypt
from harness.api.tasks import Fields, needed_text, read_rows
from harness.plugins.browsecomp.published_grader import PublishedGrader
from harness.plugins.browsecomp.reference_answer import NAME, reference_answer

GRADER = f"""You compare an answer to a question with the correct answer, which is known. You do not try to answer the \
question yourself, and argue for no other answer.

Find the final answer in what was given; if there is none, or several that differ, it is incorrect. It is correct if \
it means the same as the correct answer, or differs from it by a small margin where both are numbers; it is incorrect \
if anything in it is inconsistent, ambiguous or not equivalent. {RULE}

Explain in a few sentences where the two differ, if they do. Then write, alone on the last line, exactly one of: \
correct, incorrect."""


class BrowseComp(Benchmark):
    """Rows `problem, answer, problem_topic, canary` of `browse_comp_test_set.csv`; a row's id is its number, from 0.

    Args:
        path: The task file, as published.
        start_url: Where every task begins.
        prompts: Of the grader, in the published scoring.
    """

    def __init__(
        self,
        path: str | None = None,
        start_url: str = "https://www.google.com/",
        prompts: Mapping[str, str] | None = None,
    ) -> None:
        self._path = path
        self._start_url = start_url
        self._grader = Grader(prompts)

    def tasks(self) -> Iterable[Mapping[str, Any]]:
        for number, row in enumerate(read_rows(self._path)):
            canary = needed_text(row, "canary")
            problem = _decrypted(row, "problem", canary)
            _decrypted(row, "answer", canary)
            yield {
                "task_id": f"browsecomp-{number}",
                "sites": [LIVE],
                "start_url": self._start_url,
                "intent": problem,
                "mutates": False,
                "eval": {"eval_types": [NAME], NAME: {"answer": row.text("answer"), "canary": canary}},
                "metadata": {"problem_topic": row.get("problem_topic")},
            }

    def evaluators(self) -> Mapping[str, Evaluator]:
        return {NAME: self._grader}


class Grader(JudgedEvaluator):
    """Passed when the judge says `correct`; in the published scoring `PublishedGrader` judges.

    Args:
        prompts: See `PublishedGrader`.
    """

    prompt_digest = digest([GRADER])

    def __init__(self, prompts: Mapping[str, str] | None = None) -> None:
        self._published = PublishedGrader(prompts)

    def in_dialect(self, dialect: str, /) -> JudgedEvaluator:
        return self._published if dialect == WEBARENA else self

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        reference = reference_answer(recorded.task)
        if not recorded.closed.answer.strip():
            return Finding(value=0.0, why="there is no answer")
        asked = (
            f"The question: {quoted(recorded.task.intent, 'question')}\n"
            f"The correct answer: {quoted(reference, 'correct-answer')}\n"
            f"What was given: {quoted(recorded.closed.answer, 'answer')}"
        )
        reply = await judge.ask((Message(role="system", content=GRADER), Message(role="user", content=asked)))
        said = last_word(reply, ("correct", "incorrect"))
        return Finding(value=float(said == "correct"), why=f"the grader says {said}")


def _decrypted(row: Fields, key: str, canary: str) -> str:
    try:
        text = decrypt(needed_text(row, key), canary)
    except ValueError as error:
        raise row.wrong(key, f"cannot be decrypted: {error}") from error
    if not text.strip():
        raise row.wrong(key, "is empty once decrypted")
    return text
