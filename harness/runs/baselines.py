"""What the free baselines pass of the tasks of a run: its rate is judged against theirs.

They are runs of `agent=null` and `agent=random` under the same results folder, of the same tasks, by digest. A baseline
that lacks one of them is not shown, as its rate would be one of other tasks. Only reads.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import HarnessError
from harness.runs.about import run_info
from harness.runs.outcome import PASSED, UNSCORED
from harness.runs.results import Result, grouped
from harness.runs.run import Run

# Looked for, and not played with every run: `agent=random` costs all steps of each task, and resets of real sites.
AGENTS = ("null", "random")
NO_BASELINE = "no baseline: play the same tasks with agent=null and agent=random"
_MOST_FOLDERS = 2000
"""Beside a run; a folder of more is not a results folder of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What passed of some episodes, unscored ones included."""

    passed: int
    episodes: int

    @property
    def rate(self) -> float:
        return self.passed / self.episodes if self.episodes else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What one of them came to on given tasks, in the scoring of the run."""

    agent: str
    run: str
    """Name of its folder."""
    passed: int
    unscored: int
    episodes: int
    sites: Mapping[str, Share] = field(default_factory=dict)
    """By site combination, as `Result.site` names it."""
    templates: Mapping[str, Share] = field(default_factory=dict)
    """Shares by intent template."""

    @property
    def rate(self) -> float:
        return self.passed / self.episodes if self.episodes else 0.0


def baselines_of(folder: Path, rows: Iterable[Result], dialect: str) -> tuple[Baseline, ...]:
    """The baselines beside a run of the tasks of these rows, one of each kind; of several folders the first by name."""
    asked = asked_of(rows)
    found: dict[str, Baseline] = {}
    for other in _beside(folder) if asked else ():
        known = agent_of(other)
        if known in AGENTS and known not in found and (made := _baseline(other, known, asked, dialect)) is not None:
            found[known] = made
    return tuple(found[agent] for agent in AGENTS if agent in found)


def baselines_of_run(folder: Path, dialect: str) -> tuple[Baseline, ...]:
    """The baselines of all tasks of a run; its journals are read only when there is a baseline beside it."""
    if not any(agent_of(other) in AGENTS for other in _beside(folder)):
        return ()
    return baselines_of(folder, Run(folder, scoring=dialect).results, dialect)


def sentence(baselines: Collection[Baseline], agent: str = "") -> str:
    """The sentence beside a rate; "" without baselines where the agent of the run is one itself."""
    if baselines:
        return f"baselines on these tasks: {said(baselines)}"
    return "" if is_baseline(agent) else NO_BASELINE


def is_baseline(agent: str) -> bool:
    """Whether runs of this agent are baselines themselves."""
    return agent in AGENTS


def rate_of(shares: Mapping[str, Share], name: str) -> str:
    """A cell in the row of that site or template."""
    return f"{shares[name].rate:.1%}" if name in shares else "-"


def said(baselines: Collection[Baseline]) -> str:
    """The baselines in one line, as `null 0.0% (0 of 40), random 2.5% (1 of 40)`; "" without any."""
    return ", ".join(f"{one.agent} {one.rate:.1%} ({one.passed} of {one.episodes})" for one in baselines)


def _beside(folder: Path) -> Iterator[Path]:
    own = folder.resolve()
    try:
        # Not `Path.is_file`, which raises in a folder of another user, and would hide all others.
        runs = [one for one in own.parent.iterdir() if os.path.isfile(one / "run.json")]  # noqa: PTH113
    except OSError:
        return
    yield from sorted(one for one in runs if one != own)[:_MOST_FOLDERS]


def agent_of(folder: Path) -> str:
    """Name of the agent of a run; "" where it is not known or cannot be read."""
    try:
        return run_info(folder).agent
    except (HarnessError, ValueError):  # a name that no folder can have
        return ""


def _baseline(folder: Path, agent: str, asked: Mapping[str, str], dialect: str) -> Baseline | None:
    """None when it was not asked all of them, or cannot be read."""
    try:
        rows = Run(folder, scoring=dialect).results
    except HarnessError:
        return None
    return baseline_of_rows(rows, folder.name, agent, asked)


def baseline_of_rows(rows: Iterable[Result], run: str, agent: str, asked: Mapping[str, str]) -> Baseline | None:
    """What the run with these rows comes to as a baseline; None when it was not asked all of the tasks.

    Args:
        rows: All of the run.
        run: Its name.
        agent: That of the run.
        asked: See `asked_of`, of the rows whose rate is shown.
    """
    rows = [row for row in rows if row.task_id in asked]
    has = {row.task_id: row.digest for row in rows}
    # What the run has not begun has no digest to compare, and yet is counted in its rate.
    if has.keys() != asked.keys() or not all(found and found == (asked[task] or found) for task, found in has.items()):
        return None
    statuses = [row.status for row in rows]
    return Baseline(
        agent=agent,
        run=run,
        passed=statuses.count(PASSED),
        unscored=statuses.count(UNSCORED),
        episodes=len(rows),
        sites=_shares(rows, lambda row: row.site),
        templates=_shares((row for row in rows if row.template), lambda row: row.template),
    )


def asked_of(rows: Iterable[Result]) -> dict[str, str]:
    """Task ids and digests of the tasks of these rows, "" for a task that no row has begun; {} = none is begun."""
    rows = list(rows)
    begun = {row.task_id: row.digest for row in rows if row.digest}
    return {row.task_id: "" for row in rows} | begun if begun else {}


def _shares(rows: Iterable[Result], key: Callable[[Result], str]) -> Mapping[str, Share]:
    return {
        name: Share(passed=sum(row.status == PASSED for row in among), episodes=len(among))
        for name, among in grouped(rows, key).items()
    }
