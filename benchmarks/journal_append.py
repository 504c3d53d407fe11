"""What an append costs beyond what any durable line costs: encoding, writing and fsyncing the same bytes by hand.

Run: `python -m benchmarks.journal_append [--pages 200] [--items 150] [--folder DIR]`. Both sides take turns line by
line in the same folder, so that a disk that slows down slows both; the ratio of medians is what counts. The secrets are
those of a usual run: one API key and a password per demo site.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks.results import Rows, parser, tell, timed
from harness.actions import Click, Target
from harness.codec import plain
from harness.journal.log import Journal
from harness.records import Acted, Decided, Done, Eval, Observation, Opened, Record, TabRecord, Task, Usage
from harness.secrets.redaction import Redactor

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
    tab = TabRecord(url=URL, title="Catalogue", current=True)
    seen = Observation(url=URL, title="Catalogue", tabs=(tab,), text="\n".join(lines), fingerprint="f" * 64)
    return Acted(step=step, outcome=Done(), observation=seen, elapsed_ms=300.0, at=2.0)


def measure(*, pages: int = 200, items: int = 150, folder: Path | None = None) -> Rows:
    """Append an episode of so many steps, its pages of so many lines, to two files in `folder` (default: a temporary
    one).
    """
    with tempfile.TemporaryDirectory(dir=folder) as made:
        return compare(Path(made), list(episode(pages, items)))


def compare(folder: Path, records: list[Record]) -> Rows:
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
    size = (folder / "ours.traj.jsonl").stat().st_size / len(records)
    pages = [index for index, record in enumerate(records) if isinstance(record, Acted)]
    name = f"journal append, {len(records)} records of {size / 1000:.1f} kB"
    return {
        f"{name}: any": timed(ours, raw, "us"),
        f"{name}: pages": timed([ours[index] for index in pages], [raw[index] for index in pages], "us"),
        f"{name}: all together": timed([sum(ours)], [sum(raw)]),
    }


def append_raw(fd: int, tree: Any) -> None:
    os.write(fd, orjson.dumps(tree) + b"\n")
    os.fsync(fd)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--pages", type=int, default=200, help="steps of the episode")
    options.add_argument("--items", type=int, default=150, help="lines of each page")
    options.add_argument("--folder", type=Path, default=None, help="where to write (default: a temporary folder)")
    asked = options.parse_args()
    tell(measure(pages=asked.pages, items=asked.items, folder=asked.folder))


if __name__ == "__main__":
    sys.exit(main())
