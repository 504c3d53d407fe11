"""Requests from outside, passed on to the run's endpoint byte for byte, in any of its interfaces.

Permits, retries, outages, bounds and prices are those of the run's own requests; the key is the run's, and nothing else
is changed. Only if the settings name a model, it takes the place of the one in the body; and with `llm.token_ids` the
endpoint is asked for its tokens, too.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from harness.api import Answer, ModelProvider
from harness.codec import CodecError, JsonObject, dumps, loads
from harness.errors import ConfigError, ModelRejected, RequestRefused
from harness.llm.answer import NoAnswer
from harness.llm.circuit_breaker import OutageWaiter
from harness.llm.connection import Connection
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_model import guessed_tokens
from harness.llm.event_stream import is_event_stream, read_any
from harness.llm.exchange import Exchanger, Sending
from harness.llm.providers import provider_of
from harness.llm.providers.provider import connect
from harness.llm.token_ids import TokenIds
from harness.records import Usage

logger = logging.getLogger(__name__)

PASSED_BACK = ("content-type", "retry-after", "x-request-id", "request-id", "openai-processing-ms", "openai-version")
_JSON = "application/json"
_REJECTED_BY_BOUNDS = 502
_NOT_IMPLEMENTED = 501
_MOST_LOGGED = 50
"""Different refusals that are logged: a process may ask for any number of models that there are not."""
_LONGEST_NAME = 200


class NotARequest(ValueError):
    """The body is not a JSON object; nothing was sent. The message is a sentence."""


@dataclass(frozen=True, kw_only=True)
class ForeignRequest:
    """A request as its writer made it."""

    interface: str
    """Name of the provider whose wire format it has."""
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those that say what its body means, see `ModelProvider.request_headers`."""

    @cached_property
    def tree(self) -> JsonObject:
        """The body, read. Raises: NotARequest: It is not a JSON object."""
        try:
            body = loads(self.body)
        except CodecError as error:
            raise NotARequest(f"the body is not JSON: {str(error)[:200]}") from error
        if not isinstance(body, dict):
            raise NotARequest("the body must be a JSON object")
        return body


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignAnswer:
    """What it was answered; an answer with an error status, too."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    """Those of `PASSED_BACK`, with names in lower case."""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    request_id: str = ""
    waited_s: float = 0.0


class Passthrough:
    """Passes requests on; close it when it is no longer used."""

    def __init__(
        self,
        exchanger: Exchanger,
        waiter: OutageWaiter,
        *,
        model: str | None = None,
        token_ids: TokenIds | None = None,
    ) -> None:
        """
        Args:
            exchanger: Of the run's endpoint.
            waiter: For when the endpoint is down.
            model: Takes the place of every model that a request names; None = none does.
            token_ids: Whether tokens are asked for beside what a request asks; None = they are not.
        """
        self._exchanger = exchanger
        self._token_ids = token_ids or TokenIds()
        self._waiter = waiter
        self._model = model
        self._connections: dict[str, Connection] = {}
        self._logged: set[str] = set()

    async def send(self, request: ForeignRequest) -> ForeignAnswer:
        """Pass a request on until it is answered.

        Raises:
            NotARequest: The body is not a JSON object; nothing was sent.
            ModelUnavailable: No answer after all retries.
        """
        body = request.tree
        content = request.body
        if self._model is not None and body.get("model") != self._model:
            body = body | {"model": self._model}
            content = dumps(body)
        try:
            connection, spoken = self._connection(request.interface), provider_of(request.interface)
        except ConfigError as error:  # its package is not installed, which another process may not need
            return _refused(_NOT_IMPLEMENTED, str(error), Usage())
        tokens = guessed_tokens(body)

        def sending(more: JsonObject) -> Sending:
            sent = dumps(body | more) if more else content
            return Sending(
                send=lambda: connection.pass_on(sent, request.headers),
                read=lambda answer: _read(spoken, answer),
                errors=connection.errors,
                model=str(body.get("model") or "")[:_LONGEST_NAME],
                tokens=tokens,
            )

        try:
            received, lost_s = await self._waiter.ask(
                lambda: self._token_ids.exchange(self._exchanger, spoken, body, sending)
            )
        except (RequestRefused, ModelRejected) as error:  # the process chose model and body
            # Raised from here, it ended the run, and each start after it.
            self._log(str(error))
            return self._refusal(error)
        return ForeignAnswer(
            status=received.status,
            body=received.body,
            headers=_kept(received.headers),
            model=received.answer.model,
            usage=received.usage,
            request_id=received.request_id,
            waited_s=received.waited_s + lost_s,
        )

    async def close(self) -> None:
        for connection in self._connections.values():
            await connection.close()

    def _connection(self, name: str) -> Connection:
        if name not in self._connections:
            settings = replace(self._exchanger.settings, api=name)
            self._connections[name] = connect(provider_of(name), self._endpoint, settings)
        return self._connections[name]

    @property
    def _endpoint(self) -> Endpoint:
        return self._exchanger.endpoint

    def _log(self, why: str) -> None:
        if why not in self._logged and len(self._logged) < _MOST_LOGGED:
            self._logged.add(why)
            logger.warning("a request of an agent's process was refused: %s", why)

    def _refusal(self, error: RequestRefused | ModelRejected) -> ForeignAnswer:
        """The endpoint's own answer, where there is one: its writer is to see what it did wrong."""
        first = error.__cause__ if isinstance(error, ModelRejected) else None
        refused: RequestRefused | ModelRejected = first if isinstance(first, RequestRefused) else error
        response: Any = getattr(refused.__cause__, "response", None)
        usage, waited_s = Usage(requests=refused.requests), refused.waited_s
        if response is None:
            return replace(_refused(_REJECTED_BY_BOUNDS, str(error), usage), waited_s=waited_s)
        text = self._endpoint.redact(response.content.decode("utf-8", "replace"))
        headers = {name.lower(): value for name, value in response.headers.items()}
        return ForeignAnswer(
            status=response.status_code, body=text.encode(), headers=_kept(headers), usage=usage, waited_s=waited_s
        )


def _read(spoken: ModelProvider, content: bytes) -> Answer:
    try:
        return read_any(spoken, content, streamed=is_event_stream(content))
    except NoAnswer as error:
        if not error.is_pending:
            raise
        # The process has asked for it to be made in the background: sent again, the request would begin another.
        return Answer(text="", model="", prompt_tokens=0, completion_tokens=0)


def _refused(status: int, why: str, usage: Usage) -> ForeignAnswer:
    said = dumps({"error": {"message": why, "type": "invalid_request_error"}})
    return ForeignAnswer(status=status, body=said, headers={"content-type": _JSON}, usage=usage)


def _kept(headers: Mapping[str, str], names: Sequence[str] = PASSED_BACK) -> dict[str, str]:
    return {name: headers[name][:1000] for name in names if name in headers}


def kept_headers(headers: Mapping[str, str], interface: str) -> dict[str, str]:
    """Of the headers of a request, with names in lower case, those that are sent on to a provider.

    Raises:
        NotARequest: One of them cannot be sent.
    """
    kept = _kept(headers, provider_of(interface).request_headers)
    for name, value in kept.items():
        if not (value.isascii() and value.isprintable()):
            raise NotARequest(f"the header {name} contains characters that are not allowed in one")
    return kept
