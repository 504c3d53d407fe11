"""What makes two requests to a model equal."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from harness.api import ComputerTool, Message, Tool
from harness.codec import dumps
from harness.llm.endpoint_model import EndpointModel


class RequestDigest:
    """The sha256 of requests to one endpoint, as hex."""

    def __init__(
        self, endpoint: EndpointModel, *, address: Mapping[str, Any], redact: Callable[[bytes], bytes]
    ) -> None:
        """
        Args:
            endpoint: Says how a request looks.
            address: Whom the requests go to, without credentials: part of what a request is.
            redact: Takes secrets out of a request before it is hashed.
        """
        self._endpoint = endpoint
        self._address = dict(address)
        self._redact = redact

    def __call__(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> str:
        request = {"address": self._address, "request": self._endpoint.request(messages, tools)}
        # By the names of secrets: after a change of password the same question finds its reply.
        return sha256(self._redact(dumps(request))).hexdigest()
