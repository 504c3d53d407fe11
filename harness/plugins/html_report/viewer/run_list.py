"""The runs of a results folder beside each other: what a row of the viewer's list shows of each.

Made of what the watchers know already; no journal is read for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from harness.plugins.html_report.viewer.run_watcher import RunStatus
from harness.runs.baselines import AGENTS, Baseline, asked_of, baseline_of_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """One row."""

    status: RunStatus
    baselines: tuple[Baseline, ...]
    """Of the same tasks."""
    length: float
    """Of its bar, in (0, 1]: with the square root of its episodes, and 1 for the run of most. A run of one task is
    thus a short bar beside one of hundreds, and is still seen."""


def listed(runs: Sequence[RunStatus]) -> tuple[ListedRun, ...]:
    """The rows of these runs, in their order."""
    most = max((run.view.all.episodes for run in runs), default=0) or 1
    return tuple(
        ListedRun(
            status=run,
            baselines=baselines_among(run, runs),
            length=sqrt(max(1, run.view.all.episodes) / most),
        )
        for run in runs
    )


def baselines_among(run: RunStatus, runs: Iterable[RunStatus]) -> tuple[Baseline, ...]:
    """The baselines of the tasks of a run, in its scoring, one of each kind; of several runs the first by name.

    Args:
        run: Whose rate is shown.
        runs: Where baselines are looked for; the run itself is none of its own.
    """
    asked = asked_of(run.rows)
    found: dict[str, Baseline] = {}
    for other in sorted(runs, key=lambda one: one.about.name) if asked else ():
        agent = other.about.agent
        if agent not in AGENTS or agent in found or other.about.name == run.about.name:
            continue
        if len(other.rows) >= len(asked):
            made = baseline_of_rows(other.rows_in(run.about.dialect), other.about.name, agent, asked)
            found |= {agent: made} if made is not None else {}
    return tuple(found[agent] for agent in AGENTS if agent in found)
