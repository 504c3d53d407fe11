"""What the free baselines pass of the tasks of a run: its rate is judged against theirs.

They are runs of `agent=null` and `agent=random` under the same results folder, of the very same tasks, which are told
by their digests. A baseline that lacks one of them is not shown, as its rate would be one of other tasks. Only reads.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError
from harness.journal.index import scan
from harness.reports.rows import Row, rows_of, run_info
from harness.reports.summary import PASSED, UNSCORED

AGENTS = ("null", "random")
_MOST_FOLDERS = 2000
"""Beside a run; a folder of more is no results folder of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What one of them came to on given tasks, in the scoring of the run."""

    agent: str
    run: str
    """Name of its folder."""
    passed: int
    unscored: int
    episodes: int

    @property
    def rate(self) -> float:
        return self.passed / self.episodes if self.episodes else 0.0


def baselines_of(folder: Path, rows: Iterable[Row], dialect: str) -> tuple[Baseline, ...]:
    """The baselines of the tasks of these rows, one of each kind; of several folders the first by name.

    Args:
        folder: The run; baselines are looked for beside it.
        rows: Those whose rate is shown.
        dialect: Scoring.
    """
    asked = {row.task_id: row.digest for row in rows if row.digest}
    found: dict[str, Baseline] = {}
    for other in _beside(folder) if asked else ():
        known = _agent_of(other)
        if known in AGENTS and known not in found and (made := _baseline(other, known, asked, dialect)) is not None:
            found[known] = made
    return tuple(found[agent] for agent in AGENTS if agent in found)


def said(baselines: Collection[Baseline]) -> str:
    """In one line, as `null 0.0% (0 of 40), random 2.5% (1 of 40)`; "" without any."""
    return ", ".join(f"{one.agent} {one.rate:.1%} ({one.passed} of {one.episodes})" for one in baselines)


def _beside(folder: Path) -> Iterator[Path]:
    own = folder.resolve()
    try:
        others = [one for one in own.parent.iterdir() if one != own and (one / "run.json").is_file()]
    except OSError:
        return
    yield from sorted(others)[:_MOST_FOLDERS]


def _agent_of(folder: Path) -> str:
    try:
        return run_info(folder).agent
    except HarnessError:
        return ""


def _baseline(folder: Path, agent: str, asked: Mapping[str, str], dialect: str) -> Baseline | None:
    """None when it was not asked all of them, or cannot be read."""
    try:
        known = run_info(folder, dialect)
        rows = [row for row in rows_of(scan(folder).entries, known) if row.task_id in asked]
    except HarnessError:
        return None
    if {row.task_id: row.digest for row in rows} != asked:
        return None
    statuses = [row.status for row in rows]
    return Baseline(
        agent=agent,
        run=folder.name,
        passed=statuses.count(PASSED),
        unscored=statuses.count(UNSCORED),
        episodes=len(rows),
    )
