"""Tasks of files: the rows of a benchmark's task file (a JSON array, JSON Lines, CSV, or a folder of JSON files), and
the task files of this package.

For benchmarks that are played from a file of the person's own, and for plug-ins that check tasks or divide them. Every
complaint is one sentence with file, line (or entry) and field. Rows are data: nothing in them is run.
"""

import csv
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

from harness.codec import CodecError, loads
from harness.episode.job import task_digest
from harness.errors import ConfigError, TaskError, UnsafeFile
from harness.files import safe_files
from harness.tasks import load as load_task_file
from harness.tasks.parse_eval import is_web_address
from harness.tasks.parse_task import build as build_task
from harness.tasks.placeholders import expand
from harness.tasks.shards import shard_of
from harness.tasks.task_file import TaskEntry
from harness.tasks.task_file import read as read_task_file
from harness.tasks.validation import Fields

__all__ = [
    "Fields",
    "TaskEntry",
    "address",
    "build_task",
    "expand",
    "id_of",
    "load_task_file",
    "needed_text",
    "read_bytes",
    "read_rows",
    "read_task_file",
    "shard_of",
    "task_digest",
]

_MOST = 100_000
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


_MISSING = "there is no such file or folder; set task.path to the task file"


def read_rows(path: str | None) -> list[Fields]:
    """The rows of `task.path`, in the file's order.

    Raises:
        ConfigError: It is not set.
        TaskError: It is missing or wrong.
    """
    if not path:
        raise ConfigError("task.path is not set; give the benchmark's task file, as in task.path=tasks.jsonl")
    file = Path(path)
    rows = []
    for place, value in _values(file):
        if not isinstance(value, dict):
            raise TaskError(f"{place}: contains no object; a task is a JSON object")
        rows.append(Fields(place, value))
        if len(rows) > _MOST:
            raise TaskError(f"{file}: has more than {_MOST} tasks; divide it")
    if not rows:
        raise TaskError(f"{file}: contains no task")
    return rows


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    if file.is_dir():
        for one in sorted(file.glob("*.json")):
            yield from _array(one)
    elif file.suffix == ".csv":
        yield from _csv(file)
    elif file.suffix == ".jsonl":
        for number, line in enumerate(read_bytes(file, _MISSING).split(b"\n"), start=1):
            if line.strip():
                yield f"{file}:{number}", _json(line, f"{file}:{number}")
    else:
        yield from _array(file)


def _array(file: Path) -> Iterator[tuple[str, Any]]:
    value = _json(read_bytes(file, _MISSING), str(file))
    if isinstance(value, dict) and isinstance(value.get("data"), list):  # WebVoyager's reference answers have a head
        value = value["data"]
    if isinstance(value, list):
        yield from ((f"{file}, entry {index}", one) for index, one in enumerate(value))
    else:
        yield str(file), value


def _csv(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        # A byte order mark, as Excel writes it, would belong to the name of the first column.
        reader = csv.DictReader(StringIO(read_bytes(file, _MISSING).decode("utf-8-sig"), newline=""))
        line = 2
        for row in reader:
            # `DictReader` keeps what is beyond the header under None.
            if None in row:
                raise TaskError(f"{file}:{line}: has more fields than the header")
            yield f"{file}:{line}", {str(key): value for key, value in row.items()}
            line = reader.line_num + 1
    except UnicodeDecodeError as error:
        raise TaskError(f"{file}: is not UTF-8 text") from error
    except csv.Error as error:
        raise TaskError(f"{file}: is not valid CSV ({error})") from error


def read_bytes(file: Path, missing: str) -> bytes:
    """A file of the person's own.

    Raises:
        TaskError: It cannot be read; `missing` is said when there is none.
    """
    try:
        return safe_files.read_named(file)
    except FileNotFoundError as error:
        raise TaskError(f"{file}: {missing}") from error
    except UnsafeFile as error:
        raise TaskError(f"{file}: cannot be read ({error.why})") from error
    except OSError as error:
        raise TaskError(f"{file}: cannot be read ({error.strerror})") from error


def _json(data: bytes, place: str) -> Any:
    try:
        return loads(data)
    except CodecError as error:
        raise TaskError(f"{place}: is not valid JSON ({error})") from error


def id_of(fields: Fields, key: str) -> str:
    """The row's id, made path-safe.

    Raises:
        TaskError: It is missing, or has no character that a file name may have.
    """
    value = fields.get(key)
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else fields.text(key)
    if not (safe := _UNSAFE.sub("-", text).strip("-.")[:64]):
        raise fields.wrong(key, f"is {text[:40]!r}, which has no character that a file name may have")
    return safe


def needed_text(fields: Fields, key: str) -> str:
    """A text that is there.

    Raises:
        TaskError: It is missing, empty, or no text.
    """
    if not (text := fields.text(key)).strip():
        raise fields.wrong(key, "is empty")
    return text


def address(fields: Fields, key: str) -> str:
    """A web address; one without a scheme is taken for https.

    Raises:
        TaskError: It is missing, or no web address.
    """
    url = needed_text(fields, key).strip()
    url = url if "://" in url else f"https://{url}"
    if not is_web_address(url):
        raise fields.wrong(key, f"is {url[:80]!r}, which is not an http(s) address")
    return url
