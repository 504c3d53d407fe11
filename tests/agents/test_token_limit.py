"""Cutting by tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.agents.token_limit import _TOKEN, trim


def count_tokens(text: str) -> int:
    return len(_TOKEN.findall(text))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("word", 1), ("words", 2), ("a b", 2), ("it's", 3), ("\t\t[1] x", 5), ("茶葉", 2), ("a\n\n\tb", 3)],
)
def test_tokens_are_counted_by_the_stated_rule(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_what_fits_exactly_is_left_alone() -> None:
    assert trim("one two\nsix", 4) == "one two\nsix"
    assert trim("one two\nsix", 0) == "one two\nsix"


def test_the_cut_is_at_a_line_and_told() -> None:
    assert trim("one two\nsix\nten", 4) == "one two\n(cut here: 2 more lines exceed the token limit)"


def test_a_single_line_too_long_is_cut_inside() -> None:
    assert trim("aaaa bbbb cccc", 2) == "aaaa bbbb\n(cut here: 1 more line exceeds the token limit)"


@given(st.text(), st.integers(min_value=1, max_value=20))
def test_what_is_kept_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    cut = trim(text, limit)
    if count_tokens(text) <= limit:
        assert cut == text
    else:
        kept, newline, _ = cut.rpartition("\n")
        assert newline and text.startswith(kept) and count_tokens(kept) <= limit
