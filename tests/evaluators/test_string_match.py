"""Answers against references: WebArena's rules, and where the corrected ones differ."""

import asyncio
import threading
from typing import Any

import pytest

from harness.evaluators import Scorer
from harness.evaluators.string_match import string_match
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.records import Status
from tests.evaluators.evidence import closed, task


async def values(references: dict[str, Any], answer: str) -> tuple[float | None, float | None]:
    """The score in both dialects: webarena, corrected."""
    judged = task("string_match", reference_answers=references)
    scores = [
        await Scorer(dialect).score(judged, closed(answer), MemoryArtifacts()) for dialect in ("webarena", "corrected")
    ]
    return scores[0].value, scores[1].value


BOTH = (
    "Yes. No.",
    "yes/no",
    "Both yes and no",
    "No, yes!",
    "'Yes' or 'no'",
    "yes\nno",
    "**Yes** | **No**",
    "It is yes; it is no",
)
YES = (
    "Yes.",
    "Yes, with no traffic",
    "yes, bus No. 61 goes there",
    "The answer is: yes",
    "**Yes**, no doubt",
    "Yes, I know",
)
NOT_BERGEN = ("It is not Bergen", "it isn't in 'Bergen'", "neither Oslo nor Bergen", "It is not called Bergen.")
BERGEN = ("It is not Oslo, it is Bergen", "not Bergen at first; now Bergen", "Is it? Not sure: Bergen")


@pytest.mark.sample(24)
@pytest.mark.parametrize(
    ("references", "answer", "webarena", "corrected"),
    [
        ({"exact_match": "Lamp"}, " 'LAMP' ", 1.0, 1.0),
        ({"exact_match": "Lamp"}, "the lamp", 0.0, 0.0),
        ({"exact_match": "x"}, "'\"x\"'", 1.0, 0.0),  # quotes are taken off once
        ({"exact_match": "straße"}, "STRASSE", 0.0, 0.0),
        ({"must_include": ["red", "lamp"]}, "a lamp in Red", 1.0, 1.0),
        ({"must_include": ["red", "lamp"]}, "a lamp", 0.0, 0.0),
        ({"must_include": ["65 |OR| 3"]}, "3", 0.0, 1.0),  # alternatives
        ({"must_include": ["65 |OR| 3"]}, "4", 0.0, 0.0),
        ({"must_include": ["0"]}, "there are 0. what else", 0.0, 1.0),  # the sentence splitter's number rule
        ({"must_include": ["0"]}, "10", 0.0, 0.0),
        ({"must_include": ["0"]}, "count:0", 0.0, 1.0),
        ({"must_include": ["12"]}, "112 or 12.5 or 1,012 or x12 or 12:30 or 2023-12-01", 1.0, 0.0),  # numbers
        ({"must_include": ["12"]}, "$12.00", 1.0, 1.0),
        ({"must_include": ["12", "x"]}, "x 12!", 1.0, 1.0),
        ({"must_include": ["1000"]}, "1,000 in all", 0.0, 1.0),
        ({"must_include": ["40.442"]}, "40.4427, -79.9", 1.0, 1.0),
        ({"must_include": ["3.50"]}, "13.50", 1.0, 0.0),
        ({"must_include": ["-5"]}, "5", 0.0, 0.0),
        *(({"must_include": ["Yes"]}, answer, 1.0, 0.0) for answer in BOTH),
        *(({"must_include": ["No"]}, answer, 1.0, 0.0) for answer in (*BOTH, "I know", "not yes, no: it is yes")),
        *(({"must_include": ["Yes"]}, answer, 1.0, 1.0) for answer in YES),
        *(({"must_include": ["Bergen"]}, answer, 1.0, 0.0) for answer in NOT_BERGEN),
        *(({"must_include": ["Bergen"]}, answer, 1.0, 1.0) for answer in BERGEN),
        ({"must_include": ["12"]}, "it is not 12", 1.0, 0.0),
        ({"must_include": ["12"]}, "it is not 12 now, but will be 12", 1.0, 1.0),
        ({"must_include": ["5"]}, "1-5", 0.0, 0.0),
        ({"must_include": [""]}, "x", 1.0, 1.0),
        ({"exact_match": "a", "must_include": ["b"]}, "b", 0.0, 0.0),
        ({"unheard_of": "a"}, "b", 1.0, 1.0),
        ({}, "", 1.0, 1.0),
    ],
)
async def test_dialects(references: dict[str, Any], answer: str, webarena: float, corrected: float) -> None:
    assert await values(references, answer) == (webarena, corrected)


async def test_only_webarena_lets_not_achievable_forget_an_earlier_miss() -> None:
    class Agreeing:
        async def fuzzy(self, *, pred: str, reference: str, question: str) -> bool:
            return True

        async def ua(self, *, pred: str, reference: str, question: str) -> bool:
            return True

    judged = task("string_match", reference_answers={"must_include": ["zzz"], "fuzzy_match": "N/A"})
    assert (await string_match(judged, "because", Agreeing(), "webarena")).value == 1.0
    assert (await string_match(judged, "because", Agreeing(), "corrected")).value == 0.0


@pytest.mark.parametrize(
    "references",
    [
        None,
        {"exact_match": ["x"]},
        {"must_include": "x"},
        {"must_include": {"x": 1}},
        {"must_include": [1]},
        {"fuzzy_match": "maybe"},
        {"fuzzy_match": None},
    ],
)
@pytest.mark.parametrize("dialect", ["webarena", "corrected"])
async def test_references_of_the_wrong_shape_are_errors(references: Any, dialect: str) -> None:
    judged = task("string_match", reference_answers=references)
    scored = await Scorer(dialect).score(judged, closed("x"), MemoryArtifacts())
    assert (scored.status, scored.value) == (Status.ERROR, None)


async def test_the_token_rule_is_applied_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its import takes a second or more, in which a worker would miss its heartbeats."""
    asked, goes_on = threading.Event(), threading.Event()

    def tokens(text: str) -> list[str]:
        asked.set()
        assert goes_on.wait(timeout=600), "the event loop waits for it"
        return text.replace(".", " .").split()

    monkeypatch.setattr("harness.evaluators.text_match._tokenizer", lambda: tokens)
    scoring = asyncio.create_task(values({"must_include": ["4"]}, "They were 4."))
    assert await asyncio.to_thread(asked.wait, 60)
    goes_on.set()
    assert await scoring == (1.0, 1.0)
