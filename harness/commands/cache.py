"""`harness cache`: what the reply cache holds, and removing what is not needed."""

import argparse
import os
import sys
import time
from pathlib import Path

from harness.errors import ConfigError, ExitCode
from harness.escape import flat

HELP = "show what the reply cache (llm.cache) holds, or remove replies from it"
EXAMPLE = "harness cache prune --unused-days 30"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("stats", "prune"), help="show its size, or remove replies")
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="llm.cache_dir (default: ~/.cache/cairn)")
    parser.add_argument(
        "--max-mb", type=float, metavar="MB", help="prune: remove the least recently used replies until this is left"
    )
    parser.add_argument(
        "--unused-days", type=float, metavar="DAYS", help="prune: remove replies that were not used for so long"
    )


def run(options: argparse.Namespace) -> int:
    from harness.files.disk import translate_os_errors
    from harness.journal.reply_cache import prune, statistics
    from harness.settings.models import default_cache_folder

    limits = {"--max-mb": options.max_mb, "--unused-days": options.unused_days}
    _check(options.what, limits)
    folder = options.folder or default_cache_folder()
    if not (folder / "replies").is_dir():
        raise ConfigError(
            f"{folder} is not a reply cache: it has no folder `replies`; give the folder of llm.cache_dir"
        )
    with translate_os_errors(folder, "read"):
        before = statistics(folder)
    if options.what == "stats":
        used = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(before.oldest_use)) if before.replies else "-"
        _say(f"{folder}: {_replies(before.replies)}, {before.size_bytes / 1e6:,.2f} MB, least recent use {used}")
        return ExitCode.DONE
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{folder} cannot be changed: permission denied; run the command as its owner")
    megabytes, days = limits.values()
    with translate_os_errors(folder):
        left = prune(
            folder,
            max_bytes=None if megabytes is None else int(megabytes * 1e6),
            unused_s=None if days is None else days * 86_400,
        )
    removed, size = before.replies - left.replies, before.size_bytes - left.size_bytes
    _say(f"{folder}: {_replies(removed)} removed ({size / 1e6:,.2f} MB), {_replies(left.replies)} left")
    return ExitCode.DONE


def _check(what: str, limits: dict[str, float | None]) -> None:
    given = {option: limit for option, limit in limits.items() if limit is not None}
    if what == "stats" and given:
        raise ConfigError(f"{next(iter(given))} is for harness cache prune; leave it out")
    if what == "prune" and not given:
        raise ConfigError("harness cache prune needs --max-mb or --unused-days; --max-mb 0 removes all replies")
    for option, limit in given.items():
        if not 0 <= limit <= 1e9:
            raise ConfigError(f"{option} {limit:g} cannot be used; give a number from 0 to 1000000000")


def _replies(count: int) -> str:
    return f"{count:,} repl{'y' if count == 1 else 'ies'}"


def _say(sentence: str) -> None:
    sys.stdout.write(f"{flat(sentence)}\n")
