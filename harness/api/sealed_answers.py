"""Reference answers as no text that an agent, a page or a search through journals could read.

A task holds its answer encrypted as BrowseComp publishes its own: XOR with the SHA-256 of a canary text, in base64; the
evaluator decrypts it. The canary is beside it, so this keeps an answer out of sight; it is not protection from
people who look for it. Source: OpenAI, simple-evals, `browsecomp_eval.py`.

For benchmarks whose tasks hold reference answers.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from hashlib import sha256
from itertools import cycle
from typing import Any

from harness.api import EvaluatorError, Task
from harness.codec import CodecError, dumps, loads

__all__ = ["decrypt", "seal", "unseal"]

MAX_CHARS = 1_000_000


def encrypt(text: str, canary: str) -> str:
    """The text as base64."""
    return b64encode(_xor(text.encode(), canary)).decode()


def decrypt(cipher: str, canary: str) -> str:
    """The text that was encrypted.

    Raises:
        ValueError: It is not base64, or not text encrypted with this canary.
    """
    if len(cipher) > MAX_CHARS:
        raise ValueError(f"it has more than {MAX_CHARS} characters")
    try:
        return _xor(b64decode(cipher, validate=True), canary).decode()
    except ValueError as error:
        raise ValueError("it is not encrypted with this canary") from error


def _xor(data: bytes, canary: str) -> bytes:
    return bytes(one ^ key for one, key in zip(data, cycle(sha256(canary.encode()).digest()), strict=False))


def seal(value: Any, task_id: str) -> dict[str, str]:
    """A JSON value for `eval.NAME` of a task."""
    canary = f"cairn {task_id}"
    return {"sealed": encrypt(dumps(value).decode(), canary), "canary": canary}


def unseal(task: Task, name: str) -> Any:
    """The value that was sealed for the evaluator `name`.

    Raises:
        EvaluatorError: There is none, or it is damaged.
    """
    held = task.metadata.get(f"eval.{name}")
    try:
        if not isinstance(held, Mapping):
            raise ValueError("there is none")
        return loads(decrypt(str(held["sealed"]), str(held["canary"])))
    except (ValueError, KeyError, CodecError) as error:
        raise EvaluatorError(f"the reference answer of task {task.task_id} cannot be read: {error}") from error
