"""What `Model.log` costs beyond pyarrow: trajectories logged from a generator, against the same table written directly.

Run: `python benchmarks/tracking_write.py [--trajectories 100000] [--messages 20] [--chars 400]`. Three processes, one after
the other, each begins with the same Python objects made on the fly:

    log      `await Model.log(generator)`: checks, metrics, history, fsync, rename
    direct   the obvious program: a list of dict rows per 5,000 trajectories, `pa.Table.from_pylist`, `ParquetWriter.write_table`
    arrow    `ParquetWriter.write_table` alone, on tables read back from that file: the floor nobody gets below

Times are processor seconds of the process (a busy machine slows wall clocks unevenly), those spent making the objects taken
off; wall seconds are told beside them. Peak memory is the process's own (`ru_maxrss`).
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.tracking.model import Model
from harness.tracking.parquet import schema
from harness.tracking.trajectory import Trajectory

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


def part(name: str, options: argparse.Namespace, folder: Path) -> dict[str, float]:
    wall, begun = time.perf_counter(), time.process_time()
    spent = 0.0
    if name == "log":
        asyncio.run(log(options, folder))
    elif name == "direct":
        direct(options, folder)
    else:
        spent = arrow(folder)
    return {
        "cpu_s": spent or time.process_time() - begun - making_s,
        "wall_s": time.perf_counter() - wall,
        "making_s": making_s,
        "peak_mb": peak_mb(),
    }


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trajectories", type=int, default=100_000)
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--chars", type=int, default=400, help="length of a message")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is measured")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=None, help="where to write (default: a temporary folder)")
    options = parser.parse_args()
    if options.part:
        sys.stdout.write(json.dumps(part(options.part, options, options.folder)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rounds = [
            {name: measured(name, options, folder) for name in ("direct", "log", "arrow")}
            for _ in range(options.rounds)
        ]
        size = (Path(folder) / "direct.parquet").stat().st_size / 1e6
    best = {name: min((one[name] for one in rounds), key=lambda one: one["cpu_s"]) for name in rounds[0]}
    lines = [
        f"{options.trajectories} trajectories of {options.messages} messages, {size:.0f} MB on disk; best of {options.rounds}"
    ]
    for name, one in best.items():
        lines.append(
            f"{name:7} {one['cpu_s']:5.1f} s processor (+ {one['making_s']:.1f} s making; wall {one['wall_s']:.1f} s), "
            f"peak {one['peak_mb']:.0f} MB"
        )
    lines.append(f"speed of log: {best['direct']['cpu_s'] / best['log']['cpu_s']:.2f} x direct")
    sys.stdout.write("\n".join(lines) + "\n")


def measured(name: str, options: argparse.Namespace, folder: str) -> dict[str, float]:
    sizes = [f"--{key}={getattr(options, key)}" for key in ("trajectories", "messages", "chars")]
    command = [sys.executable, __file__, "--part", name, "--folder", folder, *sizes]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


if __name__ == "__main__":
    main()
