"""What the server knows of an episode from its journal alone."""

from pathlib import Path

import pytest

from harness.codec import dumps, loads
from harness.plugins.environments.ledger import Entry
from harness.plugins.environments.turn import Recorded
from tests.reports.runs import Shape, fill


def test_an_attempt_of_which_no_page_was_recorded_is_none_that_a_client_has_seen(tmp_path: Path) -> None:
    """So another attempt in its place is not a surprise: it may begin on other instances of its sites."""
    run = fill(tmp_path / "run", [Shape(steps=1, open=True)])
    [journal] = run.glob("*.traj.jsonl")
    task_id = journal.name.partition(".")[0]
    recorded = Recorded(folder=run, entry=Entry(episode_id="x", task_id=task_id, trial=0, seed=None))
    assert recorded.own_attempt() == 1
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    assert recorded.own_attempt() == 0


@pytest.mark.parametrize("scoring, is_over", [("corrected", True), ("webarena", False)])
def test_a_kill_between_the_verdicts_leaves_an_episode_under_way(tmp_path: Path, scoring: str, is_over: bool) -> None:
    """Only the verdict in the run's own scoring gives the reward."""
    run = fill(tmp_path / "run", [Shape(steps=1)])
    (run / "run.json").write_bytes(dumps(loads((run / "run.json").read_bytes()) | {"scoring": scoring}))
    [journal] = run.glob("*.traj.jsonl")
    task_id = journal.name.partition(".")[0]
    recorded = Recorded(folder=run, entry=Entry(episode_id="x", task_id=task_id, trial=0, seed=None))
    assert recorded.is_over()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert [b'"scored"' in line for line in lines[-2:]] == [True, True] and b'"corrected"' in lines[-2]
    journal.write_bytes(b"".join(lines[:-1]))
    assert recorded.is_over() is is_over
