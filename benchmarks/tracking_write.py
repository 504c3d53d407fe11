"""What `Model.log` costs beyond pyarrow: trajectories logged from a generator, against the same table written directly.

Run: `python benchmarks/tracking_write.py [--trajectories 100000] [--messages 20] [--chars 400]`. Three processes, one after
the other, each begins with the same Python objects made on the fly:

    log      `await Model.log(generator)`: checks, metrics, history, fsync, rename
    direct   the obvious program: a list of dict rows per 5,000 trajectories, `pa.Table.from_pylist`, `ParquetWriter.write_table`
    arrow    `ParquetWriter.write_table` alone, on tables read back from that file: the floor nobody gets below

Making the objects is timed by itself and taken off. Peak memory is the process's own (`ru_maxrss`).
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


def trajectories(options: argparse.Namespace) -> Iterator[Trajectory]:
    for number in range(options.trajectories):
        yield Trajectory(
            messages_and_choices=conversation(number, options.messages, options.chars),
            reward=number % 10 / 10,
            metrics={"steps": number % 30, "cost_usd": number / 1e6},
            metadata={"task_id": str(number), "trial": 0},
        )


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
    """Seconds of writing alone."""
    spent = 0.0
    with pq.ParquetFile(folder / "direct.parquet") as file:
        with pq.ParquetWriter(folder / "arrow.parquet", file.schema_arrow, compression="zstd") as writer:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                started = time.perf_counter()
                writer.write_table(table)
                spent += time.perf_counter() - started
    return spent


def part(name: str, options: argparse.Namespace, folder: Path) -> dict[str, float]:
    started = time.perf_counter()
    if name == "log":
        asyncio.run(log(options, folder))
    elif name == "direct":
        direct(options, folder)
    elif name == "arrow":
        return {"seconds": arrow(folder), "peak_mb": peak_mb()}
    else:
        for _ in trajectories(options):
            pass
    return {"seconds": time.perf_counter() - started, "peak_mb": peak_mb()}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--trajectories", type=int, default=100_000)
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--chars", type=int, default=400, help="length of a message")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=None, help="where to write (default: a temporary folder)")
    options = parser.parse_args()
    if options.part:
        print(json.dumps(part(options.part, options, options.folder)))  # noqa: T201
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = {name: measured(name, options, folder) for name in ("making", "direct", "log", "arrow")}
        size = (Path(folder) / "direct.parquet").stat().st_size / 1e6
    making = found["making"]["seconds"]
    ours, theirs = (found[name]["seconds"] - making for name in ("log", "direct"))
    print(
        f"{options.trajectories} trajectories of {options.messages} messages, {size:.0f} MB on disk; making: {making:.1f} s"
    )  # noqa: T201
    print(f"log    {ours:6.1f} s, peak {found['log']['peak_mb']:4.0f} MB")  # noqa: T201
    print(
        f"direct {theirs:6.1f} s, peak {found['direct']['peak_mb']:4.0f} MB   speed of log: {theirs / ours:.2f} x direct"
    )  # noqa: T201
    print(f"arrow  {found['arrow']['seconds']:6.1f} s (tables given)")  # noqa: T201


def measured(name: str, options: argparse.Namespace, folder: str) -> dict[str, float]:
    sizes = [f"--{key}={getattr(options, key)}" for key in ("trajectories", "messages", "chars")]
    command = [sys.executable, __file__, "--part", name, "--folder", folder, *sizes]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


if __name__ == "__main__":
    main()
