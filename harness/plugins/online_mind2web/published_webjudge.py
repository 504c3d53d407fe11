"""WebJudge of the published scoring: the judge's inputs, and how its replies are read, as in the benchmark's own code.

The code is `src/methods/webjudge_online_mind2web.py` and `src/utils.py` of OSU-NLP-Group/Online-Mind2Web (MIT licence),
mode `WebJudge_Online_Mind2Web_eval`. Order, layout and labels of the messages, pictures, cuts and readings are its own,
oddities included; the instructions in the system messages are in our words and ask for the published form of reply.
Why: docs/decisions/scoring.md#the-published-scoring-of-judged-benchmarks
"""

import asyncio
import re
from collections.abc import Awaitable, Iterable, Mapping
from typing import TypeVar

from harness.api import Finding, JudgeAccess, JudgedEvaluator, RecordedEpisode, digest
from harness.api.judging import asked, jpeg_part, own_prompts, taken_screenshots, text_part

T = TypeVar("T")
_AT_ONCE = 4
_RATING = re.compile("[1-5]")

PROMPTS = {
    "key_points": """You find the key points of a task that an agent is to do on a web site.

**What to do**: Read the description of the task and take from it what has to be true when the task is done: each \
thing to be found or done, each condition, each value. Take only what the description says; add and infer nothing. A \
word such as best, cheapest, highest, highest-rated, largest, latest, lowest, most recent, closest or newest is a key \
point of its own: the site's sorting must be used for it (write, for instance, "Filter by cheapest").

**Respond with**:
- **Key Points**: the key points as a numbered list, one a line, without explanations.""",
    "rating": """You look at one picture, a snapshot of a web page, and decide how much of what a task requires it \
shows.

**What to do**:
1. Describe the picture in detail: its contents, elements, texts and anything that stands out.
2. Look for steps or evidence without which the task could not be called done: actions, signs of progress, filters \
that are set, instructions that are followed, results. Say whether they bear on the task directly and whether they \
can be done without. A picture that shows only a part of it is useful, too.
3. Give your reasons first, naming the elements you mean, and then a score from 1 to 5:
    - **1**: nothing that is necessary or relevant;
    - **2**: little that is relevant, or unclear, and hardly necessary;
    - **3**: some relevant steps or hints, unclear or incomplete;
    - **4**: important steps or evidence, highly relevant, not all of it;
    - **5**: steps or evidence that are crucial for the task, and clear.

Respond with:
1. **Reasoning**: [your reasons]
2. **Score**: [1-5]""",
    "verdict": """You evaluate an agent that uses web sites on a person's behalf. You are given the person's task, \
its key points, the agent's actions, and snapshots of pages that may be important, with the reasons why. Decide \
whether the agent has done the task and met every requirement of it.

Keep to these criteria:
1: Results that were to be filtered must be shown rightly. A filter that was not chosen, not confirmed or has no \
visible effect makes the task a failure.
2: Check each key point against snapshots and actions. Words such as best, cheapest, highest, highest-rated, largest, \
latest, lowest, most recent, closest and newest ask for the site's own filter or sorting.
3: What is to be met by a filter is not met by a search for all requirements at once, as its results need not meet \
them: that is a failure.
4: A range of money or years, or a number of beds or bathrooms, must be set exactly as the task says; a wider or a \
narrower one is a failure. These are failures:
- less than $50 was asked for, and less than $25 is set;
- $1500-$2500 was asked for, and $2000-$2500 is set;
- $25-$200 was asked for, and $0-$200 is set;
- 2004-2012 was asked for, and 2001-2012 is set;
- before 2015 was asked for, and 2000-2014 is set;
- exactly 2 beds were asked for, and 2+ beds are set.
5: Where the task asks for something to be submitted or for results to be shown, that must have happened.
6: If what was looked for does not exist, or nothing was found, and the agent did rightly what was asked, it is a \
success.
7: If a page shows all items there are, no filter is needed; choosing those that meet the requirements is a success.

Answer in two lines, in this form:

Thoughts: <your reasons, going through each key point and the criteria>
Status: "success" or "failure"
""",
}


class PublishedWebJudge(JudgedEvaluator):
    """Passed when the reply has "success" after its first "Status:".

    Args:
        threshold: Least rating of a key screenshot.
        max_screenshots: Key screenshots shown with the question for the verdict, the first ones.
        prompts: System messages in the place of ours, by stage: `key_points`, `rating`, `verdict`.
    """

    def __init__(self, threshold: int = 3, max_screenshots: int = 50, prompts: Mapping[str, str] | None = None) -> None:
        self._prompts = own_prompts(PROMPTS, prompts)
        self._threshold = threshold
        self._most = max_screenshots
        self.prompt_digest = digest(["published", self._prompts, threshold, max_screenshots])

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        taken, task = taken_screenshots(recorded.trajectory), recorded.task.intent
        points = key_points(await judge.ask(asked(self._prompts["key_points"], [text_part(f"Task: {task}")])))
        about = text_part(
            f"**Task**: {task}\n\n**Key Points for Task Completion**: {points}\n\n"
            "The snapshot of the web page is shown in the image."
        )
        pictures, notes = [], []
        for first in range(0, len(taken), _AT_ONCE):
            some = [await asyncio.to_thread(jpeg_part, recorded.artifacts, one) for one in taken[first:][:_AT_ONCE]]
            questions = (judge.ask(asked(self._prompts["rating"], [about, picture])) for picture in some)
            for picture, reply in zip(some, await side_by_side(questions), strict=True):
                score, note = rating(reply)
                if score >= self._threshold:
                    pictures.append(picture)
                    notes += [note] if note else []
        actions = [step.action for step in recorded.trajectory if step.action]
        shown = f"User Task: {task}\n\nKey Points: {points}\n\nAction History:\n{_numbered(actions)}"
        if pictures:
            shown += (
                "\n\nThe potentially important snapshots of the webpage in the agent's trajectory and their reasons:\n"
                + _numbered(notes[: self._most])
            )
        parts = [text_part(shown), *pictures[: self._most]]
        passed = is_success(await judge.ask(asked(self._prompts["verdict"], parts)))
        said, count = "success" if passed else "failure", len(parts) - 1
        return Finding(value=float(passed), why=f"WebJudge says {said}, by {count} key screenshots")


async def side_by_side(questions: Iterable[Awaitable[T]]) -> list[T]:
    """The replies to questions that are asked at once, in their order.

    Raises: what the first of them raised that failed; no other is on its way then.
    """
    # Not a task group, which would cancel the others: their replies are paid, and recorded as they come.
    found = await asyncio.gather(*questions, return_exceptions=True)
    replies: list[T] = []
    for one in found:
        if isinstance(one, BaseException):
            raise one
        replies.append(one)
    return replies


def key_points(reply: str) -> str:
    """What follows the heading, without blank lines and indentation."""
    text = reply.replace("\n\n", "\n")
    _, heading, after = text.partition("**Key Points**:")
    listed = after.partition("**Key Points**:")[0] if heading else text.rpartition("Key Points:")[2]
    return "\n".join(line.lstrip() for line in listed.splitlines())


def rating(reply: str) -> tuple[int, str]:
    """The first digit from 1 to 5 between the first "Score" and the next one, and the reasoning's first paragraph.

    0 = there is no such digit; it is below every threshold.
    """
    found = _RATING.search(reply.partition("Score")[2].partition("Score")[0])
    reasoning = reply.rpartition("**Reasoning**:")[2].strip().partition("\n\n")[0]
    return (int(found[0]), reasoning.replace("\n", " ")) if found else (0, "")


def is_success(reply: str) -> bool:
    """Whether "success" is between the first "status:" and the next one; "unsuccessful" has it, too."""
    return "success" in reply.lower().partition("status:")[2].partition("status:")[0]


def _numbered(lines: list[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
