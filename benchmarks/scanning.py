"""Whether reading foreign text takes time in proportion to its length: growth for each doubling, for each reader and
input.

Run: `python -m benchmarks.scanning [--only redaction]`. Ours is the CPU time of inputs twice as long as the
reference's, four doublings in all: a ratio of about 2 is linear, 4 is quadratic. One above 3 is a fault, and ends it.
No time is judged, only how it grows; each is the least of several, and less than half a millisecond counts as that.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.results import Rows, parser, row, tell
from benchmarks.scanners import Scanner, scanners

DOUBLINGS = 4
MOST_GROWTH = 3.0
BEGIN_S, HOPELESS_S = 0.0005, 2.0
"""Below the first, memory that is asked for makes more of a difference than reading."""
FEWEST, LARGEST = 256, 1 << 17
"""Repetitions that are begun with, and characters with which they are begun even when that takes no time."""
RUNS = 3


def growth(scanner: Scanner, *, runs: int = RUNS) -> list[float]:
    """CPU seconds of an input and of each of its doublings; fewer when one took hopelessly long."""
    with _no_collections():
        count = FEWEST
        while (took := _took(scanner, count, runs)) < BEGIN_S and count * len(scanner.unit) < LARGEST:
            count *= 2
        found = [took]
        while len(found) <= DOUBLINGS and found[-1] < HOPELESS_S:
            count *= 2
            found.append(_took(scanner, count, runs if found[-1] < 0.1 else 1))
    return found


def per_doubling(found: list[float]) -> float:
    """The mean growth."""
    return float((found[-1] / found[0]) ** (1 / (len(found) - 1)))


def measure(*, only: str = "") -> Rows:
    rows: Rows = {}
    faults: list[str] = []
    for scanner in scanners():
        if only not in scanner.name:
            continue
        found = growth(scanner)
        if per_doubling(found) > MOST_GROWTH:
            faults.append(f"{scanner.name}: {per_doubling(found):.1f}")
        rows[f"scanning, {scanner.name}"] = row(
            [one * 1e3 for one in found[1:]], [one * 1e3 for one in found[:-1]], "ms"
        )
    if faults:
        raise SystemExit(f"grow faster than their input, for each doubling of it: {'; '.join(faults)}")
    return rows


def _took(scanner: Scanner, count: int, runs: int) -> float:
    text = scanner.text(count)
    took = []
    for _ in range(runs):
        begun = time.thread_time()
        scanner.read(text)
        took.append(time.thread_time() - begun)
    return max(min(took), BEGIN_S)


@contextmanager
def _no_collections() -> Iterator[None]:
    """A collection in one run and not in the other would be told as growth."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--only", default="", help="part of the names of those wanted")
    tell(measure(only=options.parse_args().only))


if __name__ == "__main__":
    main()
