"""The beginning of a fork's journal, and what the fold makes of it and of further attempts."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.journal.index import result_of
from harness.journal.inheritance import inherit, write_inheritance
from harness.journal.log import attempts, read
from harness.journal.store import RunFolder
from harness.records import Fork, Opened, Record, SideEffect, Usage
from harness.secrets.redaction import NO_SECRETS
from tests.journal.episodes import acted, decided, doubt, failed, late, opened, replied, resumed

EFFECT = SideEffect(method="POST", url="http://shop.localhost/cart", status=None)
PARENT: tuple[Record, ...] = (
    opened(),
    acted(0),
    decided(1),
    replace(failed(), effects=(EFFECT,)),
    resumed(0),
    acted(1),
    late(1),
    decided(2),
    acted(2),
    decided(3),
    acted(3),
)


def write(run: RunFolder, records: tuple[Record, ...]) -> Path:
    with run.journal("7") as journal:
        for record in records:
            journal.append(record)
    return run.journal_path("7")


def bodies(path: Path) -> list[bytes]:
    return [line.rpartition(b',"crc":')[0] for line in path.read_bytes().splitlines()]


def forked(run: RunFolder, path: Path, step: int, *, is_counted: bool = True) -> Path:
    """A fork of the journal at `path`, as `harness fork` writes it, or wrote it before inherited lines were counted."""
    found = inherit(path, step)
    fork = Fork(run="parent", trial=0, attempt=1, step=step, origin=found.origin)
    if is_counted:
        fork = replace(fork, late=found.late, doubts=found.doubts)
    first = replace(found.opened, attempt=1, why="fork", fork=fork, at=10.0)
    write_inheritance(run.journal_path("7"), first, found, source=path.parent, redactor=NO_SECRETS)
    return run.journal_path("7")


@pytest.fixture
def runs(tmp_path: Path) -> tuple[RunFolder, RunFolder]:
    return RunFolder.open(tmp_path / "parent"), RunFolder.open(tmp_path / "fork")


def test_steps_are_the_same_bytes_and_cost_nothing(runs: tuple[RunFolder, RunFolder]) -> None:
    parent, fork = runs
    theirs = write(parent, PARENT)
    path = forked(fork, theirs, 2)
    kept = [body for body in bodies(theirs) if b'"kind":"acted"' in body or b'"kind":"decided"' in body][:5]
    mine = bodies(path)
    assert [body for body in mine if body in kept] == kept
    kinds = [body.split(b'"')[3] for body in mine]
    assert kinds == [b"opened", b"acted", b"decided", b"late", b"acted", b"late", b"decided", b"acted"]
    episode = read(path)
    assert (len(episode.steps), episode.inherited, episode.total_usage, episode.elapsed_ms) == (2, 2, Usage(), 0.0)
    assert episode.inherited_usage == read(theirs).steps[0].decided.usage + read(theirs).steps[1].decided.usage
    assert EFFECT.url in episode.total_effects and episode.has_acted
    assert episode.failures == () and episode.resumed == ()
    became = result_of(episode)
    assert became is not None and became.fork is not None and became.fork.step == 2 and became.resumes == 0

    with fork.journal("7") as journal:
        journal.append(decided(3))
        journal.append(acted(3))
    went_on = read(path)
    assert went_on.total_usage == decided(3).usage and went_on.elapsed_ms > 0


def test_a_further_attempt_begins_with_the_inherited_steps(runs: tuple[RunFolder, RunFolder]) -> None:
    parent, fork = runs
    path = forked(fork, write(parent, PARENT), 2)
    inherited = read(path)
    with fork.journal("7") as journal:
        for record in (decided(3), acted(3), replace(failed(), at=20.0)):
            journal.append(record)
        first = journal.episode.opened
        assert first is not None
        journal.append(replace(first, attempt=2, why="diverged", at=30.0))
        again = journal.episode
        assert (again.steps, again.arrival, again.late) == (inherited.steps, inherited.arrival, inherited.late)
        assert again.inherited_usage == inherited.inherited_usage and again.usage == Usage()
        journal.append(decided(3))
    assert read(path).pending is not None and len(attempts(path)) == 2
    assert read(path).total_usage == decided(3).usage + decided(3).usage

    found = inherit(path, 1)
    assert list(found.bodies) == bodies(path)[1:6], "the second attempt has the lines of the first"


@pytest.mark.parametrize(("is_counted", "ahead_s"), [(True, 0), (True, 300), (False, 0)])
def test_a_further_attempt_knows_what_is_inherited_where_clocks_differ(
    runs: tuple[RunFolder, RunFolder], is_counted: bool, ahead_s: float
) -> None:
    parent = (opened(), acted(0), replace(doubt(0), why="theirs"), decided(1), acted(1), late(1))
    theirs = write(runs[0], tuple(replace(one, at=one.at + ahead_s) for one in parent))
    path = forked(runs[1], theirs, 1, is_counted=is_counted)
    with runs[1].journal("7") as journal:
        first = journal.episode.opened
        assert first is not None
        for record in (
            replace(doubt(0), why="first", at=11.0),
            replace(late(1), at=12.0),
            replace(failed(), at=13.0),
            replace(first, attempt=2, why="diverged", at=30.0),
        ):
            journal.append(record)
        assert [one.why for one in journal.episode.doubts] == ["theirs"]
        assert (len(journal.episode.late), journal.episode.own_late) == (1, ())
        journal.append(replace(doubt(0), why="second", at=31.0))
        journal.append(replace(late(1), at=32.0))
        assert [one.why for one in journal.episode.doubts] == ["theirs", "second"]
        assert [one.at for one in journal.episode.own_late] == [32.0]
    if is_counted:
        found = inherit(path, 1)
        assert (found.late, found.doubts, len(found.bodies)) == (2, 2, 7)


def test_replies_of_inherited_steps_are_inherited_and_those_of_the_next_are_not(
    runs: tuple[RunFolder, RunFolder],
) -> None:
    parent, fork = runs
    paid = replied(1).usage
    first = replace(decided(1), usage=decided(1).usage + paid, counted=paid)
    path = forked(fork, write(parent, (opened(), acted(0), replied(1), first, acted(1), replied(2), decided(2))), 1)
    episode = read(path)
    assert [one.step for one in episode.replied] == [1]
    assert (episode.inherited_usage, episode.usage, episode.total_usage) == (first.usage, Usage(), Usage())


def test_an_attempt_without_a_fork_begins_anew(runs: tuple[RunFolder, RunFolder]) -> None:
    path = write(runs[0], (*PARENT, failed(), opened(2, why="diverged")))
    episode = read(path)
    assert (episode.steps, episode.arrival, episode.inherited_usage) == ((), None, Usage())


@pytest.mark.parametrize(("records", "step", "why"), [(PARENT, 4, "no step after 3"), (PARENT[:1], 0, "no recorded page")])  # fmt: skip
def test_a_step_that_was_not_recorded_is_refused(
    runs: tuple[RunFolder, RunFolder], records: tuple[Record, ...], step: int, why: str
) -> None:
    path = write(runs[0], records)
    with pytest.raises(ConfigError, match=why):
        inherit(path, step)


def test_what_the_lines_name_is_in_the_new_folder(runs: tuple[RunFolder, RunFolder]) -> None:
    parent, fork = runs
    shot, prompt, state = (
        parent.artifacts.put(b"picture"),
        parent.artifacts.put(b"prompt"),
        parent.checkpoints.put(b"cookies"),
    )
    unused = parent.artifacts.put(b"of a later step")
    first, second = acted(0), acted(1)
    records = (
        opened(),
        replace(first, observation=replace(first.observation, screenshot=shot)),
        replace(decided(1), prompt=(prompt,)),
        replace(second, checkpoint=state),
        replace(decided(2), prompt=(unused,)),
    )
    path = forked(fork, write(parent, records), 1)
    assert isinstance(read(path).opened, Opened)
    for name in (shot, prompt):
        parent.artifacts.path(name).unlink()
    parent.checkpoints.path(state).unlink()
    assert (fork.artifacts.read(shot), fork.artifacts.read(prompt)) == (b"picture", b"prompt")
    assert fork.checkpoints.read(state) == b"cookies"
    assert not fork.artifacts.path(unused).exists()
    assert fork.checkpoints.path(state).parent.parent.stat().st_mode & 0o077 == 0
