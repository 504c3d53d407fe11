"""What tokens cost, by a table the user owns.

A model that is not in the table has no price: its cost is 0 and marked as unpriced, never guessed. Tokens that were
read from the provider's cache, or written into it, have their own prices; where the table has none, they cost what
others do, so that a cost is an upper bound (as it is where an endpoint gives other discounts, for batches).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from harness.errors import ConfigError
from harness.records import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    prompt_per_mtok: float
    completion_per_mtok: float
    cached_per_mtok: float | None = None
    """Of the prompt's tokens that were read from the cache; None = as others."""
    cache_write_per_mtok: float | None = None
    """Of those that were written into it; None = as others."""
    cache_write_1h_per_mtok: float | None = None
    """Of those that it keeps for an hour; None = twice the prompt's, as Anthropic's, if writing has a price at all."""

    def surcharge(self, written: int, written_1h: int) -> float:
        """What writing so many tokens into the cache adds to their price, in millionths of a dollar.

        Args:
            written: All of them.
            written_1h: Those that are kept for an hour.
        """
        usual = _or(self.cache_write_per_mtok, self.prompt_per_mtok)
        doubled = usual if self.cache_write_per_mtok is None else _TIMES_1H * self.prompt_per_mtok
        hour = _or(self.cache_write_1h_per_mtok, doubled)
        return (written - written_1h) * (usual - self.prompt_per_mtok) + written_1h * (hour - self.prompt_per_mtok)


_DEAREST = 1e9
_TIMES_1H = 2
"""Source: https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching, Pricing."""
_REQUIRED, _FURTHER = {"prompt", "completion"}, {"cached", "cache_write", "cache_write_1h"}


def read_prices(table: Mapping[str, Any], source: str) -> dict[str, Price]:
    """Turn `{model: {prompt, completion[, cached][, cache_write][, cache_write_1h]}}` into prices.

    Args:
        table: Plain data, as read from the YAML; US dollars per million tokens.
        source: Its name in error messages.
    Raises:
        ConfigError: An entry is not two numbers of at least 0.
    """
    return {str(model): _price(entry, f"{source}: {model}") for model, entry in table.items()}


def _price(entry: Any, place: str) -> Price:
    if not isinstance(entry, Mapping) or not _REQUIRED <= set(entry) <= _REQUIRED | _FURTHER:
        raise ConfigError(
            f"{place}: expected the keys prompt and completion, and perhaps cached, cache_write and cache_write_1h,"
            " in US dollars per million tokens"
        )
    for key, value in entry.items():
        # A bool is an int in Python: `true` would be a price of 1.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _DEAREST:
            raise ConfigError(f"{place}: {key} must be a number from 0 to {_DEAREST:,.0f}, not {value!r}")
    return Price(**{f"{key}_per_mtok": float(value) for key, value in entry.items()})


def with_cost(usage: Usage, price: Price | None, *, written_1h: int = 0) -> Usage:
    """The usage with its cost and what the cache saved; without a price it says so.

    Args:
        usage: Of one answer.
        price: Of its model.
        written_1h: Tokens that the provider's cache keeps for an hour.
    """
    if price is None:
        return replace(usage, cost_usd=0.0, saved_usd=0.0, priced=False)
    cached, written = usage.cached_tokens, usage.cache_write_tokens
    discount = cached * (price.prompt_per_mtok - _or(price.cached_per_mtok, price.prompt_per_mtok))
    full = usage.prompt_tokens * price.prompt_per_mtok + usage.completion_tokens * price.completion_per_mtok
    saved = discount - price.surcharge(written, min(written_1h, written))
    return replace(usage, cost_usd=(full - saved) / 1e6, saved_usd=saved / 1e6, priced=True)


def _or(price: float | None, other: float) -> float:
    return other if price is None else price
