"""The reply caches of a run, from its settings."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.journal.reply_cache import check_folder
from harness.llm.endpoint import Endpoint
from harness.settings.models import CacheSettings, JudgeSettings, LlmSettings, ModelSettings

_CREDENTIAL = re.compile(r"auth|key|token|cookie|secret|password|session", re.IGNORECASE)
"""Headers that say who asks, and not what is asked."""


def check_reply_caches(llm: LlmSettings, judge: JudgeSettings) -> None:
    """See that the folders can be used, before anything is paid.

    Raises:
        ConfigError: One cannot.
    """
    models: list[ModelSettings] = [llm] if llm.kind != "none" else []
    models += [judge] if judge.model else []
    # Refused at the start: without its cache a run would pay for what its owner does not want to pay.
    for model in models:
        if (cache := CacheSettings.of(model, llm)) is not None:
            check_folder(cache.folder, cache.setting, writes=cache.writes)


def address_of(settings: ModelSettings, endpoint: Endpoint) -> Mapping[str, Any]:
    """Whom a model is asked of, as part of the request: no credentials, and nothing that changes with each start."""
    headers = {name.lower(): value for name, value in endpoint.settings.headers.items() if not _CREDENTIAL.search(name)}
    return {
        "url": _embedded(settings) or endpoint.label,
        "api_version": endpoint.settings.api_version,
        "headers": sha256(repr(sorted(headers.items())).encode()).hexdigest() if headers else "",
    }


def _embedded(settings: ModelSettings) -> str:
    """The embedded endpoint has another port in each start; what it answers is in its plans."""
    if not (isinstance(settings, LlmSettings) and settings.kind == "scripted" and settings.base_url is None):
        return ""
    plans = Path(settings.plans).read_bytes() if settings.plans else b""
    return f"scripted:{sha256(plans).hexdigest()}"
