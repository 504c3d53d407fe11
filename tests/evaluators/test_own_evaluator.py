"""An evaluator of the person's own: whatever it raises or gives costs its verdict, and no other task."""

import asyncio
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from harness.api import Artifacts, Closed, Finding, Task
from harness.evaluators.scorer import Scorer
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.records import Status, Verdict
from harness.testing import a_task, closed


class Mute(Exception):
    """One that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Panic(BaseException):
    """As an extension in Rust raises."""


class Own:
    def __init__(self, found: Any) -> None:
        self.found = found

    async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
        if isinstance(self.found, BaseException):
            raise self.found
        found: Finding = self.found
        return found


async def verdict(found: Any) -> Verdict:
    scorer = Scorer("corrected", further={"own": Own(found)})
    scored = await scorer.score(a_task(eval_types=("own",)), closed("x"), MemoryArtifacts())
    return scored.verdicts[0]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ValueError("no table"), "evaluator own raised ValueError: no table"),
        (Mute(), "evaluator own raised Mute: "),
        (SystemExit(0), "evaluator own raised RuntimeError: it called sys.exit(0)"),
        (Panic("index out of bounds"), "evaluator own raised Panic: index out of bounds"),
        (asyncio.CancelledError(), "evaluator own raised CancelledError: "),
        (BaseExceptionGroup("two", [Panic()]), "evaluator own raised BaseExceptionGroup: two (1 sub-exception)"),
    ],
)
async def test_what_it_raises_leaves_its_verdict_out(error: BaseException, why: str) -> None:
    said = await verdict(error)
    assert (said.status, said.value, said.why) == (Status.ERROR, None, why)


async def test_a_cancellation_and_an_interrupt_pass() -> None:
    with pytest.raises(KeyboardInterrupt):
        await verdict(KeyboardInterrupt())

    class Waits(Own):
        async def evaluate(self, task: Task, closed: Closed, artifacts: Artifacts, /) -> Finding:
            await asyncio.Event().wait()
            raise AssertionError

    scorer = Scorer("corrected", further={"own": Waits(None)})
    scoring = asyncio.create_task(scorer.score(a_task(eval_types=("own",)), closed("x"), MemoryArtifacts()))
    await asyncio.sleep(0)
    scoring.cancel()
    with pytest.raises(asyncio.CancelledError):
        await scoring


@pytest.mark.parametrize("value", [0.5, Fraction(1, 2)])
async def test_any_real_number_is_a_value(value: Any) -> None:
    """As those of numpy are, which are no int or float."""
    said = await verdict(Finding(value=value, why="half"))
    assert (said.status, said.value, type(said.value)) == (Status.OK, 0.5, float)


@pytest.mark.parametrize("value", ["1", None, Decimal("0.5"), 2.0, -1, float("nan")])
async def test_what_is_no_number_from_0_to_1_is_none(value: Any) -> None:
    said = await verdict(Finding(value=value, why=""))
    assert said.status is Status.ERROR and said.why.endswith("a value is a number from 0 to 1")
