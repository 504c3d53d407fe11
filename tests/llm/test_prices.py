"""The user's price table."""

from typing import Any

import pytest

from harness.errors import ConfigError
from harness.llm.prices import Price, read_prices


def test_a_table_is_read_per_million_tokens() -> None:
    assert read_prices({"m": {"prompt": 2, "completion": 0.5}}, "p.yaml") == {
        "m": Price(prompt_per_mtok=2.0, completion_per_mtok=0.5)
    }


@pytest.mark.parametrize(
    "entry",
    [
        1,
        {},
        {"prompt": 1},
        {"prompt": 1, "completion": -1},
        {"prompt": 1, "completion": float("nan")},
        {"prompt": True, "completion": 1},
        {"prompt": "1", "completion": 1},
        {"prompt": 1, "completion": 1, "x": 1},
    ],
)
def test_a_wrong_price_is_one_sentence_naming_file_and_model(entry: Any) -> None:
    with pytest.raises(ConfigError, match=r"p\.yaml: m: "):
        read_prices({"m": entry}, "p.yaml")
