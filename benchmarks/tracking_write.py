"""What `Model.log` costs beyond pyarrow: trajectories logged from a generator, against the same table written directly.

Run: `python -m benchmarks.tracking_write [--trajectories 100000] [--messages 20] [--chars 400]`. Three processes, one
after
the other, each begins with the same Python objects made on the fly:

    log      `await Model.log(generator)`: checks, metrics, history, fsync, rename
    direct   the obvious program: a list of dict rows per 5,000 trajectories, `pa.Table.from_pylist`,
    `ParquetWriter.write_table` arrow    `ParquetWriter.write_table` alone, on tables read back from that file: the
    floor nobody gets below

Times are processor seconds of the process (a busy machine slows wall clocks unevenly), those spent making the objects
taken off. Peak memory is the whole process's.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.results import Rows, parser, row, tell, timed
from benchmarks.spending import spent
from harness.plugins.tracking.model import Model
from harness.plugins.tracking.parquet import schema
from harness.plugins.tracking.trajectory import Trajectory

PROJECT = Path(__file__).resolve().parent.parent
WORDS = "the page shows a list of orders with their state and the total of each in dollars".split()


def conversation(number: int, messages: int, chars: int) -> list[dict[str, Any]]:
    """Text as uneven as pages are, without paying for randomness."""
    turns: list[dict[str, Any]] = []
    for turn in range(messages):
        seed = number * 7919 + turn * 104729
        words = [f"{WORDS[(seed >> shift) % len(WORDS)]}{(seed * shift) % 9973}" for shift in range(1, 9)]
        text = " ".join(words)
        text = (text * (chars // len(text) + 1))[:chars]
        message = {"role": "assistant" if turn % 2 else "user", "content": text}
        turns.append({"finish_reason": "stop", "index": 0, "message": message} if turn % 2 else message)
    return turns


making_s = 0.0
"""Processor seconds this process has spent making objects."""


def trajectories(options: argparse.Namespace) -> Iterator[Trajectory]:
    global making_s
    for number in range(options.trajectories):
        begun = time.thread_time()
        made = Trajectory(
            messages_and_choices=conversation(number, options.messages, options.chars),
            reward=number % 10 / 10,
            metrics={"steps": number % 30, "cost_usd": number / 1e6},
            metadata={"task_id": str(number), "trial": 0},
        )
        making_s += time.thread_time() - begun
        yield made


async def log(options: argparse.Namespace, folder: Path) -> None:
    model = Model(name="bench", project="bench", base_path=folder, report_metrics=[])
    row = await model.log(trajectories(options), "val", step=0)
    assert abs(row["val/reward"] - 0.45) < 0.01


def row_of(trajectory: Trajectory) -> dict[str, Any]:
    messages = []
    for item in trajectory.messages_and_choices:
        message = item.get("message", item)
        messages.append(
            {
                "role": message["role"],
                "content": message["content"],
                "tool_calls": None,
                "tool_call_id": None,
                "trainable": "finish_reason" in item,
            }
        )
    return {
        "group_index": 0,
        "reward": trajectory.reward,
        "metrics": json.dumps(trajectory.metrics),
        "metadata": json.dumps(trajectory.metadata),
        "messages": messages,
    }


def direct(options: argparse.Namespace, folder: Path) -> None:
    kind = schema()
    with pq.ParquetWriter(folder / "direct.parquet", kind, compression="zstd") as writer:
        rows: list[dict[str, Any]] = []
        for trajectory in trajectories(options):
            rows.append(row_of(trajectory))
            if len(rows) == 5000:
                writer.write_table(pa.Table.from_pylist(rows, schema=kind))
                rows = []
        if rows:
            writer.write_table(pa.Table.from_pylist(rows, schema=kind))


def arrow(folder: Path) -> float:
    """Processor seconds of writing alone."""
    spent = 0.0
    with pq.ParquetFile(folder / "direct.parquet") as file:
        with pq.ParquetWriter(folder / "arrow.parquet", file.schema_arrow, compression="zstd") as writer:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                begun = time.process_time()
                writer.write_table(table)
                spent += time.process_time() - begun
    return spent


def part(name: str, options: argparse.Namespace, folder: Path) -> float:
    """Processor seconds."""
    begun = time.process_time()
    if name == "arrow":
        return arrow(folder)
    if name == "log":
        asyncio.run(log(options, folder))
    else:
        direct(options, folder)
    return time.process_time() - begun - making_s


def measure(*, trajectories: int = 100_000, messages: int = 20, chars: int = 400, rounds: int = 2) -> Rows:
    sizes = {"trajectories": trajectories, "messages": messages, "chars": chars}
    with tempfile.TemporaryDirectory() as folder:
        found = [{name: run(name, sizes, folder) for name in ("direct", "log", "arrow")} for _ in range(rounds)]

    def times(name: str) -> list[float]:
        return [one[name]["cpu_s"] for one in found]

    def peaks(name: str) -> list[float]:
        return [one[name]["peak_mb"] for one in found]

    logged = f"tracking write, {trajectories} trajectories of {messages} messages"
    return {
        f"{logged}: processor time, beside pyarrow directly": timed(times("log"), times("direct"), "s"),
        f"{logged}: processor time, beside write_table alone": timed(times("log"), times("arrow"), "s"),
        f"{logged}: peak memory, beside pyarrow directly": row(peaks("log"), peaks("direct"), "MB"),
    }


def run(name: str, sizes: dict[str, int], folder: str) -> dict[str, float]:
    """One part, in a process of its own."""
    arguments = [f"--{key}={value}" for key, value in sizes.items()]
    command = [sys.executable, "-m", "benchmarks.tracking_write", "--part", name, "--folder", folder, *arguments]
    done = spent(command, cwd=PROJECT)
    return {"cpu_s": json.loads(done.said), "peak_mb": done.peak_mb}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--trajectories", type=int, default=100_000)
    options.add_argument("--messages", type=int, default=20)
    options.add_argument("--chars", type=int, default=400, help="length of a message")
    options.add_argument("--rounds", type=int, default=2, help="how often each is measured")
    options.add_argument("--part", help=argparse.SUPPRESS)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.part:
        sys.stdout.write(json.dumps(part(asked.part, asked, asked.folder)))
        return
    sizes = {"trajectories": asked.trajectories, "messages": asked.messages, "chars": asked.chars}
    tell(measure(**sizes, rounds=asked.rounds))


if __name__ == "__main__":
    sys.exit(main())
