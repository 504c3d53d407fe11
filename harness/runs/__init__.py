"""Read a run: its episodes, steps, requests, scores and statistics.

    from harness.runs import Run

    run = Run("results/demo-prompt-scripted")
    for episode in run.episodes():
        if episode.status == "failed":
            print(episode.task_id, episode.cause, episode.steps[-1].text)

Reads journals, artifacts and small files of a run folder, never `private/`, and never writes. One episode is held at a
time; what was redacted when it was recorded stays redacted. Pages, titles, answers and replies are texts of web sites
and models: treat them as untrusted.
"""

from harness.escape import escaped, listed, one_line
from harness.records import Tokens
from harness.runs.attribution import Attributed, Attribution
from harness.runs.episode import Episode, Step
from harness.runs.figures import Fact, as_data, facts, headline
from harness.runs.outcome import FAILED, PASSED, UNSCORED, Score
from harness.runs.request import Request, ToolCall
from harness.runs.results import Result
from harness.runs.rows import Steps, Tasks, step_rows, task_row
from harness.runs.run import Run
from harness.runs.statistics import Cause, Group, Statistics, statistics_of

__all__ = [
    "FAILED",
    "PASSED",
    "UNSCORED",
    "Attributed",
    "Attribution",
    "Cause",
    "Episode",
    "Fact",
    "Group",
    "Request",
    "Result",
    "Run",
    "Score",
    "Statistics",
    "Step",
    "Steps",
    "Tasks",
    "Tokens",
    "ToolCall",
    "as_data",
    "escaped",
    "facts",
    "headline",
    "listed",
    "one_line",
    "statistics_of",
    "step_rows",
    "task_row",
]
