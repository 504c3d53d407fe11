"""The answer of an agent's process that ends without a call of `stop`: a file, or a line of its standard output."""

from pathlib import Path
from typing import Any

from harness.api import CodecError, loads
from harness.api.files import safe_files
from harness.errors import UnsafeFile

MOST_BYTES = 1 << 20


def answer_in(file: Path, stdout: str) -> str | None:
    """The answer; None = there is none.

    Args:
        file: Text, or a JSON object with `answer`.
        stdout: Its last line that is a JSON object with `answer` counts, unless there is a file.
    """
    try:
        written = safe_files.read_if_there(file, most=MOST_BYTES)
    except (OSError, UnsafeFile):
        written = None
    if written is not None:
        text = written.decode("utf-8", "replace")
        found = _answer(text)
        return text.strip() if found is None else found
    lines = (line for line in reversed(stdout.splitlines()) if line.lstrip().startswith("{"))
    return next((found for line in lines if (found := _answer(line)) is not None), None)


def _answer(text: str) -> str | None:
    try:
        tree: Any = loads(text)
    except CodecError:
        return None
    match tree:
        case {"answer": str(answer)}:
            return answer.strip()
        case {"answer": None}:
            return ""
        case {"answer": bool() | int() | float() as answer}:
            return str(answer)
    return None
