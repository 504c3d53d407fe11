"""Asks an endpoint for the ids and log probabilities of its tokens, until it refuses (`llm.token_ids`).

They come in the answer itself, which a journal keeps byte for byte, so nothing else has to be written or to survive a
crash. An endpoint that refuses is asked the same without them at once: no request is lost, and it is not asked again.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.api import ModelProvider
from harness.codec import CodecError, JsonObject, dumps, loads
from harness.errors import ModelRejected, RequestRefused
from harness.llm.event_stream import was_streamed
from harness.llm.exchange import Exchanger, ReceivedAnswer, Sending
from harness.records import Usage

logger = logging.getLogger(__name__)

_REFUSED = (400, 422, 501)
_OF_ANSWER = ("prompt_token_ids", "prompt_logprobs")
_OF_CHOICE = ("token_ids", "logprobs", "prompt_token_ids")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenIds:
    """What is remembered of endpoints; one for all that ask in a process."""

    wanted: bool = False
    redact: Callable[[bytes], bytes] = bytes
    """Takes secrets out of what is stored."""
    notice: Callable[[str], None] = logger.warning
    """Receives a sentence about the run as a whole."""
    _refused: set[tuple[str, str]] = field(default_factory=set)
    """Addresses and names of providers."""

    async def exchange(
        self, exchanger: Exchanger, provider: ModelProvider, body: JsonObject, sending: Callable[[JsonObject], Sending]
    ) -> ReceivedAnswer:
        """Send a body, with the question for tokens where the endpoint takes it.

        Args:
            exchanger: Of the endpoint.
            provider: Whose format the body has.
            body: Without the question.
            sending: How a body is sent; it is given the keys to be added to `body`, {} = none.

        Raises: what `Exchanger.exchange` raises for the body without the question.
        """
        endpoint = (str(exchanger.endpoint.settings.base_url), provider.name)
        asked = provider.token_request(body) if self.wanted and endpoint not in self._refused else {}
        if not asked:
            return self._without_secrets(await exchanger.exchange(sending({})))
        try:
            received = await exchanger.exchange(sending(asked))
        except (RequestRefused, ModelRejected) as error:
            # A wrong key, for instance, would be refused without the question as well.
            if getattr(error.__cause__, "status_code", None) not in _REFUSED:
                raise
            received = await self._again(error, exchanger, sending({}))
            if endpoint not in self._refused:
                self._refused.add(endpoint)
                self.notice(f"no token ids: {error}; they are not asked for any more")
        return self._without_secrets(received)

    async def _again(
        self, refused: RequestRefused | ModelRejected, exchanger: Exchanger, sending: Sending
    ) -> ReceivedAnswer:
        """The answer without the question, and what both exchanges took."""
        try:
            received = await exchanger.exchange(sending)
        except (RequestRefused, ModelRejected) as error:  # the question is not the reason
            error.requests += refused.requests
            error.waited_s += refused.waited_s
            raise
        usage = received.usage + Usage(requests=refused.requests)
        return replace(received, usage=usage, waited_s=received.waited_s + refused.waited_s)

    def _without_secrets(self, received: ReceivedAnswer) -> ReceivedAnswer:
        """Ids spell what redaction takes out of the texts, so such a request keeps none."""
        if b'token_ids"' not in received.body and b'"logprobs"' not in received.body:
            return received
        if all(self.redact(data) == data for data in (received.request, received.body)):
            return received
        return replace(received, body=without_tokens(received.body))


def without_tokens(content: bytes) -> bytes:
    """An answer, or the events of a streamed one, without token ids and log probabilities."""
    if not was_streamed(content):
        return _without(content)
    lines = content.replace(b"\r\n", b"\n").split(b"\n")
    return b"\n".join(b"data: " + _without(line[5:].strip()) if line.startswith(b"data:") else line for line in lines)


def _without(content: bytes) -> bytes:
    try:
        data = loads(content)
    except CodecError:  # `[DONE]`, or no answer: it was read before it came here
        return content
    if not isinstance(data, dict):
        return content
    choices = data.get("choices")
    if isinstance(choices, list):
        data["choices"] = [_left(one, _OF_CHOICE) if isinstance(one, dict) else one for one in choices]
    return dumps(_left(data, _OF_ANSWER))


def _left(tree: Mapping[str, Any], gone: tuple[str, ...]) -> JsonObject:
    return {key: value for key, value in tree.items() if key not in gone}
