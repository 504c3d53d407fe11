"""What people are told of a provider's cache."""

import pytest

from harness.records import Usage
from harness.runs.figures import further
from harness.runs.statistics import Group


@pytest.mark.parametrize(
    ("usage", "said"),
    [
        (Usage(prompt_tokens=1000), ""),
        (Usage(prompt_tokens=1000, cached_tokens=625), "62.5% of prompt tokens"),
        (Usage(prompt_tokens=1000, cached_tokens=625, saved_usd=1.25), "62.5% of prompt tokens, saved $1.25"),
        (
            Usage(prompt_tokens=1000, cache_write_tokens=800, saved_usd=-0.002),
            "0.0% of prompt tokens, cost $0.0020 more",
        ),
        (Usage(cached_tokens=5), "500.0% of prompt tokens"),
    ],
)
def test_share_and_what_it_saved(usage: Usage, said: str) -> None:
    assert further(Group(usage=usage)) == ((f"prompt cache: {said}",) if said else ())
