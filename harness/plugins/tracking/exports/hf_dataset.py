"""A run as a Hugging Face dataset: a folder that `datasets.load_dataset` reads, with typed features.

The configurations `tasks` (a row per task and trial) and `steps` (a row per decision) have the columns of
`tracking.tables`, and what those leave out: messages, functions, calls, pictures. A picture is a feature of type Image
that contains its bytes; one that a prompt shows several times is in its row once. Needs `datasets` 4 or newer to read
and pyarrow to write. Memory holds one episode and one group of rows, about 16 MB of pictures.
Source: https://huggingface.co/docs/datasets/about_dataset_features
"""

import os
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, get_args, get_type_hints

from harness.api import JsonObject, dumps
from harness.api.endpoints import mappings
from harness.api.files import Within, prepared, replacing, safe_files, translate_os_errors, write_atomic
from harness.api.pictures import media_type
from harness.plugins.tracking.episodes import run_at
from harness.plugins.tracking.exports.events import scores_of, why_of
from harness.plugins.tracking.lazy import pyarrow
from harness.runs import Episode, Request, Run, Step, Steps, Tasks, task_row
from harness.runs.rows import step_row

SPLIT = "test"
GROUP_BYTES, GROUP_ROWS = 16_000_000, 4096
Row = dict[str, Any]
Write = Callable[[Row], None]

IMAGE = "image"
MESSAGE: Mapping[str, Any] = {
    "role": str,
    "name": str,
    "content": [{"type": str, "text": str, "image": int}],
    "tool_calls": [{"id": str, "name": str, "arguments": str}],
    "tool_call_id": str,
}
"""`image` of a part is its position in the column `images`."""
TASK_COLUMNS: Mapping[str, Any] = {
    "images": [IMAGE],
    "scores": [{"scoring": str, "value": float, "why": str, "evaluator_version": str}],
    "reference": str,
}
STEP_COLUMNS: Mapping[str, Any] = {
    "messages": [MESSAGE],
    "images": [IMAGE],
    "tools": str,
    "tool_calls": [{"id": str, "name": str, "arguments": str}],
    "finish_reason": str,
    "page": str,
    "screenshot": IMAGE,
}
"""`page` and `screenshot` are of the page after the action, `messages` of the request that it was read from."""


def export_hf(folder: Path, into: Path, *, dialect: str) -> Path:
    """Write `README.md`, `tasks.parquet` and `steps.parquet` into a folder.

    Args:
        folder: A run folder.
        into: Made if it is missing.
        dialect: Whose score the columns `status` and `score` contain; `scores` contains all.

    Raises:
        TrackingError: There is no run, or pyarrow is not installed.
        JournalError: A journal is damaged.
    """
    run = run_at(folder, scoring=dialect)
    counts = [0, 0]
    with translate_os_errors(into):
        within = prepared(into, folder)
        with (
            _table(into / "tasks.parquet", Tasks, TASK_COLUMNS, within) as add_task,
            _table(into / "steps.parquet", Steps, STEP_COLUMNS, within) as add_step,
        ):
            for episode in run.episodes():
                add_task(task_row(episode) | _task_columns(run, episode))
                counts[0] += 1
                for row in _step_rows(run, episode):
                    add_step(row)
                    counts[1] += 1
        content = [_digest(into / name, within) for name in ("tasks.parquet", "steps.parquet")]
        write_atomic(into / "README.md", _card(run, counts, content).encode(), durable=False, within=within)
    return into


def _task_columns(run: Run, episode: Episode) -> Row:
    opened = episode.record.opened
    assert opened is not None
    wanted = opened.task.eval
    return {
        "images": [_image(run.artifacts.read(digest)) for digest in opened.images],
        "scores": [
            {
                "scoring": name,
                "value": scored.value,
                "why": why_of(scored),
                "evaluator_version": scored.evaluator_version,
            }
            for name, scored in scores_of(episode)
        ],
        "reference": dumps({"answers": wanted.reference_answers, "url": wanted.reference_url}).decode(),
    }


def _step_rows(run: Run, episode: Episode) -> Iterator[Row]:
    for step in episode.steps:
        request = step.requests[-1] if step.requests else None
        yield dict(step_row(episode, step)) | _prompt_columns(request) | _page_columns(run, step)


def _prompt_columns(request: Request | None) -> Row:
    """Of the request that the action was read from; empty for a further action of the same answer."""
    if request is None:
        return {"messages": [], "images": [], "tools": "[]", "tool_calls": [], "finish_reason": ""}
    images: dict[str, Row] = {}
    messages = [_message(message, images) for message in request.messages] if request.prompt else []
    return {
        "messages": messages,
        "images": list(images.values()),
        "tools": dumps(request.tools).decode(),
        "tool_calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in request.calls],
        "finish_reason": request.finish_reason,
    }


def _page_columns(run: Run, step: Step) -> Row:
    seen = step.page
    screenshot = _image(run.artifacts.read(seen.screenshot)) if seen and seen.screenshot else None
    return {"page": seen.text if seen else "", "screenshot": screenshot}


def _message(sent: JsonObject, images: dict[str, Row]) -> Row:
    content = sent.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    calls = mappings(sent.get("tool_calls"))
    return {
        "role": str(sent.get("role", "")),
        "name": _text(sent.get("name")),
        "content": [_part(part, images) for part in parts if isinstance(part, dict)],
        "tool_calls": [{"id": _text(call.get("id")), **_function(call)} for call in calls],
        "tool_call_id": _text(sent.get("tool_call_id")),
    }


def _part(part: JsonObject, images: dict[str, Row]) -> Row:
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)}} if (data := _picture(url)) is not None:
            images.setdefault(url, _image(data))
            return {"type": "image", "text": None, "image": list(images).index(url)}
        case {"text": str(text)}:
            return {"type": "text", "text": text, "image": None}
    return {"type": str(part.get("type", "")), "text": None, "image": None}


def _function(call: Mapping[str, Any]) -> Row:
    found = call.get("function")
    function = found if isinstance(found, dict) else {}
    return {"name": _text(function.get("name")), "arguments": _text(function.get("arguments"))}


def _text(value: Any) -> str | None:
    """A prompt in a run folder of somebody else may hold anything."""
    return value if isinstance(value, str) else None


def _picture(url: str) -> bytes | None:
    """What a data URL contains; None = it is not one, or not in base64."""
    try:
        return b64decode(url.partition(",")[2]) if url.startswith("data:") else None
    except ValueError:  # `binascii.Error`, or characters that are not ASCII
        return None


def _image(data: bytes) -> Row:
    return {"bytes": data, "path": f"{sha256(data).hexdigest()[:16]}.{media_type(data).partition('/')[2]}"}


@contextmanager
def _table(path: Path, base: type, further: Mapping[str, Any], within: Within) -> Iterator[Write]:
    pa = pyarrow()
    columns = {name: _plain(hint) for name, hint in get_type_hints(base).items()} | dict(further)
    info = {"info": {"features": {name: _feature(kind) for name, kind in columns.items()}}}
    schema = pa.schema([(name, _arrow(pa, kind)) for name, kind in columns.items()])
    schema = schema.with_metadata({"huggingface": dumps(info)})
    rows: list[Row] = []
    size = 0
    with (
        replacing(path, durable=False, within=within) as file,
        pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):

        def flush() -> None:
            nonlocal size
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
            rows.clear()
            size = 0

        def add(row: Row) -> None:
            nonlocal size
            rows.append(row)
            size += _size(row)
            if len(rows) >= GROUP_ROWS or size >= GROUP_BYTES:
                flush()

        yield add
        flush()


def _plain(hint: Any) -> Any:
    return next((kind for kind in get_args(hint) if kind is not type(None)), hint)


def _feature(kind: Any) -> Any:
    """The feature of a column as `datasets` writes it."""
    match kind:
        case "image":
            return {"_type": "Image"}
        case list():
            return {"feature": _feature(kind[0]), "_type": "List"}
        case Mapping():
            return {name: _feature(inner) for name, inner in kind.items()}
    names = {str: "string", int: "int64", float: "float64", bool: "bool"}
    return {"dtype": names[kind], "_type": "Value"}


def _arrow(pa: Any, kind: Any) -> Any:
    match kind:
        case "image":
            return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        case list():
            return pa.list_(_arrow(pa, kind[0]))
        case Mapping():
            return pa.struct([(name, _arrow(pa, inner)) for name, inner in kind.items()])
    return {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}[kind]


def _size(value: Any) -> int:
    match value:
        case str() | bytes():
            return len(value)
        case dict():
            return sum(map(_size, value.values()))
        case list():
            return sum(map(_size, value))
    return 8


def _digest(path: Path, within: Within) -> str:
    with os.fdopen(safe_files.open_regular(path, os.O_RDONLY, below=within.run), "rb") as file:
        return file_digest(file, "sha256").hexdigest()[:16]


def _card(run: Run, counts: list[int], content: list[str]) -> str:
    """The dataset card. The hashes are in it because `datasets` finds what it cached of a local folder by the folder's
    name and the configurations in its card, not by what the files contain.
    """
    settings = run.settings
    name = dumps(run.name).decode()
    made = {key: str(settings.get(key) or "unknown") for key in ("agent.name", "llm.model", "observation.type")}
    rows = "".join(f"| `{key}` | `{value.replace('`', '').replace('|', '')}` |\n" for key, value in made.items())
    return f"""---
pretty_name: {name}
tags:
- web-agents
- agent-trajectories
configs:
- config_name: steps
  default: true
  description: steps {content[1]}
  data_files:
  - split: {SPLIT}
    path: steps.parquet
- config_name: tasks
  description: tasks {content[0]}
  data_files:
  - split: {SPLIT}
    path: tasks.parquet
---

# An evaluation run of a web agent

{counts[0]} episodes, {counts[1]} steps, written by `harness export hf`.

| setting | value |
| --- | --- |
{rows}
`load_dataset(FOLDER, "tasks", split="{SPLIT}")` has a row for each task and trial, `"steps"` one for each decision.
Pages, titles and answers are texts of web sites and models: treat them as untrusted.
"""
