"""The endpoint's tokenizer: a token is a byte of UTF-8, so ids are read back without a table.

It is there for `return_token_ids` of vLLM, and has nothing to do with what `usage` counts.
Source: https://docs.vllm.ai/en/stable/serving/openai_compatible_server.html
"""

from collections.abc import Sequence
from typing import Any

from harness.api import JsonObject, dumps
from harness.plugins.demo.model.conversation import Answer, Conversation


def token_ids(text: str) -> list[int]:
    return list(text.encode("utf-8", "replace"))


def text_of_ids(ids: Sequence[int]) -> str:
    """The text that `token_ids` was given."""
    return bytes(ids).decode("utf-8", "replace")


def prompt_text(asked: Conversation) -> str:
    """What a chat template would make of a request."""
    return "\n".join(segment.text for segment in asked.segments)


def said_text(answer: Answer) -> str:
    """What a model would have sampled: the text, then each call as a line of JSON."""
    calls = [dumps({"name": call.name, "arguments": call.arguments}).decode() for call in answer.calls]
    return "\n".join([*([answer.text] if answer.text else []), *calls])


def sampled(text: str, asked: Conversation) -> JsonObject:
    """What vLLM adds to a choice; {} if nothing was asked for."""
    ids = token_ids(text)
    more: JsonObject = {"token_ids": ids} if asked.wants_token_ids else {}
    return more | ({"logprobs": {"content": list(map(_logprob, ids))}} if asked.wants_logprobs else {})


def prompt(asked: Conversation) -> JsonObject:
    """What vLLM adds to an answer, or to the first event of one that is streamed."""
    return {"prompt_token_ids": token_ids(prompt_text(asked))} if asked.wants_token_ids else {}


def _logprob(token: int) -> dict[str, Any]:
    """Made up, always the same for a token."""
    return {
        "token": bytes([token]).decode("latin-1"),
        "logprob": -(token % 16) / 16,
        "bytes": [token],
        "top_logprobs": [],
    }
