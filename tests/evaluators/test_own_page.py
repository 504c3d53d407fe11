"""The agent's own page proves nothing that it only repeats, and nothing when it is no page of a site."""

from dataclasses import replace

import pytest

from harness.codec import dumps
from harness.evaluators import Scorer, own_page
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.records import HtmlTarget, Selected
from tests.evaluators.evidence import closed, html_task, task

SEARCH = "http://shop.localhost/search?q="


async def value(url: str, page: str, target: HtmlTarget, dialect: str = "corrected") -> float | None:
    artifacts = MemoryArtifacts()
    selected = Selected(index=0, url=url, content=artifacts.put(dumps(page)))
    return (await Scorer(dialect).score(html_task(target), closed(url=url, selected=(selected,)), artifacts)).value


WHOLE = HtmlTarget(url="last", must_include=("mouth guard",))


@pytest.mark.parametrize(
    ("url", "page", "expected"),
    [
        (f"{SEARCH}mouth+guard", "<h1>Results for Mouth  Guard</h1>", 0.0),
        (f"{SEARCH}jaw%20mouth%20guard", "<h1>Results for jaw mouth guard</h1>", 0.0),
        ("http://shop.localhost/#mouth%20guard", "<p>mouth guard</p>", 0.0),
        (f"{SEARCH}jaw+mouth+guard", "<h1>Results for jaw mouth guard</h1><a>Soft Mouth Guard</a>", 1.0),
        (f"{SEARCH}mouth+guard", "a MOUTH\n GUARD, mouth guard and\tmouth\tguards İ Mouth Guard", 0.0),
        (f"{SEARCH}mouth+guard", "mouth İ guard, mouth guard, outh guard and Mouth-Guard, mouth guar", 0.0),
        (f"{SEARCH}jaw", "<h1>Results for jaw</h1><a>Soft Mouth Guard</a>", 1.0),
        ("http://shop.localhost/mouth-guard.html", "<h1>Mouth Guard</h1>", 1.0),
        ("data:text/html,mouth guard", "<p>mouth guard</p>", 0.0),
        ("view-source:http://shop.localhost/", "<p>mouth guard</p>", 0.0),
        ("file:///tasks.json", "mouth guard", 0.0),
    ],
)
async def test_what_the_whole_page_of_an_agent_proves(url: str, page: str, expected: float) -> None:
    assert await value(url, page, WHOLE) == expected
    assert await value(url, page.replace("  ", " "), WHOLE, "webarena") == 1.0


async def test_a_page_is_split_into_words_once_however_many_values_its_address_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    split: list[str] = []

    def lower(text: str) -> str:
        split.append(text)
        return text.lower()

    monkeypatch.setattr(own_page, "_lower", lower)
    page = "<h1>Mouth guard 0</h1>, mouth guard 199, mouth  guard 7"
    url = SEARCH + "&q=".join(f"mouth+guard+{number}" for number in reversed(range(200)))
    assert await value(url, page, WHOLE) == 0.0
    assert sum("<h1>" in one for one in split) == 1
    assert await value(url, f"{page}, my mouth guard", WHOLE) == 1.0


async def test_pages_that_the_evaluator_opens_are_taken_as_they_are() -> None:
    own = HtmlTarget(url=f"{SEARCH}mouth+guard", must_include=("mouth guard",))
    assert await value(own.url, "<h1>Results for mouth guard</h1>", own) == 1.0


@pytest.mark.parametrize(("actions", "expected"), [(0, 0.0), (1, 1.0), (None, 1.0)])
async def test_not_achievable_counts_only_after_a_look(actions: int | None, expected: float) -> None:
    refusal = task("string_match", reference_answers={"fuzzy_match": "N/A"}, string_note="none")
    done = closed("N/A")
    done = replace(done, evidence=replace(done.evidence, actions=actions))
    assert (await Scorer("corrected").score(refusal, done, MemoryArtifacts())).value == expected
    assert (await Scorer("webarena").score(refusal, done, MemoryArtifacts())).value == 1.0
