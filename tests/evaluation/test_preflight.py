"""What is said before a run of settings that ask for what they cannot have."""

import pytest

from harness.cli import configured
from harness.evaluation.preflight import missing_price

pytestmark = pytest.mark.integration
PAID = ("llm=openai", "llm.model=new-model")


@pytest.mark.parametrize("limit", ["run.max_cost_usd", "limits.max_cost_usd"])
def test_a_limit_of_cost_that_a_model_without_a_price_never_reaches_is_told(limit: str) -> None:
    said = missing_price(configured([*PAID, f"{limit}=5"]))
    assert f"llm.model=new-model has no price, so its replies count as free for {limit}," in said


@pytest.mark.parametrize(
    "words",
    [
        (*PAID,),
        ("llm=openai", "llm.model=gpt-4o", "run.max_cost_usd=5"),
        ("run.max_cost_usd=5",),
        ("agent=null", "llm=none", "run.max_cost_usd=5"),
    ],
    ids=["no limit", "a price", "the demo", "no model"],
)
def test_nothing_is_said_where_a_limit_holds(words: tuple[str, ...]) -> None:
    assert not missing_price(configured([*words]))
