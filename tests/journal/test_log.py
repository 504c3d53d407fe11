"""A journal is always a clean prefix of what was appended, or says where it is damaged."""

import random
import subprocess
import sys
from itertools import accumulate
from pathlib import Path

import pytest

from harness.choices import Durability
from harness.codec import SCHEMA, CodecError, encode, seal
from harness.errors import JournalCorrupt, JournalError, JournalLocked, UnsafeFile
from harness.journal.log import Journal, read
from harness.records import Episode
from tests.journal.episodes import PROJECT, acted, closed, folded, opened, whole_episode, write

RECORDS = whole_episode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "7.traj.jsonl"


def read_back(data: bytes, path: Path) -> Episode:
    """What a journal of these bytes says."""
    path.write_bytes(data)
    return read(path)


def test_what_was_appended_is_what_is_read(path: Path) -> None:
    with Journal.open(path) as journal:
        for count, record in enumerate(RECORDS, start=1):
            assert journal.append(record) == journal.episode == folded(RECORDS[:count])
            assert read(path) == journal.episode
    with Journal.open(path) as journal:
        assert journal.episode == folded(RECORDS)


def test_a_missing_or_empty_journal_is_an_empty_episode(path: Path) -> None:
    assert read(path) == Episode()
    assert not path.exists()
    path.touch()
    assert read(path) == Episode()
    with Journal.open(path) as journal:
        assert journal.episode == Episode()


@pytest.mark.integration
@pytest.mark.sample(1)
@pytest.mark.parametrize("first", range(5))
def test_a_cut_at_any_byte_leaves_a_clean_prefix_that_goes_on(path: Path, first: int) -> None:
    whole = write(path, RECORDS)
    ends = [0, *accumulate(len(line) + 1 for line in whole.split(b"\n")[:-1])]
    prefixes = [folded(RECORDS[:count]) for count in range(len(RECORDS) + 1)]
    for cut in range(first, len(whole) + 1, 5):
        count = sum(end <= cut for end in ends) - 1
        path.write_bytes(whole[:cut])
        assert read(path) == prefixes[count]
        assert path.stat().st_size == cut, "a reader must not repair"
        with Journal.open(path, durability=Durability.none) as journal:
            assert journal.episode == prefixes[count]
            assert path.stat().st_size == ends[count]
            for record in RECORDS[count : count + 1]:
                assert journal.append(record) == prefixes[count + 1]
        assert path.read_bytes() == whole[: ends[min(count + 1, len(RECORDS))]]


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_byte_is_named_and_never_gives_another_episode(path: Path, every: int) -> None:
    whole = write(path, RECORDS)
    dice = random.Random(5)
    for place in range(0, len(whole) - 1, every):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << dice.randrange(8)
        with pytest.raises(JournalCorrupt) as corrupt:
            read_back(bytes(damaged), path)
        assert corrupt.value.path == path
        assert corrupt.value.line == whole.count(b"\n", 0, place) + 1
        assert f"{path}:{corrupt.value.line}: " in str(corrupt.value)


@pytest.mark.slow
def test_any_byte_may_stand_in_for_any_other(path: Path) -> None:
    whole = write(path, RECORDS)
    dice = random.Random(6)
    for _ in range(3000):
        damaged = bytearray(whole)
        place = dice.randrange(len(whole) - 1)
        damaged[place] = (damaged[place] + dice.randrange(1, 256)) % 256
        with pytest.raises(JournalCorrupt):
            read_back(bytes(damaged), path)


def test_a_lost_last_line_end_is_a_torn_tail(path: Path) -> None:
    whole = write(path, RECORDS)
    assert read_back(whole[:-1] + b"\r", path) == folded(RECORDS[:-1])


def test_missing_doubled_and_swapped_lines_are_named(path: Path) -> None:
    lines = write(path, RECORDS).splitlines(keepends=True)
    for index in range(len(lines) - 1):
        without = lines[:index] + lines[index + 1 :]
        doubled = lines[: index + 1] + lines[index:]
        swapped = [*lines[:index], lines[index + 1], lines[index], *lines[index + 2 :]]
        for damaged, line in ((without, index + 1), (doubled, index + 2), (swapped, index + 1)):
            with pytest.raises(JournalCorrupt) as corrupt:
                read_back(b"".join(damaged), path)
            assert corrupt.value.line == line


def test_a_damaged_journal_is_not_touched_by_opening_it(path: Path) -> None:
    whole = bytearray(write(path, RECORDS))
    whole[200] ^= 1
    path.write_bytes(whole + b'{"kind":"torn')
    for _ in range(2):
        with pytest.raises(JournalCorrupt, match=r":1: the checksum does not match.*not changed"):
            Journal.open(path)
    assert path.read_bytes() == whole + b'{"kind":"torn'


def test_lines_in_an_order_that_makes_no_sense_are_named(path: Path) -> None:
    first = write(path, [opened(), acted(0)])
    other = write(path.with_name("other"), [opened()])
    assert first.startswith(other)
    with Journal.open(path) as journal, pytest.raises(JournalCorrupt, match=r":3: step 1 acted without a decision"):
        journal.append(acted(1))
    assert path.read_bytes() == first


def test_a_newer_schema_says_to_upgrade(path: Path) -> None:
    newer = encode(opened()).body.replace(b'"schema":%d' % SCHEMA, b'"schema":9')
    path.write_bytes(seal(newer, 0)[0])
    with pytest.raises(JournalError, match=r":1: made by a newer version of cairn \(schema 9, .*upgrade") as refused:
        read(path)
    assert not isinstance(refused.value, JournalCorrupt)


def test_a_refused_record_leaves_file_and_memory_as_they_were(path: Path) -> None:
    before = write(path, [opened()])
    with Journal.open(path) as journal:
        with pytest.raises(JournalCorrupt):
            journal.append(closed())
        with pytest.raises(CodecError, match="step: an integer expected"):
            journal.append(acted("0"))  # type: ignore[arg-type]
        assert (journal.episode, path.read_bytes()) == (folded([opened()]), before)
        journal.append(acted(0))
    assert read(path) == folded([opened(), acted(0)])


def test_memory_holds_what_the_file_says_even_if_that_differs_from_what_was_appended(path: Path) -> None:
    with Journal.open(path) as journal:
        journal.append(opened())
        journal.append(acted(0, text="lone \udc80"))
        assert journal.episode == read(path) == folded([opened(), acted(0, text="lone \ufffd")])


def test_a_closed_journal_takes_nothing_more(path: Path) -> None:
    with Journal.open(path) as journal:
        journal.append(opened())
    journal.close()
    with pytest.raises(JournalError, match="is closed"):
        journal.append(acted(0))


def test_a_journal_is_held_by_one_at_a_time_and_free_after_a_kill(path: Path) -> None:
    with Journal.open(path):
        with pytest.raises(JournalLocked, match="in use by another process"):
            Journal.open(path)
        read(path)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from harness.journal.log import Journal\n"
            "journal = Journal.open(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()",
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(JournalLocked):
            Journal.open(path)
        holder.kill()
        holder.wait()
        Journal.open(path).close()


@pytest.mark.parametrize("durability", list(Durability))
def test_every_durability_writes_the_same_bytes(tmp_path: Path, durability: Durability) -> None:
    reference = write(tmp_path / "reference", RECORDS)
    with Journal.open(tmp_path / "other", durability=durability) as journal:
        for record in RECORDS:
            journal.append(record)
    assert (tmp_path / "other").read_bytes() == reference


def test_a_killed_writer_loses_at_most_the_line_it_was_writing(path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from harness.journal.log import Journal, Durability\n"
        "from tests.journal.episodes import acted, decided, opened\n"
        "journal = Journal.open(Path(sys.argv[1]), durability=Durability.none)\n"
        "journal.append(opened()); journal.append(acted(0)); step = 0\n"
        "while True:\n"
        "    step += 1; journal.append(decided(step)); print(step, flush=True); journal.append(acted(step))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, cwd=PROJECT) as writer:
        assert writer.stdout is not None
        told = [int(writer.stdout.readline()) for _ in range(50)][-1]
        writer.kill()
        told = max([told, *(int(line) for line in writer.stdout.read().split(b"\n")[:-1])])
    with Journal.open(path) as journal:
        decisions = len(journal.episode.steps) + (journal.episode.pending is not None)
    assert decisions in (told, told + 1)


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFile, match=r"is a folder, but a run needs a file there"):
        read(tmp_path)


def test_appending_never_rewrites(path: Path) -> None:
    written = b""
    for record in RECORDS:
        with Journal.open(path) as journal:
            journal.append(record)
        assert path.read_bytes().startswith(written)
        written = path.read_bytes()
