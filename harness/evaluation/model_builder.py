"""The model and the agent that asks it: from settings to objects."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from harness.api import ChatModel, ComputerTool, Message, Reply, Tool
from harness.errors import ConfigError
from harness.evaluation.endpoint_settings import endpoint_of_settings, load_prices, provider_name
from harness.evaluation.reply_caches import address_of
from harness.journal.reply_cache import ReplyCache
from harness.llm.cached_model import CachedModel
from harness.llm.circuit_breaker import CircuitBreakerModel, OutageWaiter
from harness.llm.decision_replies import JournaledModel
from harness.llm.endpoint_model import EndpointModel
from harness.llm.exchange import Exchanger
from harness.llm.judge_breaker import JudgeBreaker
from harness.llm.passthrough import Passthrough
from harness.llm.permits import Permit, PermitRequest, RateLimiter, Unlimited
from harness.llm.prices import Price
from harness.llm.request_digest import RequestDigest
from harness.llm.request_scope import current_scope
from harness.llm.retry import Retrier, Timing
from harness.llm.token_ids import TokenIds
from harness.runner.shutdown import ShutdownSignal
from harness.secrets.redaction import NO_SECRETS, Redactor
from harness.settings.models import CacheSettings, JudgeSettings, LlmSettings, ModelSettings
from harness.working_time import working_s


class NoModel:
    """With `llm=none`."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        raise ConfigError("this agent needs a model, but llm.kind=none; set for example llm=openai llm.model=gpt-4o")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLimiter:
    """The rate limiter for one lane; a waiting request is cancelled when the run stops."""

    rate_limiter: RateLimiter
    lane: int | None
    """None = the one whose episode asks, as lanes share their judge."""
    stopping: ShutdownSignal
    judge: bool = False

    async def acquire(self, want: PermitRequest) -> Permit:
        asked = replace(want, lane=self._asking if self.lane is None else self.lane, judge=self.judge)
        return await self.stopping.wait_for(self.rate_limiter.acquire(asked))

    async def outage(self, why: str, requests: int) -> float | None:
        return await self.stopping.wait_for(self.rate_limiter.outage(why, requests))

    async def rejection(self) -> bool:
        return await self.stopping.wait_for(self.rate_limiter.rejection())

    @property
    def _asking(self) -> int:
        scope = current_scope()
        return 0 if scope is None else scope.lane


@dataclass(frozen=True, kw_only=True)
class Models:
    """Makes chat models that share prices, permits, and their closing."""

    llm: LlmSettings
    prices: Mapping[str, Price]
    closing: AsyncExitStack
    stopping: ShutdownSignal
    rate_limiter: RateLimiter = field(default_factory=Unlimited)
    """For the model under test and for the judge, shared by all lanes."""
    redactor: Redactor = NO_SECRETS
    """Of what the reply cache keeps."""
    notice: Callable[[str], None] = lambda text: None
    """Receives a sentence about the run as a whole."""

    @cached_property
    def _replies(self) -> dict[CacheSettings, ReplyCache]:
        return {}

    @cached_property
    def _token_ids(self) -> TokenIds:
        """Of all lanes: what one has been refused, none asks for again."""
        return TokenIds(wanted=self.llm.token_ids, redact=self.redactor.data, notice=self.notice)

    @cached_property
    def _connections(self) -> Any:
        return _client(int(self.llm.max_answer_mb * (1 << 20)))

    async def agent_model(self, base_url: str | None, tell: Callable[[str], None], lane: int = 0) -> ChatModel:
        """The model under test; `base_url` overrides the configured one, `tell` hears of retries."""
        if self.llm.kind == "none":
            return NoModel()
        chat = await self.bare_model(base_url, tell, lane)
        model = CircuitBreakerModel(chat, self._waiter(lane))
        return JournaledModel(self._cached(model, chat, self.llm), chat, self._digest(chat, self.llm))

    async def bare_model(
        self, base_url: str | None, tell: Callable[[str], None] = lambda text: None, lane: int = 0
    ) -> EndpointModel:
        """The model under test; an outage is reported at once."""
        exchanger = self._exchanger(base_url, tell, lane)
        return await self.closing.enter_async_context(EndpointModel(exchanger, token_ids=self._token_ids))

    async def passthrough(
        self, base_url: str | None, tell: Callable[[str], None], lane: int, *, model: str | None
    ) -> Passthrough | None:
        """Passes the requests of an agent's process on to the model under test; None = there is no model.

        Args:
            model: Takes the place of the one that a request names; None = the request's stays.
        """
        if self.llm.kind == "none":
            return None
        exchanger = self._exchanger(base_url, tell, lane)
        made = Passthrough(exchanger, self._waiter(lane), model=model, token_ids=self._token_ids)
        self.closing.push_async_callback(made.close)
        return made

    def _exchanger(self, base_url: str | None, tell: Callable[[str], None], lane: int) -> Exchanger:
        return Exchanger(
            endpoint_of_settings(self.llm, "llm", base_url, self._connections),
            replace(self.llm, api=provider_name(self.llm)),
            retrier=self._retrier(self.llm, tell),
            prices=self.prices,
            rate_limiter=self._lane_limiter(lane),
        )

    def _waiter(self, lane: int) -> OutageWaiter:
        return OutageWaiter(self._lane_limiter(lane), max_outage_s=self.llm.max_outage_s, monotonic=working_s)

    async def judge_model(self, judge: JudgeSettings) -> ChatModel:
        """The judge, with permits, retries, prices, circuit and reply cache of its own."""
        assert judge.model is not None
        client = _client(int(judge.max_answer_mb * (1 << 20)), name="judge")
        endpoint = endpoint_of_settings(judge, "judge", None, client)
        permits = replace(self._lane_limiter(None), judge=True)
        prices = self.prices if judge.prices is None else load_prices(judge, "judge")
        retrier = self._retrier(judge)
        exchanger = Exchanger(endpoint, judge, retrier=retrier, prices=prices, rate_limiter=permits)
        model = await self.closing.enter_async_context(EndpointModel(exchanger))
        # It fails at once while the judge is down: a pause would hold browsers and locks of sites for up to an hour.
        return self._cached(JudgeBreaker(model, monotonic=working_s), model, judge)

    def _cached(self, model: ChatModel, endpoint: EndpointModel, settings: ModelSettings) -> ChatModel:
        """`model` with its reply cache, if it has one."""
        if (cache := CacheSettings.of(settings, self.llm)) is None:
            return model
        replies = self._replies.get(cache)
        if replies is None:
            replies = self._replies[cache] = ReplyCache(
                cache.folder,
                max_bytes=cache.max_bytes,
                writes=cache.writes,
                redactor=self.redactor,
                notice=self.notice,
            )
        return CachedModel(model, endpoint, replies, self._digest(endpoint, settings))

    def _digest(self, endpoint: EndpointModel, settings: ModelSettings) -> RequestDigest:
        return RequestDigest(endpoint, address=address_of(settings, endpoint.endpoint), redact=self.redactor.data)

    def _retrier(self, settings: ModelSettings, tell: Callable[[str], None] = lambda text: None) -> Retrier:
        # With the run's own sleep: a pause before a retry ends when the run is stopping.
        return Retrier(settings, tell=tell, timing=Timing(monotonic=working_s, sleep=self.stopping.sleep))

    def _lane_limiter(self, lane: int | None) -> LaneLimiter:
        return LaneLimiter(rate_limiter=self.rate_limiter, lane=lane, stopping=self.stopping)


def _client(most_bytes: int, *, name: str = "llm") -> Any:
    from harness.llm.http_client import bounded_client  # and the package of the client, which a baseline does without

    return bounded_client(most_bytes, name=name)
