"""The reply cache on a real disk: what is torn, foreign, secret, too much, or written by several at once."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.journal.reply_cache import ReplyCache, check_folder, prune, statistics
from harness.protocols import StoredReply
from harness.secrets.redaction import Redactor
from tests.files.test_disk import small_disk
from tests.journal.episodes import PROJECT

KEYS = [f"{number:02x}" * 32 for number in range(256)]
REPLY = StoredReply(raw=b'{"choices":[]}\n\x00', request_id="req-1", request=b'{"api":"chat","body":{}}')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    check_folder(tmp_path / "cache", "llm.cache_dir", writes=True)
    return tmp_path / "cache"


def cache(folder: Path, *, max_bytes: int = 1 << 20, secrets: dict[str, str] | None = None, writes: bool = True,
          notice: Callable[[str], None] = lambda text: None) -> ReplyCache:  # fmt: skip
    return ReplyCache(folder, max_bytes=max_bytes, writes=writes, redactor=Redactor(secrets), notice=notice)


def path_of(folder: Path, key: str) -> Path:
    return folder / "replies" / key[:2] / key


def test_a_reply_comes_back_byte_for_byte_for_its_owner_only(folder: Path) -> None:
    cache(folder).write(KEYS[1], REPLY)
    assert cache(folder).read(KEYS[1]) == REPLY and cache(folder).read(KEYS[2]) is None
    for path in folder.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.sample(8)
@pytest.mark.parametrize("cut", range(0, 200, 7))
def test_a_torn_reply_is_a_miss_that_is_said_once(folder: Path, cut: int) -> None:
    said: list[str] = []
    reading = cache(folder, notice=said.append)
    reading.write(KEYS[1], REPLY)
    path = path_of(folder, KEYS[1])
    whole = path.read_bytes()
    path.write_bytes(whole[: min(cut, len(whole) - 1)])
    assert reading.read(KEYS[1]) is None and reading.read(KEYS[1]) is None
    assert len(said) == 1 and str(path) in said[0]
    reading.write(KEYS[1], REPLY)
    assert reading.read(KEYS[1]) == REPLY


def test_every_changed_byte_is_a_miss(folder: Path) -> None:
    cache(folder).write(KEYS[1], REPLY)
    path = path_of(folder, KEYS[1])
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert cache(folder).read(KEYS[1]) is None, place


def test_another_keys_file_a_link_and_a_fifo_are_misses(folder: Path) -> None:
    said: list[str] = []
    cache(folder).write(KEYS[1], REPLY)
    for key in KEYS[2:5]:
        path_of(folder, key).parent.mkdir()
    path_of(folder, KEYS[2]).write_bytes(path_of(folder, KEYS[1]).read_bytes())
    path_of(folder, KEYS[3]).symlink_to(path_of(folder, KEYS[1]))
    os.mkfifo(path_of(folder, KEYS[4]))
    reading = cache(folder, notice=said.append)
    assert [reading.read(key) for key in KEYS[2:5]] == [None] * 3
    assert len(said) == 2, "a reply that is none, and files that are none"


def test_a_secret_is_not_on_disk_and_comes_back_to_who_knows_it(folder: Path) -> None:
    secret = {"password": "tea-house-2026"}
    said = StoredReply(raw=b'{"text":"I type tea-house-2026 [redacted:x]"}', request_id="tea-house-2026")
    cache(folder, secrets=secret).write(KEYS[1], said)
    assert b"tea-house" not in path_of(folder, KEYS[1]).read_bytes()
    assert cache(folder, secrets=secret).read(KEYS[1]) == said
    assert cache(folder).read(KEYS[1]) is None, "without the secret it is another reply"
    assert cache(folder, secrets={"password": "another-one"}).read(KEYS[1]) is not None, "a new password of that name"


def test_an_escaped_secret_comes_back_as_it_was_escaped(folder: Path) -> None:
    secret = {"password": 'tea"house-2026'}
    said = StoredReply(raw=b'{"text":"tea\\"house-2026 or tea%22house-2026"}')
    cache(folder, secrets=secret).write(KEYS[1], said)
    assert b"house" not in path_of(folder, KEYS[1]).read_bytes()
    assert cache(folder, secrets=secret).read(KEYS[1]) == said


@pytest.mark.parametrize("raw", [b"key sk-abcdefghij0123456789xyz", b'{"text":"tea\\u0022house-2026"}'])
def test_a_reply_that_redaction_would_change_for_good_is_not_kept(folder: Path, raw: bytes) -> None:
    keeping = cache(folder, secrets={"password": 'tea"house-2026'})
    keeping.write(KEYS[1], StoredReply(raw=raw))
    assert keeping.read(KEYS[1]) is None and statistics(folder).replies == 0


def test_the_least_recently_used_go_first(folder: Path) -> None:
    reply = StoredReply(raw=bytes(1000))
    size = _size_of(folder, reply)
    keeping = cache(folder, max_bytes=size * 10)
    for number, key in enumerate(KEYS[:10]):
        keeping.write(key, reply)
        os.utime(path_of(folder, key), (number, number))
    assert keeping.read(KEYS[0]) == reply, "used now"
    keeping.write(KEYS[10], reply)
    left = {path.name for path in (folder / "replies").rglob("*") if path.is_file()}
    assert KEYS[0] in left and KEYS[10] in left and not {KEYS[1], KEYS[2]} & left
    assert statistics(folder).size_bytes <= size * 10


def _size_of(folder: Path, reply: StoredReply) -> int:
    cache(folder).write(KEYS[255], reply)
    size = path_of(folder, KEYS[255]).stat().st_size
    prune(folder, max_bytes=0)
    return size


WRITER = """
import os, random, sys
from pathlib import Path
from harness.journal.reply_cache import ReplyCache
from harness.protocols import StoredReply
folder, limit, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
def fail(text): raise SystemExit(text)
cache = ReplyCache(folder, max_bytes=limit, notice=fail)
for number in range(int(sys.argv[4])):
    key = f"{draw.randrange(64):02x}" * 32
    raw = bytes([draw.randrange(256)]) * draw.randrange(1, 3000)
    cache.write(key, StoredReply(raw=raw))
    found = cache.read(key)
    assert found is None or len(set(found.raw)) == 1
    if number == 20:
        os.write(1, b"going")
print("done")
"""


def writer(folder: Path, limit: int, seed: int, count: int) -> "subprocess.Popen[bytes]":
    line = [sys.executable, "-c", WRITER, str(folder), str(limit), str(seed), str(count)]
    return subprocess.Popen(line, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
@pytest.mark.integration
def test_the_limit_holds_while_four_processes_write(folder: Path) -> None:
    limit = 30_000
    writers = [writer(folder, limit, seed, 40) for seed in range(4)]
    most = 0
    while any(one.poll() is None for one in writers):
        most = max(most, prune(folder).size_bytes)  # counted while nobody writes
    for one in writers:
        out, err = one.communicate()
        assert one.returncode == 0 and b"done" in out, err
    assert 0 < statistics(folder).size_bytes <= limit and 0 < most <= limit
    recorded = int((folder / ".lock").read_bytes())
    assert recorded == statistics(folder).size_bytes, "the total is that of the files"


@pytest.mark.integration
def test_writers_that_are_killed_leave_whole_replies_and_no_total_that_is_too_small(folder: Path) -> None:
    limit = 30_000
    for seed in range(6):
        one = writer(folder, limit, seed, 100_000)
        assert one.stdout is not None and one.stdout.read(5) == b"going"
        one.send_signal(signal.SIGKILL)
        one.communicate()
        assert int((folder / ".lock").read_bytes()) >= statistics(folder).size_bytes
        assert statistics(folder).size_bytes <= limit
    said: list[str] = []
    reading = cache(folder, max_bytes=limit, notice=said.append)
    found = [reading.read(path.name) for path in (folder / "replies").rglob("*") if path.is_file()]
    assert found and None not in found and said == []
    assert prune(folder).size_bytes == int((folder / ".lock").read_bytes())
    assert list((folder / ".staging").iterdir()) == []


def test_a_full_disk_is_said_once_and_reading_goes_on(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=64k") as disk:
        said: list[str] = []
        check_folder(disk / "cache", "llm.cache_dir", writes=True)
        keeping = cache(disk / "cache", max_bytes=1 << 20, notice=said.append)
        for key in KEYS[:40]:
            keeping.write(key, StoredReply(raw=os.urandom(4000)))
        assert len(said) == 1 and said[0].endswith("the disk is full"), said
        kept = [key for key in KEYS[:40] if keeping.read(key)]
        assert kept and len(said) == 1
        assert all(cache(disk / "cache").read(key) for key in kept)


def test_a_damaged_total_is_counted_again(folder: Path) -> None:
    keeping = cache(folder)
    keeping.write(KEYS[1], REPLY)
    (folder / ".lock").write_bytes(b"many")
    keeping.write(KEYS[2], REPLY)
    assert int((folder / ".lock").read_bytes()) == statistics(folder).size_bytes > 0


def test_reading_only_changes_nothing(folder: Path) -> None:
    cache(folder).write(KEYS[1], REPLY)
    os.utime(path_of(folder, KEYS[1]), (1, 1))
    reading = cache(folder, writes=False)
    assert reading.read(KEYS[1]) == REPLY
    reading.write(KEYS[2], REPLY)
    assert statistics(folder).oldest_use == 1.0 and statistics(folder).replies == 1


def test_other_files_are_left_alone(folder: Path) -> None:
    (folder / "replies" / "notes").mkdir()
    (folder / "replies" / "notes" / "mine").write_text("mine")
    (folder / "replies" / "ab").mkdir()
    (folder / "replies" / "ab" / "mine").write_text("mine")
    cache(folder).write(KEYS[1], REPLY)
    assert prune(folder, max_bytes=0).replies == 0
    assert sorted(path.name for path in folder.rglob("mine")) == ["mine", "mine"]


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"llm\.cache_dir=.*/file cannot be used as reply cache: "):
        check_folder(tmp_path / "file", "llm.cache_dir", writes=True)
    with pytest.raises(ConfigError, match="there are no replies in it that can be read"):
        check_folder(tmp_path / "none", "llm.cache_dir", writes=False)


@pytest.mark.parametrize("writes", [True, False])
@pytest.mark.parametrize("inner", ["", "replies"])
def test_a_folder_into_which_everybody_may_put_replies_is_refused(folder: Path, inner: str, writes: bool) -> None:
    (folder / inner).chmod(0o1777)
    sentence = (
        rf"llm\.cache_dir={folder} .*everybody may put replies into it \(mode 1777\).*chmod o-w {folder / inner};"
    )
    with pytest.raises(ConfigError, match=sentence):
        check_folder(folder, "llm.cache_dir", writes=writes)
    (folder / inner).chmod(0o775)
    check_folder(folder, "llm.cache_dir", writes=writes)
