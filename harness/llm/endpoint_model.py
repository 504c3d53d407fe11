"""One chat request that answers or raises our error.

Every request, retries included, is counted in the reply's usage; a price is attached by the user's table. It does not
stream, does not remember, and does not know what it is asked. `exchange` sends what is made here.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from harness.api import RetryableError
from harness.codec import JsonObject
from harness.errors import PluginFailed
from harness.llm.event_stream import read_any
from harness.llm.exchange import Exchanger, ReceivedAnswer, Sending
from harness.llm.providers import provider_of
from harness.llm.providers.provider import connect
from harness.llm.request_frame import frame_of
from harness.llm.request_scope import current_scope
from harness.llm.token_ids import TokenIds
from harness.protocols import StoredReply
from harness.records import ComputerTool, Message, Reply, Tool, Usage

# A guess for the rate limiter, which the endpoint's own count corrects.
PICTURE_TOKENS = 1000


class EndpointModel:
    """A `ChatModel` behind an endpoint; close it by leaving its context."""

    def __init__(self, exchanger: Exchanger, *, token_ids: TokenIds | None = None) -> None:
        """Connects to nothing yet; `token_ids`: whether tokens are asked for, None = they are not."""
        self._exchanger = exchanger
        self.endpoint, self._settings = exchanger.endpoint, exchanger.settings
        self._token_ids = token_ids or TokenIds()
        self._provider = provider_of(self._settings.api)
        self._connection = connect(self._provider, self.endpoint, self._settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """See `ChatModel.ask`."""
        body = self._provider.body(messages, tools, self._settings)
        tokens = guessed_tokens(body)

        def sending(more: JsonObject) -> Sending:
            return Sending(
                send=lambda: self._connection.send(body | more),
                read=partial(read_any, self._provider),
                errors=self._connection.errors,
                model=self._settings.model,
                tokens=tokens,
            )

        try:
            received = await self._token_ids.exchange(self._exchanger, self._provider, body, sending)
        except PluginFailed as error:
            _spend(Usage(requests=error.requests, priced=False))
            raise
        _spend(received.usage)
        return self._reply(received)

    def request(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> JsonObject:
        """What `ask` would send, apart from address and credentials; the question for tokens even if it is refused."""
        body = self._provider.body(messages, tools, self._settings)
        # Whether the endpoint takes the question is learnt on the way, and a reply's key must not depend on that.
        if self._token_ids.wanted:
            body |= self._provider.token_request(body)
        return {"api": self._provider.name, "model": self._settings.model, "body": body}

    def kept_reply(self, kept: StoredReply) -> Reply | None:
        """The reply in an answer that was received before; it cost nothing. None if it is not an answer."""
        try:
            answer = read_any(self._provider, kept.raw)
        except (RetryableError, PluginFailed):
            return None
        used = self._exchanger.usage(answer, self._settings.model, 0)
        usage = replace(used, cost_usd=0.0, saved_usd=0.0, priced=True, from_cache=1)
        received = ReceivedAnswer(
            answer=answer, request=b"", body=kept.raw, status=200, headers={}, usage=usage, waited_s=0.0
        )
        return replace(self._reply(received), request_id=kept.request_id, request=kept.request)

    def _reply(self, received: ReceivedAnswer) -> Reply:
        answer = received.answer
        return Reply(
            text=answer.text,
            model=answer.model or self._settings.model,
            usage=received.usage,
            waited_s=received.waited_s,
            tool_calls=answer.tool_calls,
            finish_reason=answer.finish_reason,
            refusal=answer.refusal,
            reasoning=answer.reasoning,
            items=answer.items,
            raw=received.body,
            request=frame_of(self._provider.name, received.request),
            request_id=received.request_id,
        )


def _spend(usage: Usage) -> None:
    """For an agent that fails before it has given back a decision, and with it what its replies cost."""
    if (scope := current_scope()) is not None:
        scope.spent += usage


def guessed_tokens(body: Any) -> int:
    """A guess at what a request's prompt costs: four characters a token, pictures all the same."""
    characters = pictures = 0
    waiting = [body]
    while waiting:  # no recursion: a body of somebody else's may be nested deeper than Python's stack
        value = waiting.pop()
        if isinstance(value, str):
            is_picture = value.startswith("data:image/")
            pictures += is_picture
            characters += 0 if is_picture else len(value)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return characters // 4 + PICTURE_TOKENS * pictures
