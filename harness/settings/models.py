"""The settings of a model: the one under test, and the judge."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from harness.choices import AT_LEAST_ONE, LONGEST_S, POSITIVE, SHARE, ValueRange
from harness.settings.fields import REQUIRED, Tree, setting
from harness.settings.plugin import PluginSettings

_OPENAI = "https://api.openai.com/"
_OF_OPENAI = ("chat", "responses")
"""Formats that OpenAI made; a provider of one's own may have another address."""
_TEMPERATURE = ValueRange(0, 100)
_CACHE_MODES = ("off", "read", "readwrite")
_CACHE_MB = 2048.0


@dataclass(frozen=True, kw_only=True)
class ChatSettings:
    """What is asked of a model, whichever provider carries it; what is null is not sent, since some models refuse the
    parameter itself."""

    model: str = setting(REQUIRED, named=False, filled=True)
    """Name of the model, as the endpoint knows it; part of the run's name."""
    api: str = setting("chat", added=True)
    """The wire format: `chat` (chat completions), `responses` (OpenAI's), `messages` (Anthropic's), or the name of an
    installed provider."""
    temperature: float | None = setting(None, bounds=_TEMPERATURE)
    """Sent as it is; null = not sent, and the endpoint has its own default."""
    top_p: float | None = setting(None, bounds=SHARE)
    """Sent as it is; null = not sent."""
    max_tokens: int | None = setting(None, bounds=AT_LEAST_ONE)
    """Most tokens of one reply; null = not sent."""
    max_tokens_field: str = setting("max_tokens", filled=True)
    """Name of `max_tokens` in a request of chat completions. With this default reasoning models (o-series, gpt-5) get
    `max_completion_tokens`, with room for their reasoning, and neither temperature nor top_p, which they refuse; so in
    the other interfaces."""
    reasoning_effort: str | None = setting(None, added=True)
    """Sent as it is (`low`, `medium`, `high`, …); null = not sent."""
    seed: int | None = setting(None, added=True)
    """Sent as it is, for endpoints that sample by it."""
    extra_body: Tree = setting(factory=dict, added=True)
    """Further keys of the request, as the endpoint documents them: `+llm.extra_body.KEY=VALUE`, of a judge
    `+judge.extra_body.KEY=VALUE`."""
    # Not measured, but named: two values of it in one sweep are two runs.
    timeout_s: float = setting(120.0, measured=False)
    """A request without an answer for this long is given up, and may be sent again."""


@dataclass(frozen=True, kw_only=True)
class EndpointSettings:
    """Where requests go."""

    kind: str = setting("openai", choices=("openai", "azure"))
    """`openai`: any endpoint that speaks `api`; `azure`: OpenAI's interfaces at Azure."""
    base_url: str | None = setting(None, measured=False, named=False, address=True)
    """Address of the endpoint; null = that of the format's maker."""
    api_key: str | None = setting(None, measured=False, named=False)
    """The endpoint's key, a secret; give it by the environment variable that the file in `configs/llm` or
    `configs/judge` names."""
    headers: dict[str, str] = setting(factory=dict, measured=False, named=False)
    """Sent with every request, as `OpenAI-Organization`; their values are secrets."""
    api_version: str | None = None
    """Azure only: a dated version of its interface; null = its v1 interface."""


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How long one request is tried."""

    max_attempts: int = setting(8, measured=False, bounds=ValueRange(1, 1000))
    """How often one request is sent at most, when the endpoint fails or refuses for a while."""
    # The longest wait that an endpoint can ask for, too: after it, one request is sent as a test.
    max_retry_s: float = setting(600.0, measured=False, bounds=ValueRange(0, LONGEST_S))
    """Retries of one request end after this long."""


@dataclass(frozen=True, kw_only=True)
class RateLimits:
    """What the person allows of an endpoint."""

    # Far above any reply, and not too much for the memory of a machine with many lanes.
    max_answer_mb: float = setting(32.0, measured=False, bounds=ValueRange(0, 65_536, above=True))
    """A longer answer of the endpoint is refused, and only its own task fails; decompressed."""
    max_concurrency: int | None = setting(None, measured=False, bounds=AT_LEAST_ONE)
    """Requests at once, over all workers; null = no limit of ours."""
    requests_per_minute: float | None = setting(None, measured=False, bounds=POSITIVE)
    """Over all workers; null = what the endpoint lets through, which is found out."""
    tokens_per_minute: float | None = setting(None, measured=False, bounds=POSITIVE)
    """Over all workers; null = what the endpoint lets through, which is found out."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings(RateLimits, RetryPolicy, EndpointSettings, ChatSettings):
    """What both have."""

    prices: str | None = setting(None, measured=False)
    """YAML of prices per million tokens; null = `configs/prices.yaml`; for the judge, `llm.prices`."""
    cache: str | None = setting(None, measured=False, named=False, choices=_CACHE_MODES)
    """Reply cache: `off`, `read`, or `readwrite`; null = `off`, for the judge as `llm.cache`."""
    cache_dir: str | None = setting(None, measured=False, named=False, filled=True)
    """Folder of the reply cache; null = `cairn` in the person's cache folder (`~/.cache`), for the judge as
    `llm.cache_dir`."""
    cache_mb: float | None = setting(None, measured=False, named=False, bounds=ValueRange(0, 1 << 30, above=True))
    """Size of the reply cache in MB; beyond, the least recently used replies are removed; null = 2048, for the judge
    as `llm.cache_mb`."""


@dataclass(frozen=True, kw_only=True)
class LlmSettings(PluginSettings, ModelSettings):
    """The model under test; `_target_` is a `ModelProvider` of the person's own, which takes the place of `api`."""

    kind: str = setting("openai", choices=("openai", "azure", "scripted", "none"))
    """`openai`: any endpoint that speaks `llm.api`; `azure`: OpenAI's interfaces at Azure; `scripted` starts the
    embedded endpoint; `none` is for agents that ask no model."""
    name: str = setting(REQUIRED, filled=True)
    """How reports call the endpoint."""
    token_ids: bool = setting(False, measured=False)
    """Ask the endpoint for the ids and log probabilities of its tokens, and keep them with its answers, as for
    training; an endpoint that refuses is not asked again. The model is asked the same and samples the same."""
    step: int = 0
    """Which checkpoint of a model in training this is; a label for `tracking`."""
    max_outage_s: float = setting(3600.0, measured=False, bounds=ValueRange(0, LONGEST_S))
    """The run pauses this long for an endpoint that stays down, before tasks are given up."""
    plans: str | None = setting(None, measured=False, named=False)
    """`llm=scripted` only: the plan file that the endpoint follows."""
    faults: list[Any] = setting(factory=list, measured=False)
    """`llm=scripted` only: faults to inject, by rule; configs/llm/scripted.yaml has examples."""
    latency_ms: int = setting(0, measured=False)
    """`llm=scripted` only: how long an answer takes, in milliseconds."""


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(PluginSettings, ModelSettings):
    """The endpoint that judges `fuzzy_match`; null model = no judge, unless there is a class for it.

    It is asked as WebArena asks its own: temperature 0, and at most 768 tokens.
    """

    model: str | None = None  # type: ignore[assignment]  # a judge without one is asked nothing
    """Name of the judging model; null = there is no judge."""
    kind: str = setting("openai", added=True, choices=("openai", "azure"))
    api_version: str | None = setting(None, added=True)
    # Temperature and max_tokens were fixed in the code once: as `added`, their defaults leave the digest of older run
    # folders as it was.
    temperature: float | None = setting(0.0, added=True, bounds=_TEMPERATURE)
    top_p: float | None = setting(None, added=True, bounds=SHARE)
    max_tokens: int | None = setting(768, added=True, bounds=AT_LEAST_ONE)
    max_tokens_field: str = setting("max_tokens", added=True, filled=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """What the settings say of the reply cache of a model."""

    folder: Path
    setting: str
    """Name of the setting that says so."""
    max_bytes: int
    writes: bool

    @classmethod
    def of(cls, model: ModelSettings, llm: ModelSettings) -> Self | None:
        """Of the model under test (`llm` itself) or of the judge; None = it has none."""
        mode = model.cache or llm.cache or "off"
        if mode == "off":
            return None
        place = model.cache_dir or llm.cache_dir
        return cls(
            folder=default_cache_folder() if place is None else Path(place).expanduser(),
            setting="judge.cache_dir" if model.cache_dir and model is not llm else "llm.cache_dir",
            max_bytes=int((model.cache_mb or llm.cache_mb or _CACHE_MB) * 1e6),
            writes=mode == "readwrite",
        )


def default_cache_folder() -> Path:
    """Source: XDG Base Directory Specification 0.8."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path("~/.cache").expanduser()) / "cairn"


# Not to another address: with `judge.base_url` the key of one server would be sent to another.
def openai_key(base_url: str | None, api: str) -> str | None:
    """The key in OPENAI_API_KEY, for OpenAI's own endpoint and no other.

    Args:
        base_url: None = that of the format's maker.
        api: The format.
    """
    is_openai = api in _OF_OPENAI if base_url is None else base_url.startswith(_OPENAI)
    return os.environ.get("OPENAI_API_KEY") if is_openai else None
