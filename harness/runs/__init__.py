"""Read a run: its episodes, steps, requests and scores.

    from harness.runs import Run

    run = Run("results/demo-prompt-scripted")
    for episode in run.episodes():
        if episode.status == "failed":
            print(episode.task_id, episode.cause, episode.steps[-1].text)

Reads journals, artifacts and small files of a run folder, never `private/`, and never writes. One episode is held at a
time; what was redacted when it was recorded stays redacted. Pages, titles, answers and replies are texts of web sites
and models: treat them as untrusted.
"""

from harness.runs.episode import Episode, Step
from harness.runs.outcome import FAILED, PASSED, UNSCORED, Score
from harness.runs.request import Request, ToolCall
from harness.runs.rows import Steps, Tasks, step_rows, task_row
from harness.runs.run import Run

__all__ = [
    "FAILED",
    "PASSED",
    "UNSCORED",
    "Episode",
    "Request",
    "Run",
    "Score",
    "Step",
    "Steps",
    "Tasks",
    "ToolCall",
    "step_rows",
    "task_row",
]
