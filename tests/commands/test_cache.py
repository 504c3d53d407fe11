"""`harness cache`: what it prints, what it removes, and what it refuses."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.journal.reply_cache import ReplyCache, check_folder, statistics
from harness.protocols import StoredReply

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four replies of 10 kB; the first two were used forty days ago."""
    folder = tmp_path / "cache"
    check_folder(folder, "llm.cache_dir", writes=True)
    cache = ReplyCache(folder, max_bytes=1 << 20)
    for number in range(4):
        key = f"{number:02x}" * 32
        cache.write(key, StoredReply(raw=bytes(10_000)))
        if number < 2:
            os.utime(folder / "replies" / key[:2] / key, (time.time() - 40 * 86_400,) * 2)
    return folder


def test_stats_count_replies_and_bytes(harness: Command, folder: Path) -> None:
    done = harness("cache", "stats", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{folder}: 4 replies, 0.04 MB, least recent use 20")


@pytest.mark.parametrize(
    ("options", "left"), [(("--unused-days", "30"), 2), (("--max-mb", "0.021"), 2), (("--max-mb", "0"), 0)]
)
def test_prune_removes_what_it_says(harness: Command, folder: Path, options: tuple[str, ...], left: int) -> None:
    done = harness("cache", "prune", str(folder), *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{folder}: {4 - left} replies removed") and f"{left} replies left" in done.stdout
    found = statistics(folder)
    assert found.replies == left and (not left or found.oldest_use > time.time() - 86_400)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("stats", "DIR/none"), "is not a reply cache: it has no folder `replies`"),
        (("prune", "DIR"), "needs --max-mb or --unused-days"),
        (("prune", "DIR", "--max-mb", "-1"), "--max-mb -1 cannot be used"),
        (("prune", "DIR", "--unused-days", "nan"), "--unused-days nan cannot be used"),
        (("stats", "DIR", "--max-mb", "1"), "--max-mb is for harness cache prune"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    harness: Command, folder: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = harness("cache", *(argument.replace("DIR", str(folder)) for argument in arguments))
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and sentence in done.stderr, done.stderr
    assert statistics(folder).replies == 4
