"""WebJudge of the corrected scoring: key points of the task, then the screenshots that show them, then the verdict.

The three stages, the scale of 1 to 5 with its threshold and the rules of the verdict are those of the paper (Xue et al.
2025, "An Illusion of Progress? Assessing the Current State of Web Agents", arXiv 2504.01382); the texts are ours. As
published, the final answer and the agent's own words are not shown to the judge, and a screenshot whose rating cannot
be read does not count as a key screenshot. What the judge is shown beside it, and how its replies are read, differs
from the published code, which `published_webjudge` follows; docs/pages/online_mind2web.md lists the differences.
"""

from collections.abc import Mapping

from harness.api import EvaluatorError, Finding, JudgeAccess, JudgedEvaluator, RecordedEpisode, digest
from harness.api.judging import RULE, actions_of, asked, last_word, picture_part, quoted, screenshots_of, text_part
from harness.api.scoring import WEBARENA
from harness.plugins.online_mind2web.published_webjudge import PublishedWebJudge, side_by_side

_AT_ONCE = 4
_RATINGS = ("1", "2", "3", "4", "5")
_LONGEST_NOTE = 600

KEY_POINTS = f"""You prepare the check of a task that somebody was to do on a web site. List the requirements that the \
task itself states: each thing to be found or done, each condition, each value. Add nothing that is not stated. A word \
such as best, cheapest, latest, closest, highest or lowest is a requirement of its own: the results must be sorted or \
filtered by it. {RULE}

Answer with a numbered list, one requirement a line, and nothing else."""

RATING = f"""You look at one screenshot that was taken while a task was done on a web site, and say how much it shows \
of what the task requires. First describe in a few sentences what on it bears on the requirements: filters that \
are set, values that were entered, results, confirmations. {RULE}

Then rate it:
1 = nothing that bears on the task; 2 = little, or unclear; 3 = some steps or hints, incomplete; 4 = important steps \
or evidence, not all; 5 = clear evidence that no check of this task can do without.
Write the rating, one digit, alone on the last line."""

VERDICT = f"""You decide whether an agent has done a task on a web site completely. You are given the task, its key \
points, the agent's actions, and screenshots with a note on each. What the agent claims is not shown and does not count.

- Every key point must be met, as the actions and screenshots show it.
- A filter must be applied, and its effect must be seen. Words such as cheapest, latest or highest-rated ask for the \
site's own sorting or filter; typing the requirements into a search box is not enough, as results need not meet them.
- A range of prices, years or numbers must be exactly the one of the task: neither wider nor narrower.
- If the task asks to submit something or to show a result, that must have happened.
- A search that was done rightly and finds nothing is a success.
- Where a page already shows all there is, choosing rightly from it does without a filter.
{RULE}

Think it over in a few sentences, key point by key point. Then write, alone on the last line, exactly one of: success, \
failure."""


class WebJudge(JudgedEvaluator):
    """Passed when the verdict is `success`; in the published scoring `PublishedWebJudge` judges.

    Args:
        threshold: Least rating of a key screenshot.
        max_screenshots: Key screenshots shown with the question for the verdict, the first ones.
        prompts: See `PublishedWebJudge`.
    """

    def __init__(self, threshold: int = 3, max_screenshots: int = 50, prompts: Mapping[str, str] | None = None) -> None:
        if threshold not in range(1, 6):
            raise ValueError(f"threshold is {threshold!r}; give a number from 1 to 5")
        if not isinstance(max_screenshots, int) or not 1 <= max_screenshots <= 200:
            raise ValueError(f"max_screenshots is {max_screenshots!r}; give a number from 1 to 200")
        self._threshold = threshold
        self._most = max_screenshots
        self.prompt_digest = digest([KEY_POINTS, RATING, VERDICT, threshold, max_screenshots])
        self._published = PublishedWebJudge(threshold, max_screenshots, prompts)

    def in_dialect(self, dialect: str, /) -> JudgedEvaluator:
        return self._published if dialect == WEBARENA else self

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        taken = screenshots_of(recorded.trajectory)
        task = quoted(recorded.task.intent, "task")
        points = await judge.ask(asked(KEY_POINTS, [text_part(f"The task: {task}")]))
        about = f"The task: {task}\nIts key points: {quoted(points, 'key-points')}"
        rated: list[tuple[str, int, str]] = []
        for first in range(0, len(taken), _AT_ONCE):
            some = taken[first : first + _AT_ONCE]
            rated += await side_by_side(self._rated(recorded, judge, about, shot) for shot in some)
        keys = [(shot, note) for shot, rating, note in rated if rating >= self._threshold][: self._most]
        parts = [text_part(f"{about}\nThe agent's actions: {actions_of(recorded.trajectory)}")]
        for number, (shot, note) in enumerate(keys, start=1):
            parts.append(text_part(f"Screenshot {number}, with this note: {quoted(note, 'note')}"))
            parts.append(picture_part(recorded.artifacts, shot))
        said = last_word(await judge.ask(asked(VERDICT, parts)), ("success", "failure"))
        return Finding(value=float(said == "success"), why=f"WebJudge says {said}, by {len(keys)} key screenshots")

    async def _rated(
        self, recorded: RecordedEpisode, judge: JudgeAccess, about: str, shot: str
    ) -> tuple[str, int, str]:
        """A screenshot, its rating, and what the judge wrote before it; 0 for a rating that cannot be read."""
        reply = await judge.ask(asked(RATING, [text_part(about), picture_part(recorded.artifacts, shot)]))
        try:
            rating = int(last_word(reply, _RATINGS))
        except EvaluatorError:
            rating = 0
        note = " ".join(reply.split()[:-1])
        return shot, rating, note[:_LONGEST_NOTE]
