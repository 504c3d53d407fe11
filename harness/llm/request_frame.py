"""What a request holds beside its messages, which a run folder keeps once, and the exact body that both make.

A conversation is sent again and again, so its messages are artifacts of their own (`journal.prompt_store`). Tools and
parameters are the same in every request of a run: their artifact is one.
"""

import json
from collections.abc import Sequence

from harness.codec import CodecError, JsonObject, dumps, loads
from harness.errors import JournalError
from harness.llm.providers import provider_of
from harness.records import Message


def frame_of(api: str, body: bytes) -> bytes:
    """`{"api": …, "body": …}` with null in the place of the conversation; b"" for a body that is not a JSON object."""
    try:
        # From what was sent: made from the settings, it would depend on the defaults of the version that reads.
        sent = loads(body)
    except CodecError:
        return b""
    if not isinstance(sent, dict):
        return b""
    made = provider_of(api).conversation_keys
    return dumps({"api": api, "body": {key: None if key in made else sent[key] for key in sent}})


def body_of(frame: bytes, messages: Sequence[Message]) -> bytes:
    """The body of the request, byte for byte as it was sent.

    Raises:
        JournalError: The frame is damaged.
        ConfigError: Its provider is not installed.
    """
    api, kept = kept_of(frame)
    asked = provider_of(api)
    said = asked.conversation(messages)
    body = {key: said.get(key) if key in asked.conversation_keys else value for key, value in kept.items()}
    # As the providers' packages write it.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def kept_of(frame: bytes) -> tuple[str, JsonObject]:
    """The provider's name and the body of a frame, null in the place of the conversation.

    Raises:
        JournalError: The frame is damaged.
    """
    try:
        found = loads(frame)
    except CodecError as error:
        raise JournalError(f"the artifact of a request is not JSON: {error}") from error
    match found:
        case {"api": str(api), "body": dict(kept)}:
            return api, kept
    raise JournalError("the artifact of a request has no api and body; restore the run folder from its source")
