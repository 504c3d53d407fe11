"""Endpoints of models, the providers that can be chosen, and what was exchanged with them, as it is recorded.

For models and trainers of one's own, and for exports and trackers that read recorded requests.
"""

from harness.llm.answer import mappings
from harness.llm.endpoint import NO_KEY, OPENAI_URL, Endpoint
from harness.llm.event_stream import events_in, read_any, was_streamed
from harness.llm.providers import maker_of, provider_of
from harness.llm.providers import names as provider_names
from harness.llm.recorded_answer import calls_of, tokens_of, tools_of
from harness.llm.request_frame import frame_of, kept_of

__all__ = [
    "NO_KEY",
    "OPENAI_URL",
    "Endpoint",
    "calls_of",
    "events_in",
    "frame_of",
    "kept_of",
    "maker_of",
    "mappings",
    "provider_names",
    "provider_of",
    "read_any",
    "tokens_of",
    "tools_of",
    "was_streamed",
]
