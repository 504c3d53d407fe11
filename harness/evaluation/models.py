"""The model and the agent that asks it: from settings to objects."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from harness.api import ChatModel, ComputerTool, Message, Reply, Tool
from harness.config import PROJECT, JudgeConfig, LlmConfig
from harness.config.schema_fields import Tree
from harness.errors import ConfigError
from harness.llm.chat import ChatSettings, OpenAIChat, judge_settings
from harness.llm.circuit_breaker import CircuitBreakerModel
from harness.llm.endpoint import Endpoint
from harness.llm.http_client import bounded_client
from harness.llm.permits import Permit, PermitRequest, RateLimiter, Unlimited
from harness.llm.prices import Price, read_prices
from harness.llm.retry import Retrier, RetryNotice, RetryPolicy, Timing
from harness.runner.shutdown import ShutdownSignal

_MOST_NODES = 100_000


@dataclass
class RequestCounter:
    """Counts the HTTP requests of this start to the model under test; a judge's are in its scores."""

    made: int = 0


class NoModel:
    """With `llm=none`."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        raise ConfigError("the agent asks a model, and llm.kind is none; choose one, as in llm=openai llm.model=NAME")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLimiter:
    """The rate limiter for one lane: counts its permits; a waiting request is cancelled when the run stops."""

    rate_limiter: RateLimiter
    lane: int
    requests: RequestCounter
    stopping: ShutdownSignal

    async def acquire(self, want: PermitRequest) -> Permit:
        permit = await self.stopping.wait_for(self.rate_limiter.acquire(replace(want, lane=self.lane)))
        self.requests.made += 1
        return permit

    async def outage(self, why: str, requests: int) -> float | None:
        return await self.stopping.wait_for(self.rate_limiter.outage(why, requests))

    async def rejection(self) -> bool:
        return await self.stopping.wait_for(self.rate_limiter.rejection())


@dataclass(frozen=True, kw_only=True)
class Models:
    """Makes chat models that share prices, the count of requests, and their closing."""

    llm: LlmConfig
    requests: RequestCounter
    prices: Mapping[str, Price]
    closing: AsyncExitStack
    stopping: ShutdownSignal
    rate_limiter: RateLimiter = field(default_factory=Unlimited)
    """For the model under test, shared by all lanes; a judge is asked rarely, often elsewhere, and needs none."""

    @cached_property
    def _connections(self) -> Any:
        return bounded_client(int(self.llm.max_answer_mb * (1 << 20)))

    async def agent_model(self, base_url: str | None, tell: Callable[[str], None], lane: int = 0) -> ChatModel:
        """The model under test; `base_url` overrides the configured one, `tell` hears of retries."""
        if self.llm.kind == "none":
            return NoModel()
        chat = await self.bare_model(
            base_url, lambda notice: tell(f"{notice.why}; retrying in {notice.wait_s:.1f} s"), lane
        )
        rate_limiter = self._lane_limiter(self.rate_limiter, lane)
        return CircuitBreakerModel(chat, rate_limiter, max_outage_s=self.llm.max_outage_s)

    async def bare_model(
        self, base_url: str | None, on_retry: Callable[[RetryNotice], None] | None, lane: int = 0
    ) -> OpenAIChat:
        """The model under test; an outage is reported at once."""
        llm = self.llm
        endpoint = Endpoint(
            base_url=base_url or llm.base_url,
            api_key=llm.api_key,
            azure=llm.kind == "azure",
            api_version=llm.api_version,
            headers=llm.headers,
            http_client=self._connections,
        )
        settings = ChatSettings(
            model=llm.model,
            temperature=llm.temperature,
            top_p=llm.top_p,
            max_tokens=llm.max_tokens,
            max_tokens_field=None if llm.max_tokens_field == "max_tokens" else llm.max_tokens_field,
            reasoning_effort=llm.reasoning_effort,
            seed=llm.seed,
            extra_body=llm.extra_body,
            timeout_s=llm.timeout_s,
        )
        retrier = self._retrier(on_retry)
        return await self._open(endpoint, settings, retrier, self._lane_limiter(self.rate_limiter, lane))

    async def judge_model(self, judge: JudgeConfig) -> OpenAIChat:
        assert judge.model is not None
        endpoint = Endpoint(
            base_url=judge.base_url, api_key=judge.api_key, headers=judge.headers, http_client=self._connections
        )
        settings = judge_settings(judge.model, timeout_s=judge.timeout_s)
        rate_limiter = LaneLimiter(rate_limiter=Unlimited(), lane=0, requests=RequestCounter(), stopping=self.stopping)
        return await self._open(endpoint, settings, self._retrier(None), rate_limiter)

    async def _open(
        self, endpoint: Endpoint, settings: ChatSettings, retrier: Retrier, rate_limiter: RateLimiter
    ) -> OpenAIChat:
        chat = OpenAIChat(endpoint, settings, retrier=retrier, prices=self.prices, turns=rate_limiter)
        return await self.closing.enter_async_context(chat)

    def _retrier(self, on_retry: Callable[[RetryNotice], None] | None) -> Retrier:
        llm = self.llm
        policy = RetryPolicy(max_attempts=llm.max_attempts, max_total_s=llm.max_retry_s)
        return Retrier(policy, on_retry=on_retry, timing=Timing(sleep=self.stopping.sleep))

    def _lane_limiter(self, rate_limiter: RateLimiter, lane: int) -> LaneLimiter:
        return LaneLimiter(rate_limiter=rate_limiter, lane=lane, requests=self.requests, stopping=self.stopping)


def load_prices(llm: LlmConfig) -> dict[str, Price]:
    """The price table the person owns."""
    path = Path(llm.prices or PROJECT / "configs" / "prices.yaml")
    return read_prices(read_yaml(path, "llm.prices"), str(path))


def read_yaml(path: Path, setting: str) -> Tree:
    """The mapping in a file.

    Raises:
        ConfigError: It cannot be read, holds something else, or unfolds to what no such file is.
    """
    try:
        text = path.read_text("utf-8")
        if (node := yaml.compose(text, yaml.SafeLoader)) is not None and _unfolded(node, {}) > _MOST_NODES:
            raise ConfigError(f"{setting}: {path} expands to more than {_MOST_NODES:,} values through its aliases (*)")
        if not isinstance(node, yaml.MappingNode | None):
            raise ConfigError(f"{setting}: {path} must contain one mapping")
        tree = OmegaConf.to_container(OmegaConf.create(text))
    except OSError as error:
        raise ConfigError(f"{setting}: {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, OmegaConfBaseException, ValueError, RecursionError) as error:
        raise ConfigError(f"{setting}: {path} is not valid YAML: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(tree, dict):
        raise ConfigError(f"{setting}: {path} must contain one mapping")
    return {str(key): value for key, value in tree.items()}


def _unfolded(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Values in the tree that a node and its aliases become; of one that is within itself, more than any."""
    if (known := sizes.get(id(node))) is not None:
        return known
    sizes[id(node)] = _MOST_NODES + 1
    inner = node.value if isinstance(node, yaml.CollectionNode) else []
    ones = [one for pair in inner for one in (pair if isinstance(pair, tuple) else (pair,))]
    sizes[id(node)] = 1 + sum(_unfolded(one, sizes) for one in ones)
    return sizes[id(node)]
