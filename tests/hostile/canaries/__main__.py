"""`make canary`: every way in, every byte out, and a table of both; the exit code is 1 when a secret came out."""

import sys
import tempfile
import time
from pathlib import Path

from tests.hostile.canaries.running import Place
from tests.hostile.canaries.suite import MISTAKES, RUNS
from tests.hostile.canaries.world import world


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    total, leaks, failed = [0, 0, 0], [], 0
    say(f"{'run':44} {'ways':>5} {'places':>7} {'MB':>7} {'s':>6}  leaks")
    with world() as there, tempfile.TemporaryDirectory(prefix="cairn-canary-") as root:
        for number, one in enumerate((*RUNS, *MISTAKES)):
            begun = time.monotonic()
            given, outcome = one.play(there, Place.make(Path(root, str(number))))
            counts = (len(given.all), outcome.places, outcome.searched)
            total = [before + now for before, now in zip(total, counts, strict=True)]
            took_s = time.monotonic() - begun
            say(f"{one.name:44} {counts[0]:5} {counts[1]:7} {counts[2] / 1e6:7.1f} {took_s:6.1f}  {len(outcome.leaks)}")
            leaks += outcome.leaks
            if one.code is not None and outcome.code != one.code:
                failed += 1
                say(f"  exit code {outcome.code} instead of {one.code}: {outcome.said[-1000:]}")
    say(f"{'all':44} {total[0]:5} {total[1]:7} {total[2] / 1e6:7.1f} {'':6}  {len(leaks)}")
    for leak in sorted({(leak.way, leak.where) for leak in leaks}):
        say(f"  {leak[0]} in {leak[1]}")
    return 1 if leaks or failed else 0


if __name__ == "__main__":
    sys.exit(main())
