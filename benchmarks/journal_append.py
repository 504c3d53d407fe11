"""What an append costs beyond what any durable line costs: encoding, writing and fsyncing the same bytes by hand.

Run: `python benchmarks/journal_append.py [--pages 200] [--items 150] [--folder DIR]`. Both sides take turns line by line in
the same folder, so that a disk that slows down slows both; the ratio of medians is what counts. The secrets are those of
a usual run: one API key and a password per demo site.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from harness.actions.space import Click, Target
from harness.codec import plain
from harness.journal.log import Journal
from harness.journal.redaction import Redactor
from harness.records import Acted, Decided, Done, Eval, Observation, Opened, Record, Tab, Task, Usage

URL = "http://shop.localhost/catalogue?page=3"
SECRETS = {
    "llm.api_key": "sk-proj-3fJ0aYk2mQ8sT5vWx7Zb1Cd4Ef6Gh9Jk",
    "shop.password": "Password.123",
    "forum.password": "admin1234",
    "code.password": "hello1234",
    "office.password": "test1234",
}


def episode(steps: int, items: int) -> Iterator[Record]:
    """The records of an open episode whose pages hold about `items` * 55 bytes of text."""
    task = Task(task_id="1", sites=("shop",), intent="Buy", start_urls=(URL,), eval=Eval(eval_types=("url_match",)))
    yield Opened(attempt=1, trial=0, task=task, task_digest="t", config_digest="c", seed=0, at=0.0)
    yield acted(0, items)
    for step in range(1, steps + 1):
        yield Decided(
            step=step,
            action=Click(target=Target(id=str(step), role="link", name=f"Item {step}", box=(1.0, 2.0, 3.0, 4.0))),
            reply=f"In summary, the next action I will perform is ```click [{step}]```",
            prompt=("a" * 64, "b" * 64, "c" * 64),
            model="scripted",
            usage=Usage(prompt_tokens=3000, completion_tokens=40, requests=1),
            elapsed_ms=1000.0,
            at=1.0,
        )
        yield acted(step, items)


def acted(step: int, items: int) -> Acted:
    lines = (f"\t[{item}] link 'Item {item} of step {step}' expanded: False" for item in range(items))
    tab = Tab(url=URL, title="Catalogue", current=True)
    seen = Observation(url=URL, title="Catalogue", tabs=(tab,), text="\n".join(lines), fingerprint="f" * 64)
    return Acted(step=step, outcome=Done(), observation=seen, elapsed_ms=300.0, at=2.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pages", type=int, default=200, help="steps of the episode")
    parser.add_argument("--items", type=int, default=150, help="lines of each page")
    parser.add_argument("--folder", type=Path, default=None, help="where to write (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        measure(Path(folder), list(episode(options.pages, options.items)))


def measure(folder: Path, records: list[Record]) -> None:
    trees = [plain(record) for record in records]
    ours: list[float] = []
    raw: list[float] = []
    fd = os.open(folder / "raw.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with Journal.open(folder / "ours.traj.jsonl", redactor=Redactor(SECRETS)) as journal:
        for turn, (record, tree) in enumerate(zip(records, trees, strict=True)):
            sides = [
                (ours, lambda record=record: journal.append(record)),
                (raw, lambda tree=tree: append_raw(fd, tree)),
            ]
            for times, append in reversed(sides) if turn // 2 % 2 else sides:
                started = time.perf_counter()
                append()
                times.append(time.perf_counter() - started)
    os.close(fd)
    pages = [index for index, record in enumerate(records) if isinstance(record, Acted)]
    for name, chosen in (("all records", range(len(records))), ("pages (acted)", pages)):
        a, b = [statistics.median(side[index] for index in chosen) * 1e6 for side in (ours, raw)]
        print(f"{name:14} append {a:7.0f} us   raw write+fsync {b:7.0f} us   ratio {a / b:.2f}")  # noqa: T201
    size = (folder / "ours.traj.jsonl").stat().st_size / len(records)
    print(f"{len(records)} records of {size:.0f} bytes on average; total {sum(ours) / sum(raw):.2f} x raw")  # noqa: T201


def append_raw(fd: int, tree: Any) -> None:
    os.write(fd, orjson.dumps(tree) + b"\n")
    os.fsync(fd)


if __name__ == "__main__":
    main()
