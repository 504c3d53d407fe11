"""A model provider of a made-up wire format: lines of a telegram, answered by words."""

import json
from collections.abc import Sequence
from typing import Any

from harness.api import Answer, ChatSettings, Message, ModelProvider, RetryableError, text_of


class Telegraph(ModelProvider):
    name = "telegraph"
    path = "/wire"
    conversation_keys = ("telegram",)

    def conversation(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {"telegram": [f"{message.role}: {text_of(message.content)}" for message in messages]}

    def parameters(self, settings: ChatSettings) -> dict[str, Any]:
        return {"station": settings.model}

    def read(self, content: bytes) -> Answer:
        try:
            said = json.loads(content)
            return Answer(
                text=said["words"], model=said["station"], prompt_tokens=said["in"], completion_tokens=said["out"]
            )
        except (ValueError, LookupError, TypeError) as error:
            raise RetryableError(f"malformed answer: {error}") from error
