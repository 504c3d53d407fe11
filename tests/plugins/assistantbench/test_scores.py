"""AssistantBench's score beside its own code (`make test-published` installs it), and what the page names as different."""

import asyncio
import json
import math
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest

from harness.api import EvaluatorError
from harness.api.sealed_answers import seal
from harness.plugins.assistantbench.answer_score import MOST_CHARS, MOST_LINES, best_sum, score
from harness.plugins.assistantbench.assistantbench import NAME, AnswerScore
from harness.testing import MemoryArtifacts, a_task, closed
from tests.e2e.conftest import PROJECT
from tests.plugins.assistantbench import reference
from tests.plugins.assistantbench.cases import cases, negative

RECORDED = Path(__file__).with_name("scores.json")
PYTHON = PROJECT / ".venv-published/assistantbench/bin/python"
needs_package = pytest.mark.skipif(not PYTHON.exists(), reason="make test-published installs browsergym-assistantbench")


def theirs(pairs: list[tuple[str, str]]) -> list[float | None]:
    done = subprocess.run(
        [str(PYTHON), reference.__file__], input=json.dumps(pairs), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[float | None] = json.loads(done.stdout)
    return found


@needs_package
@pytest.mark.parametrize(("seed", "count"), [(1, 4000), (2, 4000)])
def test_scores_are_those_of_the_package(seed: int, count: int) -> None:
    pairs, kinds = list(cases(seed, count)), Counter[str]()
    for (answer, wanted), value in zip(pairs, theirs(pairs), strict=True):
        try:
            ours = score(answer, wanted)
        except EvaluatorError:
            kinds["refused"] += 1
            assert not value, "a reference is refused only where no answer scores"
            continue
        kinds["raises" if value is None else "full" if value == 1 else "none" if value == 0 else "part"] += 1
        assert ours == pytest.approx(value or 0.0, abs=1e-9), (answer[:300], wanted[:300])
    assert min(kinds[kind] for kind in ("raises", "full", "none", "part", "refused")) >= 100, kinds


@needs_package
def test_negative_numbers_score_by_the_formula_where_the_package_gives_more_than_1() -> None:
    pairs = list(negative(3, 200))
    more = 0
    for (number, wanted), value in zip(pairs, theirs([(str(one), str(other)) for one, other in pairs]), strict=True):
        ours = score(str(number), str(wanted))
        if value is not None and value > 1:
            more += 1
            formula = 0.0 if math.isinf(number) else max(0.0, 1 - abs(math.log(number / wanted)))
            assert ours == pytest.approx(formula) and ours < 1, (number, wanted)
        else:
            assert ours == pytest.approx(value), (number, wanted)
    assert more >= 50


@pytest.mark.sample(60)
@pytest.mark.parametrize(("answer", "wanted", "expected"), json.loads(RECORDED.read_bytes()))
def test_scores_are_those_that_the_package_gave(answer: str, wanted: str, expected: float) -> None:
    assert score(answer, wanted) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        *[(answer, "1") for answer in ("true", "[1]", '["1"]', "null", "[true]", "1e999", "1" * 400, f"[{'1' * 400}]")],
        *[("true", "true story"), ("false", "0"), ("-inf", "-3"), ("[" * 100_000, "12"), ("", "..."), ("{}", "...")],
        *[('[{"a": 1}, {}]', '{"a": 1}'), ('{"a": null}', '{"a": null}'), ('[{"a": 1}, 3]', '{"a": 1}')],
        *[(f'{{"a": {"1" * 400}}}', '{"a": 1}'), ('{"a": []}', '{"a": []}'), ('{"a": [1]}', '{"a": [1]}')],
        ("x" * (MOST_CHARS + 1), "x" * (MOST_CHARS + 1)),
    ],
)
def test_what_the_package_fails_on_scores_0(answer: str, wanted: str) -> None:
    assert score(answer, wanted) == 0.0


def test_nothing_is_cut() -> None:
    text = " ".join(f"w{number}" for number in range(40_000))
    assert len(text) > 200_000 and score(text, text) == 1.0
    items = [f"mug{number}" for number in range(1000)]
    assert score(json.dumps(items), "mug998\nmug999") == pytest.approx(2 / 1000)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        *[(" \u2003\n", "is empty"), ('["a", "b"]', "no object with fields"), ("3\n4", "no object with fields")],
        *[("{}", "no object with fields"), ("null", "no object with fields"), ("x\n" * (MOST_LINES + 1), "301 lines")],
    ],
)
def test_a_reference_that_no_answer_meets_is_an_error(wanted: str, why: str) -> None:
    with pytest.raises(EvaluatorError, match=why):
        score("x", wanted)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 5), (2, 7), (7, 2), (4, 60), (60, 4), (30, 30)])
def test_the_pairing_is_the_best_one(shape: tuple[int, int]) -> None:
    from random import Random

    from scipy.optimize import linear_sum_assignment

    draw = Random(3)
    for _ in range(20):
        table = [[draw.choice([0.0, 0.25, 0.5, draw.random()]) for _ in range(shape[1])] for _ in range(shape[0])]
        rows, columns = linear_sum_assignment(table, maximize=True)
        assert best_sum(table) == pytest.approx(
            sum(table[row][column] for row, column in zip(rows, columns, strict=True))
        )
    assert best_sum([]) == best_sum([[], []]) == 0.0


async def test_an_answer_is_scored_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lists take seconds: other episodes go on meanwhile."""
    goes_on = threading.Event()

    def scored(*_: str) -> float:
        asked.set()
        return float(goes_on.wait(timeout=600))

    asked = threading.Event()
    monkeypatch.setattr("harness.plugins.assistantbench.assistantbench.score", scored)
    task = a_task(**{f"eval.{NAME}": seal("mug", "1")})
    scoring = asyncio.create_task(AnswerScore().evaluate(task, closed("mug"), MemoryArtifacts()))
    await asyncio.to_thread(asked.wait, 60)
    goes_on.set()
    assert (await scoring).value == 1.0
