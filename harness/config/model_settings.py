"""The settings of a model: the one under test, and the judge."""

import os
from dataclasses import dataclass
from typing import Any

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
    """The interface: `chat` (chat completions), `responses` (OpenAI's) or `messages` (Anthropic's)."""
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


@dataclass
class LlmConfig(ModelConfig):
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


def openai_key(base_url: str | None) -> str | None:
    """The key in OPENAI_API_KEY, for OpenAI's own endpoint and no other."""
    return os.environ.get("OPENAI_API_KEY") if base_url is None or base_url.startswith(_OPENAI) else None
