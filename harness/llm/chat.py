"""One chat request that answers or raises our error.

The only module that sends requests to a model. Every request, retries included, is counted in the reply's usage; a
price is attached by the user's table. It does not stream, does not remember, and does not know what it is asked.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from harness.errors import ModelUnavailable, RequestRefused
from harness.llm.answer import Answer
from harness.llm.chat_completion import plain_message, plain_tools, read_completion
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_errors import translate_errors
from harness.llm.model_family import REASONING_TOKENS, is_reasoning_model
from harness.llm.permits import Permit, PermitRequest, RateLimiter, RequestOutcome, RequestResult, Unlimited
from harness.llm.prices import Price, with_cost
from harness.llm.rate_limit_headers import read_headers
from harness.llm.retry import Retrier, RetryableError
from harness.records import ComputerTool, Message, Reply, Tool, Usage

GUESSED_REPLY_TOKENS = 256
PICTURE_TOKENS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """What is asked of the model; None = not sent, since some models refuse the parameter itself."""

    model: str
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_tokens_field: str | None = None
    """How the limit is called; None = as the model's family calls it."""
    reasoning_effort: str | None = None
    seed: int | None = None
    timeout_s: float = 120.0
    """Of one request, from connecting to the last byte."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the request, as the server documents them."""

    def body(self) -> dict[str, Any]:
        """The request's keys other than model and messages.

        A model whose family is known to reason is sent no `temperature` and no `top_p`, and its limit leaves room for
        the reasoning; naming the field of the limit turns this off.
        """
        if self.max_tokens_field is None and is_reasoning_model(self.model):
            limit = None if self.max_tokens is None else self.max_tokens + REASONING_TOKENS
            family: dict[str, Any] = {"max_completion_tokens": limit}
        else:
            field_name = self.max_tokens_field or "max_tokens"
            family = {"temperature": self.temperature, "top_p": self.top_p, field_name: self.max_tokens}
        asked = {**family, "reasoning_effort": self.reasoning_effort, "seed": self.seed}
        return {key: value for key, value in asked.items() if value is not None} | dict(self.extra_body)


def judge_settings(model: str, *, timeout_s: float = 120.0) -> ChatSettings:
    """What a judge is asked with, as WebArena asks its own: temperature 0, and at most 768 tokens."""
    return ChatSettings(model=model, temperature=0.0, max_tokens=768, timeout_s=timeout_s)


class OpenAIChat:
    """A `ChatModel` on any OpenAI-compatible endpoint; close it by leaving its context."""

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
        self._client = endpoint.connect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.close()

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """See `ChatModel.ask`."""
        requests, waited_s, again = 0, 0.0, False
        body: dict[str, Any] = {"messages": [plain_message(message) for message in messages]}
        if tools:
            body["tools"] = plain_tools(tools)
        tokens = guessed_tokens(body)

        async def attempt() -> tuple[Answer, bytes]:
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
            answer, raw = await self._retrier.run(attempt, lambda: waited_s)
        except RetryableError as exc:
            raise ModelUnavailable(
                f"{self._endpoint.label} did not answer for model {self._settings.model!r} "
                f"after {requests} request{'s' * (requests != 1)}; last error: {exc}",
                requests=requests,
            ) from exc
        return replace(self._reply(answer, requests), waited_s=waited_s, raw=raw)

    async def _in_turn(self, turn: Permit, body: Mapping[str, Any]) -> tuple[Answer, bytes]:
        """One HTTP request; whatever comes of it, the turn ends with it."""
        ending = RequestResult(outcome=RequestOutcome.unused)
        try:
            response = await self._request(body)
            ending = replace(ending, told=read_headers(response.headers))
            answer = read_completion(response.content)
            counted = answer.prompt_tokens + answer.completion_tokens
            ending = replace(ending, outcome=RequestOutcome.answered, tokens=counted or None)
            self._reply_tokens = answer.completion_tokens or self._reply_tokens
            return answer, response.content
        except RetryableError as exc:
            outcome = RequestOutcome.refused if exc.refused else RequestOutcome.failed
            ending = RequestResult(outcome=outcome, wait_s=exc.wait_s, told=exc.told or ending.told)
            raise
        except RequestRefused:
            ending = replace(ending, outcome=RequestOutcome.rejected)
            raise
        finally:
            turn.end(ending)

    async def _request(self, body: Mapping[str, Any]) -> Any:
        """The whole HTTP answer, its bytes read."""
        settings = self._settings
        with translate_errors(self._endpoint, model=settings.model, timeout_s=settings.timeout_s):
            async with asyncio.timeout(settings.timeout_s):
                # Raw, because the package's own parsing accepts answers without choices and trips over bad JSON.
                # The messages have their shape already: as `messages` the package would rebuild every one of them,
                # which takes as long as all the rest of a request.
                answer = await self._client.chat.completions.with_raw_response.create(
                    model=settings.model, messages=[], extra_body={**body, **settings.body()}
                )
        return answer.http_response

    def _reply(self, answer: Answer, requests: int) -> Reply:
        model = self._settings.model
        usage = Usage(
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            requests=requests,
            cached_tokens=answer.cached_tokens,
            cache_write_tokens=answer.cache_write_tokens,
            reasoning_tokens=answer.reasoning_tokens,
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
