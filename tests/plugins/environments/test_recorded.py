"""What the server knows of an episode from its journal alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.actions import Stop
from harness.choices import Durability
from harness.codec import dumps, loads
from harness.episode.job import task_digest
from harness.journal.store import RunFolder
from harness.plugins.environments.ledger import Entry
from harness.plugins.environments.problem import Problem
from harness.plugins.environments.turn import Recorded
from harness.plugins.environments.views import observation
from harness.records import CloseReason, Record, Reference, Refused, Scored, Task
from tests.journal.episodes import acted, closed, decided, failed, opened
from tests.journal.episodes import scored as a_score
from tests.reports.runs import Shape, fill
from tests.scored_runs import MUST, a_task, play, scored


def test_an_attempt_of_which_no_page_was_recorded_is_none_that_a_client_has_seen(tmp_path: Path) -> None:
    """So another attempt in its place is not a surprise: it may begin on other instances of its sites."""
    run = fill(tmp_path / "run", [Shape(steps=1, open=True)])
    [journal] = run.glob("*.traj.jsonl")
    task_id = journal.name.partition(".")[0]
    recorded = Recorded(folder=run, entry=Entry(episode_id="x", task_id=task_id, trial=0, seed=None))
    assert recorded.own_attempt() == 1
    journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
    assert recorded.own_attempt() == 0


@pytest.mark.parametrize("has_page", [True, False])
@pytest.mark.parametrize("begun", [(decided(1), acted(1)), (decided(1),)], ids=["a step", "a decision"])
def test_the_attempt_in_which_the_client_decided_stays_its_own_when_another_begins(
    tmp_path: Path, begun: tuple[Record, ...], has_page: bool
) -> None:
    diverged = (replace(failed(), type="EnvironmentDiverged"), opened(2, why="diverged"))
    with RunFolder.open(tmp_path, durability=Durability.none) as run, run.journal("7") as journal:
        for record in (opened(), acted(0), *begun, *diverged, *((acted(0),) if has_page else ())):
            journal.append(record)
    recorded = Recorded(folder=tmp_path, entry=Entry(episode_id="x", task_id="7", trial=0, seed=None))
    assert recorded.own_attempt() == 1


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


def test_a_corrected_reference_leaves_an_episode_under_way_until_it_has_scored_it(tmp_path: Path) -> None:
    played, present = a_task("1", reference_answers={"exact_match": "13"}), a_task("1", reference_answers=MUST)
    old, new = scored("corrected", 0.0), scored("corrected", 1.0)
    by_present = Reference(eval=present.eval, task_digest=task_digest(present))
    entry = Entry(episode_id="x", task_id="1", trial=0, seed=None)

    def recorded(name: str, of: Task, *scores: Scored) -> Recorded:
        with RunFolder.open(tmp_path / name, durability=Durability.none) as run:
            play(run, played, "12 of them", *scores)
        return Recorded(folder=tmp_path / name, entry=entry, task=of)

    same, outdated = recorded("same", played, old), recorded("outdated", present, old)
    again = recorded("again", present, old, replace(new, reference=by_present))
    assert (same.is_over(), outdated.is_over(), again.is_over()) == (True, False, True)
    assert (same.end().reward, again.end().reward) == (0.0, 1.0)
    with pytest.raises(Problem, match="no score by the corrected reference"):
        outdated.end()


@pytest.mark.parametrize("reason", CloseReason)
def test_the_end_says_whether_a_limit_came_before_it(tmp_path: Path, reason: CloseReason) -> None:
    """Who learns values goes on from the last page of an episode that was cut off, and not from one that ended."""
    run = fill(tmp_path / "run", [Shape(steps=2, reason=reason)])
    [journal] = run.glob("*.traj.jsonl")
    entry = Entry(episode_id="x", task_id=journal.name.partition(".")[0], trial=0, seed=None)
    recorded = Recorded(folder=run, entry=entry)
    before, end = observation(recorded.step(1)), observation(recorded.end())
    assert (before["closed"], before["truncated"]) == ("", False)
    assert (end["closed"], end["truncated"]) == (reason, reason in ("MAX_STEPS", "BUDGET"))


def test_a_refusal_is_told_once_and_by_no_later_page(tmp_path: Path) -> None:
    """The browser's notice says it, too; after `stop` no page is seen, so the newest one is shown again."""
    why, dialog = "there is no element [9]", "a dialog said: Sure?"
    page = acted(1)
    assert page.observation is not None
    seen = replace(page.observation, notices=(f"the action was refused: {why}", dialog))
    refused = replace(page, outcome=Refused(why=why), observation=seen)
    stopped = (
        decided(2, Stop(answer="yes")),
        closed(),
        *(a_score(1.0, dialect=one) for one in ("webarena", "corrected")),
    )
    with RunFolder.open(tmp_path, durability=Durability.none) as run, run.journal("7") as journal:
        for record in (opened(), acted(0), decided(1), refused, *stopped):
            journal.append(record)
    recorded = Recorded(folder=tmp_path, entry=Entry(episode_id="x", task_id="7", trial=0, seed=None))
    assert (recorded.step(1).told, recorded.end().told) == (f"{why}\n{dialog}", "")
