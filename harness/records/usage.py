"""What requests to models cost."""

from dataclasses import dataclass

from harness.records.optional import optional


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one decision, or a sum of them, cost."""

    prompt_tokens: int = 0
    """Of all requests, cached ones included."""
    completion_tokens: int = 0
    """Of all replies, reasoning included."""
    cost_usd: float = 0.0
    """0.0 also when the model has no price; `priced` tells the two apart."""
    priced: bool = True
    """Whether the price of every request is known."""
    requests: int = 0
    """HTTP requests made, retries included."""
    cached_tokens: int = optional(0)
    """Of the prompt's: read from the provider's cache."""
    cache_write_tokens: int = optional(0)
    """Of the prompt's: written into it."""
    reasoning_tokens: int = optional(0)
    """Of the completion's: spent on reasoning."""
    saved_usd: float = optional(0.0)
    """How much more it would have cost without the cache; negative when writing cost more than reading saved."""
    from_cache: int = optional(0)
    """Replies from Cairn's reply cache: their tokens are counted here, and they cost nothing."""

    @property
    def tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def without(self, part: "Usage") -> "Usage":
        """What is left of it when `part`, which it contains, is counted elsewhere; `priced` stays as it is."""
        return Usage(
            prompt_tokens=max(0, self.prompt_tokens - part.prompt_tokens),
            completion_tokens=max(0, self.completion_tokens - part.completion_tokens),
            # Differences of floats: a sum less its parts may be a little below 0.
            cost_usd=max(0.0, self.cost_usd - part.cost_usd),
            priced=self.priced,
            requests=max(0, self.requests - part.requests),
            cached_tokens=max(0, self.cached_tokens - part.cached_tokens),
            cache_write_tokens=max(0, self.cache_write_tokens - part.cache_write_tokens),
            reasoning_tokens=max(0, self.reasoning_tokens - part.reasoning_tokens),
            saved_usd=self.saved_usd - part.saved_usd,
            from_cache=max(0, self.from_cache - part.from_cache),
        )

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            priced=self.priced and other.priced,
            requests=self.requests + other.requests,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            saved_usd=self.saved_usd + other.saved_usd,
            from_cache=self.from_cache + other.from_cache,
        )
