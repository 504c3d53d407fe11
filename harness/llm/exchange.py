"""One HTTP exchange with a model endpoint: permits, retries, bounds and errors, whatever the body and its author.

Every request, retries included, takes a permit and is counted. What is sent and how an answer is read are the caller's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from harness.api import Answer, ChatSettings, RetryableError
from harness.errors import ModelRejected, ModelUnavailable, PluginFailed, RequestRefused
from harness.llm.answer import NoAnswer
from harness.llm.connection import SdkErrors
from harness.llm.endpoint import Endpoint
from harness.llm.endpoint_errors import check_error, translate_errors
from harness.llm.permits import Permit, PermitRequest, RateLimiter, RequestOutcome, RequestResult, Unlimited
from harness.llm.prices import Price, with_cost
from harness.llm.rate_limit_headers import read_headers
from harness.llm.retry import Retrier
from harness.records import Usage

# Until an answer has told how long they are.
GUESSED_REPLY_TOKENS = 256
_MOST_REDIRECTS = 3
"""In a row: one may be a mistake of a proxy, so many are the endpoint's address."""
_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id")
"""Of OpenAI and most compatible servers, of Anthropic, of Azure."""
_LONGEST_REQUEST_ID = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """What is sent, and how its answer is read."""

    send: Callable[[], Awaitable[Any]]
    """The whole HTTP answer, its bytes read."""
    read: Callable[[bytes], Answer]
    """Raises: RetryableError: The bytes are not an answer."""
    errors: SdkErrors
    model: str
    """For messages, and for its price."""
    tokens: int
    """Estimated tokens of the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedAnswer:
    """An answer, and what it took to get it."""

    answer: Answer
    request: bytes
    """The body that was sent."""
    body: bytes
    status: int
    headers: Mapping[str, str]
    """With names in lower case."""
    usage: Usage
    waited_s: float
    """For the right to ask."""

    @property
    def request_id(self) -> str:
        """What the provider's support asks for."""
        found = next((self.headers[name] for name in _REQUEST_ID_HEADERS if name in self.headers), "")
        return "".join(letter for letter in found if letter.isascii() and letter.isprintable())[:_LONGEST_REQUEST_ID]


# One loop for all wire formats: clients with retries, permits and errors of their own would drift apart. A library that
# unifies providers decides what is sent and hides what came back, which is what is measured.
@dataclass(slots=True)
class Exchanger:
    """Sends requests to one endpoint."""

    endpoint: Endpoint
    settings: ChatSettings
    _: KW_ONLY
    retrier: Retrier
    prices: Mapping[str, Price]
    rate_limiter: RateLimiter = field(default_factory=Unlimited)
    """A permit is taken for each HTTP request and never kept while waiting for the next."""
    _reply_tokens: int = field(init=False)

    def __post_init__(self) -> None:
        self._reply_tokens = self.settings.max_tokens or GUESSED_REPLY_TOKENS

    async def exchange(self, sending: Sending) -> ReceivedAnswer:
        """Send until there is an answer.

        Raises:
            ModelRejected: The endpoint rejects all requests; the run must stop.
            RequestRefused: It refuses this request as such.
            ModelUnavailable: No answer after all retries.
            PluginFailed: The provider cannot read the answer.
        """
        requests, redirects, waited_s, again = 0, 0, 0.0, False

        async def attempt() -> ReceivedAnswer:
            nonlocal requests, redirects, waited_s, again
            asked = PermitRequest(tokens=sending.tokens + self._reply_tokens, again=again)
            permit = await self.rate_limiter.acquire(asked)
            requests += 1
            waited_s += permit.waited_s
            try:
                return await self._with_permit(permit, sending)
            except RetryableError as exc:
                redirects = redirects + 1 if exc.redirected else 0
                if redirects == _MOST_REDIRECTS:
                    raise ModelRejected(f"{exc}, then run again") from exc.__cause__
                again = exc.refused
                # A 429 is not a failed attempt: with hundreds of lanes every request is refused sometimes.
                exc.closed_s = permit.closed_s if exc.refused else None
                raise

        try:
            received = await self.retrier.run(attempt, lambda: waited_s)
        except (RequestRefused, ModelRejected) as exc:
            exc.requests, exc.waited_s = requests, waited_s
            raise
        except PluginFailed as exc:
            exc.requests = requests
            raise
        except RetryableError as exc:
            if redirects == requests:
                rejected = ModelRejected(f"{exc}, then run again")
                rejected.requests, rejected.waited_s = requests, waited_s
                raise rejected from exc.__cause__
            raise ModelUnavailable(
                f"{self.endpoint.label} did not answer for model {sending.model!r} "
                f"after {requests} request{'s' * (requests != 1)}; last error: {exc}",
                requests=requests,
            ) from exc
        return replace(received, usage=self.usage(received.answer, sending.model, requests), waited_s=waited_s)

    async def _with_permit(self, permit: Permit, sending: Sending) -> ReceivedAnswer:
        """One HTTP request; whatever comes of it, the turn ends with it."""
        # A cancelled request, or a bug of ours, tells the limiter nothing about the endpoint.
        ending = RequestResult(outcome=RequestOutcome.cancelled)
        try:
            response = await self._request(sending)
            ending = replace(ending, limits=read_headers(response.headers, time.time()))
            answer = self._read(response, sending)
            counted = answer.prompt_tokens + answer.completion_tokens
            ending = replace(ending, outcome=RequestOutcome.answered, tokens=counted or None)
            self._reply_tokens = answer.completion_tokens or self._reply_tokens
            return ReceivedAnswer(
                answer=answer,
                request=response.request.content,
                body=response.content,
                status=response.status_code,
                headers={name.lower(): value for name, value in response.headers.items()},
                usage=Usage(),
                waited_s=0.0,
            )
        except RetryableError as exc:
            outcome = RequestOutcome.refused if exc.refused else RequestOutcome.failed
            ending = RequestResult(outcome=outcome, wait_s=exc.wait_s, limits=exc.limits or ending.limits)
            raise
        except RequestRefused:
            ending = replace(ending, outcome=RequestOutcome.rejected)
            raise
        except PluginFailed:  # the endpoint did answer
            ending = replace(ending, outcome=RequestOutcome.answered)
            raise
        finally:
            permit.end(ending)

    async def _request(self, sending: Sending) -> Any:
        timeout_s = self.settings.timeout_s
        with translate_errors(self.endpoint, sending.errors, model=sending.model, timeout_s=timeout_s):
            # Around all of it: the timeouts of an HTTP client begin anew with every part that it reads.
            async with asyncio.timeout(timeout_s):
                return await sending.send()

    def _read(self, response: Any, sending: Sending) -> Answer:
        try:
            return sending.read(response.content)
        except NoAnswer as exc:
            check_error(exc, response, self.endpoint, sending.model)
            raise

    def usage(self, answer: Answer, model: str, requests: int) -> Usage:
        """What so many requests for an answer used, and cost."""
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
        price = self.prices.get(model) or self.prices.get(answer.model)
        # No prompt has no tokens: they were not counted.
        return with_cost(usage, price if prompt else None, written_1h=answer.cache_write_1h_tokens)
