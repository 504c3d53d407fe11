"""Our evaluators beside VisualWebArena's own: recorded scores of the package, and the package itself where it is.

`make test-visualwebarena` builds the environment of the package, and compares thousands of further cases.
"""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harness.codec import dumps
from harness.evaluators.scorer import Scorer
from harness.plugins.visualwebarena.visualwebarena import VisualWebArena
from harness.records import Evidence
from harness.testing import MemoryArtifacts, closed
from tests.plugins.visualwebarena import reference
from tests.plugins.visualwebarena.cases import Case, cases
from tests.plugins.visualwebarena.ours import SHOP, score, task_of

RECORDED = Path(__file__).parent / "outcomes.json"
"""What the package's code (0.0.15) gave for `cases()`: `reference.py` wrote it. Null = an exception."""
PYTHON = Path(__file__).resolve().parents[3] / ".venv-visualwebarena/bin/python"


async def differing(
    chosen: list[Case], theirs: dict[str, float | None]
) -> list[tuple[str, float | None, float | None]]:
    ours = {case["id"]: await score(case) for case in chosen}
    assert ours.keys() == theirs.keys()
    return [(name, theirs[name], value) for name, value in ours.items() if value != theirs[name]]


def test_the_recorded_scores_are_of_every_kind() -> None:
    recorded = json.loads(RECORDED.read_bytes())
    for kind in ("string", "url", "html", "image"):
        found = [value for name, value in recorded.items() if name.startswith(kind)]
        assert len(found) >= 125 and {0.0, 1.0, None} == set(found), kind


@pytest.mark.slow
async def test_scores_are_those_that_the_package_gave() -> None:
    assert await differing(list(cases()), json.loads(RECORDED.read_bytes())) == []


@pytest.mark.skipif(not PYTHON.exists(), reason="make test-visualwebarena builds the environment of the package")
@pytest.mark.parametrize("seed", [5, 23])
async def test_scores_are_those_that_the_package_gives(seed: int) -> None:
    chosen = list(cases(seed, 1200))
    done = subprocess.run(  # noqa: ASYNC221 (nothing else runs meanwhile)
        [str(PYTHON), reference.__file__], input=json.dumps(chosen), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = json.loads(done.stdout)
    assert len(theirs) == 4200 and await differing(chosen, theirs) == []


PAGES = [
    {"value": "in the cart", "of": {"url": "last", "locator": ""}},
    {"value": "sent", "of": {"url": f"{SHOP}/sent"}},
]


def target(place: dict[str, str], text: str) -> dict[str, object]:
    return {**place, "required_contents": {"must_include": [text]}}


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("targets", "pages", "wanted"),
    [
        ([target({"url": f"{SHOP}/sent"}, "sent"), target({"url": "last", "locator": ""}, "cart")], PAGES, 1.0),
        ([target({"url": "last", "locator": ""}, "no such words")], PAGES, 0.0),
        ([target({"url": f"{SHOP}/other"}, "sent")], PAGES, None),
        ([target({"url": "last", "locator": ""}, "cart")], [{"value": "in the cart"}], 1.0),
        ([target({"url": "last", "locator": ""}, "cart")] * 2, [{"value": "in the cart"}], None),
    ],
)
async def test_a_corrected_task_finds_its_pages_wherever_they_stood(
    targets: list[object], pages: list[object], wanted: float | None
) -> None:
    """By what was looked at; evidence of older versions, which does not say that, only by its place."""
    artifacts, task = MemoryArtifacts(), task_of({"eval": {"eval_types": ["program_html"], "program_html": targets}})
    evidence = Evidence(url=SHOP, title="", html=None, benchmark=artifacts.put(dumps({"vwa_program_html": pages})))
    scorer = Scorer("corrected", None, further=VisualWebArena(shop=SHOP).evaluators())
    scored = await scorer.score(task, replace(closed(""), evidence=evidence), artifacts)
    assert scored.value == wanted
    assert (wanted is None) == ("was not looked at" in scored.verdicts[0].why)
