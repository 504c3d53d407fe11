"""`harness export lantern`: a line for each episode, with its score."""

import argparse
import json
from pathlib import Path

from harness.api import Export
from harness.runs import Run


class Lines(Export):
    def write(self, run: Path, into: Path, options: argparse.Namespace, /) -> list[Path]:
        into.mkdir(parents=True, exist_ok=True)
        path = into / "lantern.jsonl"
        rows = [
            {"task": episode.task_id, "steps": len(episode.steps), "status": episode.status}
            for episode in Run(run).episodes()
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return [path]
