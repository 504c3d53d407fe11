"""What makes two requests to a model equal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from hashlib import sha256
from typing import Any

from harness.api import ComputerTool, Message, Tool
from harness.codec import dumps
from harness.llm.endpoint_model import EndpointModel


@dataclass(frozen=True, slots=True)
class RequestDigest:
    """The sha256 of requests to one endpoint, as hex."""

    endpoint: EndpointModel
    """Says how a request looks."""
    _: KW_ONLY
    address: Mapping[str, Any]
    """Whom the requests go to, without credentials: part of what a request is."""
    redact: Callable[[bytes], bytes]
    """Takes secrets out of a request before it is hashed."""

    def __call__(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool]) -> str:
        request = {"address": self.address, "request": self.endpoint.request(messages, tools)}
        # By the names of secrets: after a change of password the same question finds its reply.
        return sha256(self.redact(dumps(request))).hexdigest()
