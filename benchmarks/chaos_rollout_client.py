"""One client of `chaos_rollouts`: plays its rollouts one after the other, and goes on when it is started again.

`python benchmarks/chaos_rollout_client.py URL FOLDER NUMBER…`. What it saw is a file for each rollout, with a line for
the start page and one for the end; episodes and steps have names that follow from the rollout's number, so whatever was
done before a kill is answered and not done again.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.plugins.environments.clients.connection import Connection, EnvironmentFailed

TASK = "0"
NOTES = 3
"""Steps of a rollout that change the site; then it stops."""
PATIENCE_S = 900.0
_FIELD = re.compile(r"\[(\d+)\] textbox")


def play(url: str, number: int, path: Path) -> None:
    """Play a rollout, or what is left of it."""
    before = [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    if before and "end" in before[-1]:
        return
    connection = Connection(url, patience_s=PATIENCE_S)
    try:
        turn = connection.reset(task=TASK, episode_id=f"r{number}", seed=number)
        if turn["observation"]["step"] == 0:
            append(path, {"start": turn["observation"]["text"]})
        while not turn["done"]:
            turn = connection.step(_action(number, turn["observation"]))
        append(path, {"end": "scored", "reward": turn["reward"], "doubts": turn["observation"]["doubts"]})
    except EnvironmentFailed as failed:
        append(path, {"end": "failed", "mask": failed.mask, "why": str(failed)[:300]})
    connection.close()


def _action(number: int, seen: dict[str, Any]) -> dict[str, Any]:
    step = seen["step"]
    found = _FIELD.search(seen["text"])
    note = f"type [{found[1] if found else 0}] [r{number}-{step}] [1]"
    return {"action_str": note if step < NOTES else "stop []", "request_id": f"r{number}-{step}"}


def append(path: Path, line: dict[str, Any]) -> None:
    """Write a line; one that a kill cut short is not counted when it is read, so it is ended first."""
    with path.open("ab") as file:
        cut = path.read_bytes()[-1:] not in (b"", b"\n")
        file.write((b"\n" if cut else b"") + json.dumps(line).encode() + b"\n")


def main(arguments: Sequence[str]) -> int:
    url, folder, *numbers = arguments
    for number in map(int, numbers):
        path = Path(folder) / f"{number}.jsonl"
        path.touch()
        play(url, number, path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
