"""What a further lane takes of memory, its share of the browser included, beside a further context of bare playwright.

Run: `python -m benchmarks.lane_memory [--lanes 16] [--latency-ms 1000]`. `benchmarks.throughput` plays as many episodes
as there are lanes, first with one and then with all; the difference of what both hold at most, divided by the further
lanes, is the row. What processes share is shared out among them (proportional set size), so the sum is what the machine
gives.
"""

import asyncio
import sys

from benchmarks.results import Rows, parser, row, tell
from benchmarks.throughput import measure as measure_throughput


async def measure(*, lanes: int = 16, latency_ms: int = 1000) -> Rows:
    held = {}
    for count in (1, lanes):
        rows = await measure_throughput(tasks=count, lanes=count, latency_ms=latency_ms)
        held[count] = next(one for name, one in rows.items() if name.endswith("memory"))
    ours, bare = [(held[lanes][side] - held[1][side]) / (lanes - 1) for side in ("ours", "reference")]
    return {f"lane memory, each of {lanes - 1} more than one": row([ours], [bare], "MB")}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--lanes", type=int, default=16)
    options.add_argument("--latency-ms", type=int, default=1000)
    asked = options.parse_args()
    tell(asyncio.run(measure(lanes=asked.lanes, latency_ms=asked.latency_ms)))


if __name__ == "__main__":
    sys.exit(main())
