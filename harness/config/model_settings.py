"""The settings of a model: the one under test, and the judge."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from omegaconf import MISSING

from harness.config.agent_settings import PluginConfig
from harness.config.schema_fields import Tree, setting

_OPENAI = "https://api.openai.com/"


@dataclass
class ModelConfig:
    """What both have."""

    kind: str = "openai"
    """`openai`: any endpoint that speaks `api`; `azure`: OpenAI's interfaces at Azure."""
    api: str = setting("chat", added=True)
    """The wire format: `chat` (chat completions), `responses` (OpenAI's), `messages` (Anthropic's), or the name of an
    installed provider.
    """
    base_url: str | None = setting(None, measured=False, named=False)
    """Null = that of the interface's maker."""
    api_key: str | None = setting(None, measured=False, named=False)
    headers: dict[str, str] = setting(factory=dict, measured=False, named=False)
    """Sent with every request, as `OpenAI-Organization`; their values are secrets."""
    api_version: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_tokens_field: str = "max_tokens"
    """Of chat completions. With this default reasoning models (o-series, gpt-5) get `max_completion_tokens`, with room
    for their reasoning, and neither temperature nor top_p, which they refuse; so in the other interfaces.
    """
    reasoning_effort: str | None = setting(None, added=True)
    """Sent as it is (`low`, `medium`, `high`, …); null = not sent."""
    seed: int | None = setting(None, added=True)
    """Sent as it is, for endpoints that sample by it."""
    extra_body: Tree = setting(factory=dict, added=True)
    """Further keys of the request, as the endpoint documents them: `+llm.extra_body.KEY=VALUE`."""
    timeout_s: float = setting(120.0, measured=False)
    max_attempts: int = setting(8, measured=False)
    max_retry_s: float = setting(600.0, measured=False)
    """Retries of one request end after this long."""
    max_answer_mb: float = setting(32.0, measured=False)
    """A longer answer of the endpoint is refused, and only its own task fails; decompressed."""
    max_concurrency: int | None = setting(None, measured=False)
    """Requests at once, over all workers; null = no limit of ours. So the next two."""
    requests_per_minute: float | None = setting(None, measured=False)
    """Null = what the endpoint lets through, which is found out; tokens likewise."""
    tokens_per_minute: float | None = setting(None, measured=False)
    prices: str | None = setting(None, measured=False)
    """YAML of prices per million tokens; null = `configs/prices.yaml`; for the judge, `llm.prices`."""
    cache: str | None = setting(None, measured=False, named=False)
    """Reply cache: `off`, `read`, or `readwrite`; null = `off`, for the judge as `llm.cache`."""
    cache_dir: str | None = setting(None, measured=False, named=False)
    """Its folder; null = `cairn` in the person's cache folder (`~/.cache`), for the judge as `llm.cache_dir`."""
    cache_mb: float = setting(2048.0, measured=False, named=False)
    """Of all replies in it; beyond, the least recently used ones are removed."""


@dataclass
class LlmConfig(PluginConfig, ModelConfig):
    """The model under test; `_target_` is a `ModelProvider` of the person's own, which takes the place of `api`."""

    kind: str = "openai"
    """Also `scripted` (starts the embedded endpoint), or `none` (for agents that ask no model)."""
    name: str = MISSING
    model: str = setting(MISSING, named=False)
    step: int = 0
    """Which checkpoint of a model in training this is; a label for `tracking`."""
    max_outage_s: float = setting(3600.0, measured=False)
    """The run pauses this long for an endpoint that stays down, before tasks are given up."""
    plans: str | None = setting(None, measured=False, named=False)
    """Scripted only: plan file."""
    faults: list[Any] = setting(factory=list, measured=False)
    """Scripted only: faults to inject, by rule."""
    latency_ms: int = setting(0, measured=False)
    """Scripted only: how long an answer takes."""


@dataclass
class JudgeConfig(PluginConfig, ModelConfig):
    """The endpoint that judges `fuzzy_match`; null model = no judge, unless there is a class for it.

    It is asked as WebArena asks its own: temperature 0, and at most 768 tokens.
    """

    model: str | None = None
    kind: str = setting("openai", added=True)
    api_version: str | None = setting(None, added=True)
    temperature: float | None = setting(0.0, added=True)
    top_p: float | None = setting(None, added=True)
    max_tokens: int | None = setting(768, added=True)
    max_tokens_field: str = setting("max_tokens", added=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """What the settings say of the reply cache of a model."""

    folder: Path
    setting: str
    """Name of the setting that says so."""
    max_bytes: int
    writes: bool

    @classmethod
    def of(cls, model: ModelConfig, llm: ModelConfig) -> Self | None:
        """Of the model under test (`llm` itself) or of the judge; None = it has none."""
        mode = model.cache or llm.cache or "off"
        if mode == "off":
            return None
        place = model.cache_dir or llm.cache_dir
        return cls(
            folder=default_cache_folder() if place is None else Path(place).expanduser(),
            setting="judge.cache_dir" if model.cache_dir and model is not llm else "llm.cache_dir",
            max_bytes=int(model.cache_mb * 1e6),
            writes=mode == "readwrite",
        )


def default_cache_folder() -> Path:
    """Source: XDG Base Directory Specification 0.8."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path("~/.cache").expanduser()) / "cairn"


def openai_key(base_url: str | None) -> str | None:
    """The key in OPENAI_API_KEY, for OpenAI's own endpoint and no other."""
    return os.environ.get("OPENAI_API_KEY") if base_url is None or base_url.startswith(_OPENAI) else None
