"""What of a prompt the endpoint has seen before, counted as providers count it.

OpenAI caches without being asked: prefixes of 1024 tokens and more, in steps of 128. Anthropic caches what a request
marks, of 1024 tokens and more. Kept while the endpoint runs, for all requests to a model, so that a count is never of a
prefix that was not sent. Nothing but token counts depends on it.

Source: https://platform.openai.com/docs/guides/prompt-caching,
https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

LEAST = 1024
STEP = 128
_CHARACTERS = 4
"""Of a token."""
_MOST = 200_000
"""Prefixes that are remembered; the oldest are forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of a prompt."""

    text: str
    mark: bool = False
    """It ends with a breakpoint of Anthropic's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedPrompt:
    total: int
    read: int = 0
    """Of these: were in the cache."""
    written: int = 0
    """Of these: are in it from now on (Anthropic only counts them)."""


class PromptCache:
    """All prefixes that were sent."""

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def count(self, model: str, segments: Sequence[Segment], *, marked: bool) -> CachedPrompt:
        """Count a prompt and remember it; `marked`: only up to breakpoints."""
        total = sum(-(-len(segment.text) // _CHARACTERS) for segment in segments)
        prefixes = list(_marked(model, segments) if marked else _stepped(model, segments))
        read = max((tokens for tokens, key in prefixes if key in self._known), default=0)
        for _, key in prefixes:
            self._known[key] = None
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]
        longest = max((tokens for tokens, _ in prefixes), default=0)
        read = min(read, total)
        return CachedPrompt(total=total, read=read, written=min(longest, total) - read if marked else 0)


def _marked(model: str, segments: Sequence[Segment]) -> Iterator[tuple[int, bytes]]:
    """Tokens and name of each prefix that ends with a breakpoint."""
    seen, tokens = sha256(model.encode()), 0
    for segment in segments:
        seen.update(segment.text.encode("utf-8", "replace") + b"\0")
        tokens += -(-len(segment.text) // _CHARACTERS)
        if segment.mark and tokens >= LEAST:
            yield tokens, b"m" + seen.digest()


def _stepped(model: str, segments: Sequence[Segment]) -> Iterator[tuple[int, bytes]]:
    """Tokens and name of each prefix of whole steps."""
    text = "\0".join(segment.text for segment in segments)
    seen = sha256(model.encode())
    width = STEP * _CHARACTERS
    for start in range(0, len(text) - width + 1, width):
        seen.update(text[start : start + width].encode("utf-8", "replace"))
        if (tokens := (start + width) // _CHARACTERS) >= LEAST:
            yield tokens, b"s" + seen.digest()
