"""Decisions from the reply cache in figures: tokens count, time does not."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.actions import Stop
from harness.journal.index import result_of
from harness.journal.store import ArtifactStore
from harness.plugins.tracking.episodes import trajectory_of
from harness.plugins.tracking.trajectory import Trajectory
from harness.records import Episode, Usage
from harness.runner.forecast import episode_profile
from harness.runs import Episode as Played
from harness.runs import step_rows
from harness.runs.episode import RunFiles
from harness.runs.figures import further
from harness.runs.statistics import Group
from tests.journal.episodes import acted, closed, decided, folded, opened, scored


def episode(*cached: bool) -> Episode:
    """Two steps and a stop of 100 ms each, of which some came from the cache."""
    records = [opened(), acted(0)]
    for step, is_cached in enumerate(cached, start=1):
        asked = decided(step, Stop(answer="yes")) if step == len(cached) else decided(step)
        usage = Usage(prompt_tokens=10, completion_tokens=2, requests=not is_cached, from_cache=is_cached)
        records += [replace(asked, usage=usage, elapsed_ms=100.0), *([acted(step)] if step < len(cached) else [])]
    return folded([*records, closed(), scored(1.0, dialect="corrected")])


def test_times_leave_cached_decisions_out(tmp_path: Path) -> None:
    played = episode(True, False, True)
    result = result_of(played)
    assert result is not None
    files = RunFiles(path=tmp_path, scoring="corrected", artifacts=ArtifactStore(tmp_path))
    known = Played(files, result)
    known.__dict__["attempts"] = (played,)
    assert [row["deciding_ms"] for row in step_rows(known)] == [None, 100.0, None]
    found = trajectory_of(played)
    assert isinstance(found, Trajectory)
    assert found.metrics["deciding_s"] == pytest.approx(0.1) and found.metrics["tokens"] == 36
    assert found.metrics["retries"] == 0
    assert episode_profile(played) is None and episode_profile(episode(False, False, False)) is not None


def test_tokens_and_the_share_count() -> None:
    became = result_of(episode(True, False, True))
    assert became is not None and became.usage.tokens == 36
    assert further(Group(usage=became.usage)) == ("answered by the reply cache: 2 of 3 requests (66.7%)",)
    assert further(Group(usage=Usage(requests=3))) == ()
