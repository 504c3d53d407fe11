"""A disk that refuses stops the run with one sentence, and costs nothing that was recorded."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.errors import StorageError
from harness.files import disk, safe_files
from harness.files.disk import write_atomic, write_whole
from harness.journal.log import Journal, read
from harness.journal.store import RunFolder
from tests.journal.episodes import PROJECT, acted, decided, folded, opened, write

NEXT_COMMAND = "no recorded data is lost; fix this and run the same command again"
NOBODY = 65534

APPENDING = """
import os, resource, sys
from pathlib import Path
from harness.errors import StorageError
from harness.journal.log import Journal, read
from harness.journal.store import RunFolder
from tests.journal.episodes import acted, decided, opened

def append_all(path, text="x" * 5000):
    with Journal.open(path) as journal:
        journal.append(opened())
        journal.append(acted(0, text))
        for step in range(1, 100):
            journal.append(decided(step))
            journal.append(acted(step, text))

path = Path(sys.argv[1])
try:
    %s
    print("nothing refused")
except StorageError as refused:
    print(refused)
"""


def in_another_process(code: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", APPENDING % code, str(path)],
        capture_output=True, text=True, cwd=PROJECT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("mounting a small disk needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_full_disk_stops_and_goes_on_once_there_is_space(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=64k") as disk:
        ballast = disk / "ballast"
        path = disk / "7.traj.jsonl"
        write(path, [opened(), acted(0)])
        with Journal.open(path) as journal:
            ballast.write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize))
            with pytest.raises(StorageError) as refused:
                journal.append(decided(1, reply="x" * 9000))
            assert str(refused.value) == f"cannot write {path}: the disk is full; {NEXT_COMMAND}"
            assert journal.episode == folded([opened(), acted(0)])
        assert path.read_bytes()[-1:] == b"x", "the part that fitted is a torn tail"
        assert read(path) == folded([opened(), acted(0)])
        ballast.unlink()
        with Journal.open(path) as journal:
            journal.append(decided(1))
            assert journal.append(acted(1)) == folded([opened(), acted(0), decided(1), acted(1)])


def test_a_full_disk_leaves_no_part_of_an_artifact(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=64k") as disk, RunFolder.open(disk / "run") as run:
        with pytest.raises(StorageError, match="the disk is full"):
            run.artifacts.put(os.urandom(100_000))
        assert [found for found in (disk / "run").rglob("*") if found.is_file()] == [disk / "run" / ".lock"]
        assert run.artifacts.read(run.artifacts.put(b"small")) == b"small"


def test_a_file_system_without_inodes_is_named_as_that(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=1m,nr_inodes=8") as disk:
        with pytest.raises(StorageError, match="no free inodes left: too many files"):
            for number in range(8):
                Journal.open(disk / f"{number}.traj.jsonl").close()
        (disk / "0.traj.jsonl").unlink()
        Journal.open(disk / "8.traj.jsonl").close()


def test_a_read_only_file_system_is_named_as_that_and_can_be_read(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=64k") as disk:
        path = disk / "7.traj.jsonl"
        write(path, [opened()])
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(StorageError, match="the file system is read-only"):
            Journal.open(path)
        with pytest.raises(StorageError, match="the file system is read-only"):
            RunFolder.open(disk)
        assert read(path) == folded([opened()])


@pytest.mark.parametrize("attempt", ["append_all(Path('7.traj.jsonl'))", "RunFolder.open(Path('run'))"])
def test_a_folder_without_permission_is_named_as_that(tmp_path: Path, attempt: str) -> None:
    tmp_path.chmod(0o555)
    become_nobody = f"os.geteuid() or os.seteuid({NOBODY})"  # root is asked for no permission
    said = in_another_process(f"os.chdir(path); {become_nobody}; {attempt}", tmp_path)
    assert said.endswith(f": permission denied; {NEXT_COMMAND}")


def test_a_file_size_limit_stops_and_goes_on_without_it(tmp_path: Path) -> None:
    path = tmp_path / "7.traj.jsonl"
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
    said = in_another_process(f"{limit}; append_all(path)", path)
    assert said.startswith(f"cannot write {path}: the disk is full")
    assert path.stat().st_size == 20_000
    whole = read(path)
    assert len(whole.steps) == 2
    with Journal.open(path) as journal:
        assert journal.episode == whole
        journal.append(decided(3) if whole.pending is None else acted(3))


def test_too_many_open_files_are_named_as_that(tmp_path: Path) -> None:
    limit = "resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))"
    said = in_another_process(
        f"{limit}; kept = [open(os.devnull) for _ in range(17)]; append_all(path)", tmp_path / "7"
    )
    assert said == f"cannot write {tmp_path / '7'}: this process has too many open files (ulimit -n); {NEXT_COMMAND}"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_what_the_machine_lacks_is_said_without_a_file_too(number: int) -> None:
    found = disk.foreseen(OSError(number, os.strerror(number)))
    assert found is not None and str(found).endswith(f"; {NEXT_COMMAND}")
    assert disk.foreseen(OSError(errno.ECONNRESET, "reset")) is None


def test_an_input_output_error_is_named_as_that() -> None:
    with pytest.raises(StorageError, match="the disk reports an input/output error"):
        Journal.open(Path("/proc/self/mem"))  # nothing is mapped at its start, so the kernel answers EIO


def test_a_device_that_takes_nothing_closes_the_journal() -> None:
    journal = Journal(Path("/dev/full"), os.open("/dev/full", os.O_WRONLY))
    for why in ("the disk is full", "is closed"):
        with pytest.raises(Exception, match=why):
            journal.append(opened())
    assert journal.episode == folded([])


def test_half_a_line_is_an_error_even_if_the_kernel_calls_it_success() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        with pytest.raises(OSError, match="bytes were written"):
            write_whole(writing, bytes(1 << 20))
    finally:
        os.close(reading)
        os.close(writing)


def test_an_atomic_write_replaces_whole_files_only(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    write_atomic(path, b"old")
    with pytest.raises(StorageError, match="there is a folder where"):
        path.with_name("folder").mkdir()
        write_atomic(path.with_name("folder"), b"new")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["folder", "summary.json"]


WRITING = """
import os, sys
from pathlib import Path
from harness.files.disk import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.readline()
    file.write(b" and half")
"""


@contextmanager
def a_writer(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has written a half of a file."""
    line = [sys.executable, "-c", WRITING, str(path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_left_half_written_is_removed_by_the_next_one(tmp_path: Path) -> None:
    with a_writer(tmp_path / "report"):
        (left,) = names(tmp_path)
    assert left.endswith(".tmp") and names(tmp_path) == [left]
    with a_writer(tmp_path / "report") as process:  # the next call, in a process of its own
        (unfinished,) = names(tmp_path)
        assert unfinished != left
        process.communicate("go on\n")
    assert names(tmp_path) == ["report"] and (tmp_path / "report").read_bytes() == b"half and half"


def test_what_another_process_is_still_writing_is_left_alone(tmp_path: Path) -> None:
    with a_writer(tmp_path / "report") as process:
        write_atomic(tmp_path / "summary", b"whole")
        process.communicate("go on\n")
    assert (tmp_path / "report").read_bytes() == b"half and half"


def test_what_no_process_of_ours_left_is_left_alone(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / f".{gone.pid}-0.tmp").write_bytes(b"half")
    (tmp_path / f".{gone.pid}-1.tmp").symlink_to(tmp_path / "mine")
    (tmp_path / f".{gone.pid}-2.tmp").hardlink_to(tmp_path / "mine")
    (tmp_path / f".{gone.pid}-3.tmp").mkdir()
    os.mkfifo(tmp_path / f".{gone.pid}-4.tmp")
    (tmp_path / f".{os.getpid()}-987654.tmp").write_bytes(b"of a process that runs")
    for name in ("12-3.tmp", f".x{gone.pid}-3.tmp", f".{gone.pid}-3.tmp.txt", ".12.tmp"):
        (tmp_path / name).write_bytes(b"of the person")
    before = names(tmp_path)
    write_atomic(tmp_path / "report", b"whole")
    assert names(tmp_path) == sorted({*before, "report"} - {f".{gone.pid}-0.tmp"})
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_a_file_of_the_same_name_is_neither_written_to_nor_removed(tmp_path: Path) -> None:
    number = next(disk._serial) + 1
    theirs = tmp_path / f".{os.getpid()}-{number}.tmp"
    theirs.write_bytes(b"of a process with this id on another machine")
    write_atomic(tmp_path / "report", b"whole")
    assert theirs.read_bytes().startswith(b"of a process") and (tmp_path / "report").read_bytes() == b"whole"


def flushed(monkeypatch: pytest.MonkeyPatch, refusal: int = 0) -> list[str]:
    """What a system with F_FULLFSYNC is asked for, the call and the file; with `refusal`, its disk does not take it."""
    there, asked = os.fsync, []

    def control(fd: int, command: int, argument: int = 0) -> int:
        assert command == 51
        asked.append(f"flush {Path(f'/proc/self/fd/{fd}').resolve().name}")
        if refusal:
            raise OSError(refusal, os.strerror(refusal))
        return 0

    def fsync(fd: int) -> None:
        asked.append(f"fsync {Path(f'/proc/self/fd/{fd}').resolve().name}")
        there(fd)

    monkeypatch.setattr("harness.files.sync._FLUSH", 51)
    monkeypatch.setattr("fcntl.fcntl", control)
    monkeypatch.setattr("os.fsync", fsync)
    return asked


def test_where_fsync_leaves_data_in_the_drive_it_is_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = flushed(monkeypatch)
    with Journal.open(tmp_path / "7.traj.jsonl") as journal:
        asked.clear()
        journal.append(opened())
    assert asked == ["flush 7.traj.jsonl"]
    asked.clear()
    write_atomic(tmp_path / "file", b"new")
    assert len(asked) == 2 and asked[0].startswith("flush .") and asked[1] == f"flush {tmp_path.name}"


def test_a_disk_that_cannot_flush_has_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = flushed(monkeypatch, errno.ENOTSUP)
    disk.sync_folder(tmp_path)
    assert asked == [f"flush {tmp_path.name}", f"fsync {tmp_path.name}"]


def test_an_error_of_the_disk_while_it_flushes_is_none_of_fsync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = flushed(monkeypatch, errno.EIO)
    with pytest.raises(StorageError, match="input/output error"):
        write_atomic(tmp_path / "file", b"new")
    assert len(asked) == 1 and list(tmp_path.iterdir()) == []


def test_a_disk_without_fsync_of_folders_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = os.fsync

    def fsync(fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").is_dir():
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        there(fd)

    monkeypatch.setattr("os.fsync", fsync)
    with RunFolder.open(tmp_path / "run") as run:
        digest = run.artifacts.put(b"page")
        assert run.artifacts.read(digest) == b"page"
        write(run.journal_path("7"), [opened()])


def test_a_file_that_cannot_be_opened_is_named_with_its_folder(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=64k,ro") as full, pytest.raises(OSError, match="Read-only") as refused:
        safe_files.open_append(full / "worker.log")
    assert str(disk.foreseen(refused.value)).startswith(f"cannot use {full / 'worker.log'}: the file system is read-")


def test_a_disk_without_permissions_has_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr("os.fchmod", refuse)
    with safe_files.open_append(tmp_path / "worker.log") as log:
        log.write(b"line")
    assert (tmp_path / "worker.log").read_bytes() == b"line"
