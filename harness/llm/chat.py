"""One chat request that answers or raises our error.

The only module that sends requests to a model. Every request, retries included, is counted in the reply's usage; a
price is attached by the user's table. It does not stream, does not remember, and does not know what it is asked.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, NamedTuple, Self

from harness.codec import JsonObject
from harness.errors import ConfigError, ModelUnavailable, RequestRefused
from harness.llm.answer import Answer
from harness.llm.chat_completion import ChatCompletions
from harness.llm.chat_settings import ChatSettings
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_errors import translate_errors
from harness.llm.interface import Interface
from harness.llm.permits import Permit, PermitRequest, RateLimiter, RequestOutcome, RequestResult, Unlimited
from harness.llm.prices import Price, with_cost
from harness.llm.rate_limit_headers import read_headers
from harness.llm.responses import Responses
from harness.llm.retry import Retrier, RetryableError
from harness.records import ComputerTool, Message, Reply, Tool, Usage

GUESSED_REPLY_TOKENS = 256
PICTURE_TOKENS = 1000
_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id")
"""Of OpenAI and most compatible servers, of Anthropic, of Azure."""
_LONGEST_REQUEST_ID = 200


def connect(endpoint: Endpoint, settings: ChatSettings) -> Interface:
    """The interface that `settings.api` names; a package that only one of them needs is imported with it.

    Raises:
        ConfigError: That package is not installed.
    """
    match settings.api:
        case "chat":
            return ChatCompletions(endpoint, settings)
        case "responses":
            return Responses(endpoint, settings)
        case "messages":
            try:
                from harness.llm.anthropic_messages import AnthropicMessages
            except ImportError as error:
                raise ConfigError(
                    "llm.api=messages needs the package anthropic: pip install 'cairn-harness[anthropic]'"
                ) from error
            return AnthropicMessages(endpoint, settings)
    raise ConfigError(f"llm.api={settings.api} is unknown; choose one of chat, responses, messages")


class _Received(NamedTuple):
    """One HTTP answer."""

    answer: Answer
    body: bytes
    request_id: str


class EndpointModel:
    """A `ChatModel` behind an endpoint; close it by leaving its context."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: ChatSettings,
        *,
        retrier: Retrier,
        prices: Mapping[str, Price],
        turns: RateLimiter | None = None,
    ) -> None:
        """Connects to nothing yet.

        Args:
            turns: One is taken for each HTTP request and never kept while waiting for the next; None = no limit.
        """
        self._endpoint = endpoint
        self._settings = settings
        self._retrier = retrier
        self._prices = prices
        self._turns = turns or Unlimited()
        self._reply_tokens = settings.max_tokens or GUESSED_REPLY_TOKENS
        self._interface = connect(endpoint, settings)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._interface.close()

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """See `ChatModel.ask`."""
        requests, waited_s, again = 0, 0.0, False
        body = self._interface.body(messages, tools)
        tokens = guessed_tokens(body)

        async def attempt() -> _Received:
            nonlocal requests, waited_s, again
            turn = await self._turns.acquire(PermitRequest(tokens=tokens + self._reply_tokens, again=again))
            requests += 1
            waited_s += turn.waited_s
            try:
                return await self._in_turn(turn, body)
            except RetryableError as exc:
                again = exc.refused
                exc.closed_s = turn.closed_s if exc.refused else None
                raise

        try:
            received = await self._retrier.run(attempt, lambda: waited_s)
        except RetryableError as exc:
            raise ModelUnavailable(
                f"{self._endpoint.label} did not answer for model {self._settings.model!r} "
                f"after {requests} request{'s' * (requests != 1)}; last error: {exc}",
                requests=requests,
            ) from exc
        reply = self._reply(received.answer, requests)
        return replace(reply, waited_s=waited_s, raw=received.body, request_id=received.request_id)

    async def _in_turn(self, turn: Permit, body: JsonObject) -> _Received:
        """One HTTP request; whatever comes of it, the turn ends with it."""
        ending = RequestResult(outcome=RequestOutcome.unused)
        try:
            response = await self._request(body)
            ending = replace(ending, told=read_headers(response.headers, time.time()))
            answer = self._interface.read(response.content)
            counted = answer.prompt_tokens + answer.completion_tokens
            ending = replace(ending, outcome=RequestOutcome.answered, tokens=counted or None)
            self._reply_tokens = answer.completion_tokens or self._reply_tokens
            return _Received(answer, response.content, _request_id(response.headers))
        except RetryableError as exc:
            outcome = RequestOutcome.refused if exc.refused else RequestOutcome.failed
            ending = RequestResult(outcome=outcome, wait_s=exc.wait_s, told=exc.told or ending.told)
            raise
        except RequestRefused:
            ending = replace(ending, outcome=RequestOutcome.rejected)
            raise
        finally:
            turn.end(ending)

    async def _request(self, body: JsonObject) -> Any:
        """The whole HTTP answer, its bytes read."""
        settings = self._settings
        endpoint, model = self._endpoint, settings.model
        with translate_errors(endpoint, self._interface.errors, model=model, timeout_s=settings.timeout_s):
            async with asyncio.timeout(settings.timeout_s):
                return await self._interface.send(body)

    def _reply(self, answer: Answer, requests: int) -> Reply:
        model = self._settings.model
        prompt, completion = answer.prompt_tokens, answer.completion_tokens
        cached = min(answer.cached_tokens, prompt)  # an endpoint may count a part as more than the whole
        usage = Usage(
            prompt_tokens=prompt,
            completion_tokens=completion,
            requests=requests,
            cached_tokens=cached,
            cache_write_tokens=min(answer.cache_write_tokens, prompt - cached),
            reasoning_tokens=min(answer.reasoning_tokens, completion),
        )
        price = self._prices.get(model) or self._prices.get(answer.model)
        return Reply(
            text=answer.text,
            model=answer.model or model,
            usage=with_cost(usage, price),
            tool_calls=answer.tool_calls,
            finish_reason=answer.finish_reason,
            refusal=answer.refusal,
            reasoning=answer.reasoning,
            items=answer.items,
        )


def _request_id(headers: Mapping[str, str]) -> str:
    """What the provider's support asks for."""
    found = next((headers[name] for name in _REQUEST_ID_HEADERS if name in headers), "")
    return "".join(letter for letter in found if letter.isascii() and letter.isprintable())[:_LONGEST_REQUEST_ID]


def guessed_tokens(body: Any) -> int:
    """A guess at what a request's prompt costs: four characters a token, pictures all the same."""
    characters, pictures = _sizes(body)
    return characters // 4 + PICTURE_TOKENS * pictures


def _sizes(value: Any) -> tuple[int, int]:
    if isinstance(value, str):
        return (0, 1) if value.startswith("data:image/") else (len(value), 0)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    sizes = [_sizes(one) for one in inner]
    return sum(size for size, _ in sizes), sum(pictures for _, pictures in sizes)
