"""A scripted person: labels every episode of a run that it has not labelled, one command each, and says so.

python annotator.py RUN AUTHOR SEED
"""

import random
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from harness.main import main
from harness.plugins.labels.book import read_labels
from harness.runs import Run


def words(author: str, seed: int, task: str, passed: bool) -> dict[str, str]:
    """What this person says of an episode: mostly what its score says."""
    draw = random.Random(f"{author} {seed} {task}")
    success = draw.choices(["yes", "no", "unsure"], [8, 2, 1] if passed else [2, 8, 1])[0]
    said = {"success": success, "looping": draw.choice(["yes", "no"]), "optimality": draw.choice("1234")}
    return said if success == "yes" else {**said, "class": draw.choice(["model", "model", "environment"])}


if __name__ == "__main__":
    folder, author, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    run = Run(folder)
    book = read_labels(run)
    for result in run.results:
        if author in book.latest(result.task_id, result.trial, result.attempts):
            continue
        said = words(author, seed, result.task_id, result.status == "passed")
        given = ["label", str(folder), "--task", result.task_id, "--author", author]
        with redirect_stdout(StringIO()):
            assert main([*given, *(f"{name}={value}" for name, value in said.items())]) == 0
        print(result.task_id, flush=True)  # noqa: T201 (from here on it must not be lost)
