"""What tokens cost, by a table the user owns.

A model that is not in the table has no price: its cost is 0 and marked as unpriced, never guessed. Prices are upper
bounds where an endpoint gives discounts (cached prompts, batches), which this table does not know.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import ConfigError
from harness.records import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    prompt_per_mtok: float
    completion_per_mtok: float


_DEAREST = 1e9


def read_prices(table: Mapping[str, Any], source: str) -> dict[str, Price]:
    """Turn `{model: {prompt, completion}}` (US dollars per million tokens) into prices.

    Args:
        table: Plain data, as read from the YAML.
        source: Its name in error messages.
    Raises:
        ConfigError: An entry is not two numbers of at least 0.
    """
    return {str(model): _price(entry, f"{source}: {model}") for model, entry in table.items()}


def _price(entry: Any, place: str) -> Price:
    if not isinstance(entry, Mapping) or set(entry) != {"prompt", "completion"}:
        raise ConfigError(f"{place}: expected exactly the keys prompt and completion, in US dollars per million tokens")
    for key in ("prompt", "completion"):
        value = entry[key]
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _DEAREST:
            raise ConfigError(f"{place}: {key} must be a number from 0 to {_DEAREST:,.0f}, not {value!r}")
    return Price(prompt_per_mtok=float(entry["prompt"]), completion_per_mtok=float(entry["completion"]))


def with_cost(usage: Usage, price: Price | None) -> Usage:
    """The same usage with its cost; without a price it says so."""
    cost = 0.0
    if price is not None:
        cost = usage.prompt_tokens * price.prompt_per_mtok + usage.completion_tokens * price.completion_per_mtok
    return Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost_usd=cost / 1e6,
        priced=price is not None,
        requests=usage.requests,
    )
