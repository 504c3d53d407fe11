"""A run folder belongs to one process tree; nothing is written outside it, and nothing half."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from harness.errors import JournalError, JournalLocked, StorageError, TaskError, UsageError
from harness.journal.log import read
from harness.journal.store import ArtifactStore, RunFolder, lock_token
from harness.secrets.redaction import Redactor
from tests.journal.episodes import PROJECT, folded, opened

HOLDING = (
    "import sys; from pathlib import Path; from harness.journal.store import RunFolder\n"
    "run = RunFolder.open(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
)


def test_the_second_process_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDING, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(JournalLocked) as locked:
            RunFolder.open(tmp_path)
        assert str(locked.value).startswith(
            f"{tmp_path} is in use by process {holder.pid} on {os.uname().nodename} (-c "
        )
        RunFolder.open(tmp_path, held=False).close()
        holder.kill()
        holder.wait()
        with RunFolder.open(tmp_path):
            pass


@pytest.mark.parametrize("is_worker", [False, True])
def test_a_run_whose_folder_was_deleted_writes_nothing_to_the_one_that_a_new_start_made_there(
    tmp_path: Path, *, is_worker: bool
) -> None:
    path = tmp_path / "sweep"
    with RunFolder.open(path) as first, RunFolder.open(path, held=False) as worker:
        used = worker if is_worker else first
        used.journal("1").close()
        used.write("run.json", b"{}")
        token = first.token()
        assert token == lock_token(path)
        shutil.rmtree(path)
        with pytest.raises(StorageError, match="sweep was moved or deleted while this run used it"):
            used.journal("2")
        with pytest.raises(StorageError, match="sweep was moved or deleted while this run used it"):
            used.artifacts.stage(b"a page")
        command = [sys.executable, "-c", HOLDING, str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT) as second:
            assert second.stdout is not None and second.stdout.readline() == b"held\n"
            with pytest.raises(StorageError, match="moved or deleted"):
                used.journal("2")
            with pytest.raises(StorageError, match="moved or deleted"):
                used.write("summary.json", b"{}")
            for put in (used.artifacts.put, used.artifacts.stage, used.checkpoints.put):
                with pytest.raises(StorageError, match="moved or deleted"):
                    put(b"a page")
            assert first.token() == token != lock_token(path), "a further worker sees that it is another folder"
            second.communicate()
    assert not list(path.glob("*.jsonl")) and not (path / "summary.json").exists()
    assert not (path / "artifacts").exists() and not (path / "private").exists()


def test_a_run_that_misses_a_file_because_its_folder_was_moved_says_so(tmp_path: Path) -> None:
    path = tmp_path / "sweep"
    with pytest.raises(StorageError, match="sweep was moved or deleted") as told, RunFolder.open(path):
        path.rename(tmp_path / "old")
        raise ExceptionGroup(
            "workers", [StorageError(f"cannot write {path / 'sites.jsonl'}: no such file or directory")]
        )
    assert told.value.__cause__ is not None


def test_a_refused_run_does_not_remove_the_folder_that_a_new_start_made_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "sweep"
    with pytest.raises(UsageError), RunFolder.open(path):
        path.rename(tmp_path / "old")
        path.mkdir()
        (path / ".lock").write_text("of another run")
        raise UsageError("set OPENAI_API_KEY")
    assert (path / ".lock").exists()


def test_a_file_system_that_makes_up_other_inode_numbers_does_not_end_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunFolder.open(tmp_path) as run:
        monkeypatch.setattr(os.path, "samestat", lambda one, other: False)
        run.journal("1").close()
        run.write("run.json", b"{}")


@pytest.mark.parametrize(
    ("why", "stays"), [("set OPENAI_API_KEY", False), ("worker 0 ended 5 times; see run.log and worker.log", True)]
)
def test_a_refused_start_leaves_the_logs_that_its_sentence_names_and_nothing_else(
    why: str, stays: bool, tmp_path: Path
) -> None:
    with pytest.raises(UsageError), RunFolder.open(tmp_path / "run") as run:
        (run.path / "worker.log").write_text("what was wrong\n")
        raise UsageError(why)
    assert (tmp_path / "run" / "worker.log").exists() == stays
    assert (tmp_path / "run").exists() == stays


def test_children_given_the_hold_keep_it_until_they_end(tmp_path: Path) -> None:
    run = RunFolder.open(tmp_path)
    assert run.lock is not None
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[run.lock.fd]) as child:
        run.close()
        with pytest.raises(JournalLocked, match=f"process {os.getpid()} on"):
            RunFolder.open(tmp_path)
        child.kill()
        child.wait()
        RunFolder.open(tmp_path).close()


def test_other_children_do_not_keep_the_hold(tmp_path: Path) -> None:
    run = RunFolder.open(tmp_path)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as child:
        run.close()
        RunFolder.open(tmp_path).close()
        child.kill()


def test_an_unreadable_lock_file_still_locks(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path):
        (tmp_path / ".lock").write_bytes(b"[1, 2")
        with pytest.raises(JournalLocked, match="in use by another process"):
            RunFolder.open(tmp_path)


def test_journals_are_named_by_task_and_trial(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path) as run:
        for trial, name in ((0, "7.traj.jsonl"), (2, "7.trial-2.traj.jsonl")):
            with run.journal("7", trial) as journal:
                journal.append(opened(trial=trial))
            assert read(tmp_path / name) == folded([opened(trial=trial)])


@pytest.mark.parametrize(
    "task_id",
    ["", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", ".lock", "a\0b", "a\n", "é", "a b", "x" * 201, "7.trial-1"],
)
def test_a_task_id_never_chooses_another_place(tmp_path: Path, task_id: str) -> None:
    with RunFolder.open(tmp_path) as run, pytest.raises(TaskError, match="cannot name a file"):
        run.journal(task_id)


@pytest.mark.parametrize("name", ["../x", "a/b", "/x", "", "..", "."])
def test_a_small_file_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    with RunFolder.open(tmp_path / "run") as run, pytest.raises(ValueError, match="not a plain file name"):
        run.write(name, b"")


def test_artifacts_are_stored_once_under_their_hash(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    digest = store.put(b"page")
    assert digest == sha256(b"page").hexdigest()
    path = tmp_path / digest[:2] / digest
    inode = path.stat().st_ino
    assert store.put(b"page") == digest
    assert path.stat().st_ino == inode
    assert [found for found in tmp_path.rglob("*") if found.is_file()] == [path]
    assert store.read(digest) == b"page"


def test_a_damaged_artifact_is_found_when_read_and_mended_when_its_size_shows_it(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    digest = store.put(b"page")
    path = tmp_path / digest[:2] / digest
    path.write_bytes(b"pagf")
    with pytest.raises(JournalError, match="is damaged"):
        store.read(digest)
    path.write_bytes(b"")
    store.put(b"page")
    assert store.read(digest) == b"page"


def test_a_staged_artifact_of_which_a_power_cut_left_a_part_is_refused_and_replaced(tmp_path: Path) -> None:
    for left in (b"", b"pa", b"\0\0\0\0"):
        staged = ArtifactStore(tmp_path).stage(b"page")
        path = tmp_path / staged.digest[:2] / staged.digest
        path.write_bytes(left)
        with pytest.raises(JournalError, match="is damaged"):
            ArtifactStore(tmp_path).read(staged.digest)
        again = ArtifactStore(tmp_path).stage(b"page")
        again.settle()
        assert ArtifactStore(tmp_path).read(again.digest) == b"page" and again.digest == staged.digest


def test_equal_bytes_may_be_staged_and_stored_at_once(tmp_path: Path) -> None:
    stores = [ArtifactStore(tmp_path) for _ in range(4)]
    bodies = [b"body %d" % number for number in range(40)]

    def keep(store: ArtifactStore) -> list[str]:
        staged = [store.stage(body) for body in bodies]
        for one in staged:
            one.settle()
        return [store.put(body) for body in bodies]

    with ThreadPoolExecutor(len(stores)) as threads:
        kept = list(threads.map(keep, stores))
    assert kept == [[sha256(body).hexdigest() for body in bodies]] * len(stores)
    assert [stores[0].read(digest) for digest in kept[0]] == bodies
    assert len([found for found in tmp_path.rglob("*") if found.is_file()]) == len(bodies)


def test_secrets_are_taken_out_of_what_is_staged(tmp_path: Path) -> None:
    staged = ArtifactStore(tmp_path, redactor=Redactor({"key": "hunter22"})).stage(b"say hunter22")
    assert staged.data == b"say [redacted:key]" and staged.digest == sha256(staged.data).hexdigest()


def test_what_an_earlier_process_left_is_compared_before_it_is_believed_and_only_once(tmp_path: Path) -> None:
    digest = ArtifactStore(tmp_path).put(b"page")
    path = tmp_path / digest[:2] / digest
    path.write_bytes(b"pagf")
    later = ArtifactStore(tmp_path)
    assert later.put(b"page") == digest
    assert later.read(digest) == b"page", "a damaged file of the right size was replaced"
    read_at = path.stat().st_atime_ns
    os.utime(path, ns=(0, path.stat().st_mtime_ns))
    assert later.put(b"page") == digest
    assert path.stat().st_atime_ns == 0 != read_at, "it was not read again"


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 63, "G" * 64, "0" * 64 + "\n"])
def test_only_a_hash_names_an_artifact(tmp_path: Path, name: str) -> None:
    with pytest.raises(JournalError, match="is not the name of an artifact"):
        ArtifactStore(tmp_path).read(name)


def test_a_missing_artifact_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"cannot be read: No such file"):
        ArtifactStore(tmp_path).read("0" * 64)


def test_checkpoints_are_for_the_owner_only(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path) as run:
        digest = run.checkpoints.put(b'{"cookies":[{"name":"sid","value":"s3cret"}]}')
        assert b"s3cret" in run.checkpoints.read(digest)
    (found,) = [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()]
    assert found.relative_to(tmp_path).parts[:2] == ("private", "checkpoints")
    assert found.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "private").stat().st_mode & 0o777 == 0o700


def test_unfinished_files_of_a_killed_run_are_swept_at_the_next_start(tmp_path: Path) -> None:
    RunFolder.open(tmp_path).close()
    (tmp_path / ".staging" / ".1-2.tmp").write_bytes(b"half")
    RunFolder.open(tmp_path, held=False).close()
    assert list((tmp_path / ".staging").iterdir()) != []
    RunFolder.open(tmp_path).close()
    assert list((tmp_path / ".staging").iterdir()) == []
