"""BrowseComp's grader of the published scoring: its inputs, and how its reply is read, as in the benchmark's own code.

The code is `browsecomp_eval.py` of openai/simple-evals (MIT licence). Order, layout and labels of the message and the
reading are its own; the instructions are in our words. One thing is read as it was meant: that code compares the whole
match, `correct: yes`, with `yes`, so that no answer is ever correct.
Why: docs/decisions/scoring.md#the-published-scoring-of-judged-benchmarks
"""

import re
from collections.abc import Mapping

from harness.api import Finding, JudgeAccess, JudgedEvaluator, Message, RecordedEpisode, digest
from harness.api.judging import own_prompts
from harness.plugins.browsecomp.reference_answer import reference_answer

_FIELD = re.compile(r"\{(question|response|correct_answer)\}")

PROMPTS = {
    "system": "You are a helpful assistant.",
    "grader": """Decide whether the following [response] to [question] is correct, by the [correct_answer] below, \
which is precise and unambiguous.

[question]: {question}

[response]: {response}

Write your judgement in this form, by these criteria:

extracted_final_answer: The final answer, taken from the [response] word by word. Write 'None' if the [response] has \
no final answer.

[correct_answer]: {correct_answer}

reasoning: Why the extracted_final_answer is correct or incorrect by the [correct_answer]: name only what makes a \
real difference between the two. Add no background, do not try to solve the problem, and argue for no other answer \
than the [correct_answer].

correct: Write 'yes' if the extracted_final_answer means the same as the [correct_answer], or is within a small \
margin of it where the problem asks for a number. Write 'no' otherwise: if anything in it is inconsistent, ambiguous \
or not equivalent, or if it is wrong.


confidence: The confidence between 0% and 100% that the [response] states. Write 100 if it states none.""",
}


class PublishedGrader(JudgedEvaluator):
    """Passed when the reply says `correct: yes`.

    Args:
        prompts: Texts in the place of ours: `system`, and `grader` with the fields `{question}`, `{response}` and
            `{correct_answer}`.
    """

    def __init__(self, prompts: Mapping[str, str] | None = None) -> None:
        self._prompts = own_prompts(PROMPTS, prompts)
        self.prompt_digest = digest(["published", self._prompts])

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        fields = {
            "question": recorded.task.intent,
            "response": recorded.closed.answer,
            "correct_answer": reference_answer(recorded.task),
        }
        question = _FIELD.sub(lambda found: fields[found[1]], self._prompts["grader"])
        system = Message(role="system", content=self._prompts["system"])
        passed = is_correct(await judge.ask((system, Message(role="user", content=question))))
        return Finding(value=float(passed), why=f"the grader says {'correct' if passed else 'incorrect'}")


def is_correct(reply: str) -> bool:
    """The first `correct: yes` or `correct: no` in the reply, in lower case; neither is no."""
    found = re.search("correct: (yes|no)", reply)
    return found is not None and found[1] == "yes"
