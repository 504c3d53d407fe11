"""Run folders come together by copying: the longer journal of two that agree, and never one of two that do not."""

import os
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from harness.errors import JournalError
from harness.journal import merge as merging
from harness.journal.log import read
from harness.journal.merge import merge, merge_shards
from harness.journal.store import RunFolder
from tests.journal.episodes import decided, opened, task, whole_episode


def play(folder: Path, task_id: str, *, records: int = 3, artifact: bytes = b"seen") -> None:
    """Bring a journal to so many records."""
    with RunFolder.open(folder) as run, run.journal(task_id) as journal:
        run.artifacts.put(artifact)
        run.checkpoints.put(b"cookies of " + artifact)
        known = len(journal.bodies())
        for record in whole_episode(of=task(task_id))[known:records]:
            journal.append(record)


def test_disjoint_folders_become_one_with_what_their_journals_speak_of(tmp_path: Path) -> None:
    play(tmp_path / "a", "1", artifact=b"one")
    play(tmp_path / "b", "2", artifact=b"two")
    with RunFolder.open(tmp_path / "all") as target:
        assert [merge(tmp_path / name, target.path) for name in ("a", "b", "a")] == [1, 1, 0]
        assert sorted(task_id for task_id, _ in target.scan().outcomes) == ["1", "2"]
        for store, content in ((target.artifacts, b"one"), (target.checkpoints, b"cookies of two")):
            assert store.read(sha256(content).hexdigest()) == content
        assert not (target.path / "private").stat().st_mode & 0o077


def test_the_longer_of_two_journals_is_kept_whichever_way(tmp_path: Path) -> None:
    play(tmp_path / "a", "1")
    (tmp_path / "b").mkdir()
    assert merge(tmp_path / "a", tmp_path / "b") == 1
    play(tmp_path / "b", "1", records=4)
    assert merge(tmp_path / "a", tmp_path / "b") == 0, "the shorter one brings nothing"
    assert merge(tmp_path / "b", tmp_path / "a") == 1
    assert read(tmp_path / "a" / "1.traj.jsonl") == read(tmp_path / "b" / "1.traj.jsonl")


def test_only_whole_lines_are_taken_from_a_journal_that_is_being_written(tmp_path: Path) -> None:
    play(tmp_path / "a", "1")
    with (tmp_path / "a" / "1.traj.jsonl").open("ab") as journal:
        journal.write(b'{"kind":"deci')
    (tmp_path / "b").mkdir()
    merge(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b" / "1.traj.jsonl").read_bytes().endswith(b"}\n")


def test_journals_that_went_on_apart_are_left_alone_and_named(tmp_path: Path) -> None:
    play(tmp_path / "a", "1")
    with RunFolder.open(tmp_path / "b") as run, run.journal("1") as journal:
        journal.append(opened(of=task("1", intent="Something else")))
    before = (tmp_path / "b" / "1.traj.jsonl").read_bytes()
    with pytest.raises(JournalError, match="have diverged"):
        merge(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b" / "1.traj.jsonl").read_bytes() == before


def test_a_shard_that_went_on_apart_keeps_no_other_journal_from_the_run(tmp_path: Path) -> None:
    run, shards = tmp_path / "run", [tmp_path / "run" / "shards" / f"{number}-of-2" for number in (1, 2)]
    play(run, "1")
    for shard, ids in zip(shards, ("12", "3"), strict=True):
        shard.mkdir(parents=True)
        for task_id in ids:
            play(shard, task_id)
    (shards[0] / "1.traj.jsonl").unlink()
    play(shards[0], "1", records=1)
    with RunFolder.open(shards[0]) as folder, folder.journal("1") as journal:
        journal.append(replace(whole_episode(of=task("1"))[1], at=77.0))
    with pytest.raises(JournalError, match=r"1\.traj\.jsonl have diverged"):
        merge_shards(run)
    assert {path.name for path in run.glob("*.traj.jsonl")} == {f"{task_id}.traj.jsonl" for task_id in "123"}


def test_only_what_is_named_is_copied(tmp_path: Path) -> None:
    play(tmp_path / "a", "1")
    play(tmp_path / "a", "2")
    (tmp_path / "b").mkdir()
    assert merge(tmp_path / "a", tmp_path / "b", {"2.traj.jsonl"}) == 1
    assert [path.name for path in (tmp_path / "b").glob("*.traj.jsonl")] == ["2.traj.jsonl"]


def test_what_the_source_stores_meanwhile_is_not_named_by_the_copied_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(tmp_path / "a", "1")
    (tmp_path / "b").mkdir()
    copied: list[str] = []
    copy = merging._copy_files

    def copy_and_go_on(source: Path, target: Path, kind: str) -> None:
        copy(source, target, kind)
        if not copied:
            with RunFolder.open(source) as run, run.journal("1") as journal:
                journal.append(replace(decided(1), prompt=(run.artifacts.put(b"asked meanwhile"),)))
        copied.append(kind)

    monkeypatch.setattr(merging, "_copy_files", copy_and_go_on)
    assert merge(tmp_path / "a", tmp_path / "b") == 1
    pending = read(tmp_path / "b" / "1.traj.jsonl").pending
    there = {path.name for path in (tmp_path / "b" / "artifacts").rglob("*")}
    assert set(() if pending is None else pending.prompt) <= there
    assert merge(tmp_path / "a", tmp_path / "b") == 1
    assert read(tmp_path / "b" / "1.traj.jsonl") == read(tmp_path / "a" / "1.traj.jsonl")
    with RunFolder.open(tmp_path / "b") as run:
        assert run.artifacts.read(sha256(b"asked meanwhile").hexdigest()) == b"asked meanwhile"


def test_of_journals_that_are_equal_only_the_ends_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path / "a", "1")
    (tmp_path / "b").mkdir()
    merge(tmp_path / "a", tmp_path / "b")
    # Another time of change, so that it is not remembered.
    os.utime(tmp_path / "a" / "1.traj.jsonl", ns=(1, 1))
    monkeypatch.setattr(merging, "whole_lines", None)
    assert merge(tmp_path / "a", tmp_path / "b") == 0


def test_a_longer_journal_that_is_damaged_in_the_middle_replaces_nothing(tmp_path: Path) -> None:
    play(tmp_path / "a", "1")
    (tmp_path / "b").mkdir()
    merge(tmp_path / "a", tmp_path / "b")
    play(tmp_path / "a", "1", records=4)
    path, before = tmp_path / "a" / "1.traj.jsonl", (tmp_path / "b" / "1.traj.jsonl").read_bytes()
    damaged = bytearray(path.read_bytes())
    damaged[20] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(JournalError, match="have diverged"):
        merge(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b" / "1.traj.jsonl").read_bytes() == before


@pytest.mark.parametrize("intent", ["Buy me", "Buy"])
def test_a_journal_that_went_on_apart_and_is_no_longer_is_named_too(tmp_path: Path, intent: str) -> None:
    with RunFolder.open(tmp_path / "a") as run, run.journal("1") as journal:
        journal.append(opened(of=task("1", intent=intent)))
    with RunFolder.open(tmp_path / "b") as run, run.journal("1") as journal:
        journal.append(opened(of=task("1", intent="Buy it")))
    before = (tmp_path / "b" / "1.traj.jsonl").read_bytes()
    with pytest.raises(JournalError, match="have diverged"):
        merge(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b" / "1.traj.jsonl").read_bytes() == before


def test_a_torn_line_is_no_difference(tmp_path: Path) -> None:
    play(tmp_path / "a", "1")
    play(tmp_path / "b", "1")
    merge(tmp_path / "a", tmp_path / "b")
    (tmp_path / "b" / "1.traj.jsonl").write_bytes(
        (tmp_path / "a" / "1.traj.jsonl").read_bytes() + b'{"kind":"acted","step":'
    )
    assert merge(tmp_path / "a", tmp_path / "b") == 0


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """What was made durable, in order."""
    names: list[Path] = []
    sync = os.fsync

    def noting(fd: int) -> None:
        names.append(Path(f"/proc/self/fd/{fd}").readlink())
        sync(fd)

    monkeypatch.setattr(os, "fsync", noting)
    yield names


def test_the_names_of_new_folders_are_durable_before_a_journal_names_what_is_in_them(
    tmp_path: Path, synced: list[Path]
) -> None:
    play(tmp_path / "a", "1")
    target = tmp_path / "b"
    target.mkdir()
    synced.clear()
    merge(tmp_path / "a", target)
    written = next(at for at, path in enumerate(synced) if path.parent == target and path.name.startswith("."))
    assert {target / "artifacts", target / "private", target / "private" / "checkpoints"} <= {*synced[:written]}


@pytest.mark.parametrize("again", [False, True])
def test_an_artifact_beside_one_that_is_not_settled_is_durable_with_its_folder(
    tmp_path: Path, synced: list[Path], *, again: bool
) -> None:
    names = {sha256(b"%d" % number).hexdigest()[:2]: b"%d" % number for number in range(2000)}
    second = next(b"%d" % number for number in range(2000, 9000) if sha256(b"%d" % number).hexdigest()[:2] in names)
    with RunFolder.open(tmp_path / "run") as run:
        run.artifacts.stage(names[sha256(second).hexdigest()[:2]])
        if not again:
            synced.clear()
            run.artifacts.put(second)
    if again:  # another process, which did not make the folder
        with RunFolder.open(tmp_path / "run") as run:
            synced.clear()
            run.artifacts.put(second)
    assert tmp_path / "run" / "artifacts" in synced
