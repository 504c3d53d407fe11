"""The final page against the reference URL: as text for WebArena, as an address when corrected."""

import pytest

from harness.evaluators import Scorer
from harness.journal.memory_artifacts import MemoryArtifacts
from harness.records import Scored, Status
from tests.evaluators.evidence import closed, task


async def score(reference: str | None, url: str, dialect: str, note: str | None = None) -> Scored:
    judged = task("url_match", reference_url=reference, url_note=note)
    return await Scorer(dialect).score(judged, closed(url=url), MemoryArtifacts())


@pytest.mark.parametrize(
    ("reference", "url", "webarena", "corrected"),
    [
        ("http://h.test/a", "http://h.test/a/", 1.0, 1.0),
        ("http://h.test/a", "https://h.test/a/b?x=1#y", 1.0, 1.0),
        ("http://h.test/a", "http://h.test/b", 0.0, 0.0),
        ("http://h.test/a", "http://h.test/abc", 1.0, 0.0),  # segments
        ("http://h.test/a", "http://evil.test/h.test/a", 1.0, 0.0),  # hosts
        ("http://h.test/a", "http://www.h.test/a", 1.0, 0.0),
        ("http://h.test/a", "http://H.test:80/a", 0.0, 1.0),
        ("http://h.test:8023/a", "http://h.test/a", 0.0, 0.0),
        ("http://h.test", "http://h.test/any/page", 1.0, 1.0),
        ("http://h.test/a/?k=1", "http://h.test/a?k=1", 0.0, 1.0),  # slash before the query
        ("http://h.test/a%20b", "http://h.test/a b", 0.0, 1.0),
        ("http://h.test/a?k=1", "http://h.test/a?x=2&k=1", 1.0, 1.0),
        ("http://h.test/a?k=1", "http://h.test/a?k=2", 0.0, 0.0),
        ("http://h.test/a?k=1&k=2", "http://h.test/a?k=1", 1.0, 0.0),  # every value
        ("http://h.test/a?k=1", "http://h.test/a?k=1&k=2", 1.0, 0.0),  # no other value
        ("http://h.test/a?k=1", "http://h.test/a?k=1&k=1", 1.0, 1.0),
        ("http://h.test/a?k[]=1", "http://h.test/a?k%5B%5D=1&k[]=2", 1.0, 1.0),  # but in a list
        ("http://h.test/a?x=1 |OR| http://h.test/b", "http://h.test/b", 0.0, 1.0),  # each alternative its own query
        ("http://h.test/a?x=1 |OR| http://h.test/b?x=2", "http://h.test/a?x=2", 1.0, 0.0),
        ("http://h.test/a |OR| http://h.test/b", "http://h.test/b", 1.0, 1.0),
    ],
)
async def test_dialects(reference: str, url: str, webarena: float, corrected: float) -> None:
    assert (await score(reference, url, "webarena")).value == webarena
    assert (await score(reference, url, "corrected")).value == corrected


@pytest.mark.parametrize("dialect", ["webarena", "corrected"])
@pytest.mark.parametrize(
    ("reference", "url", "note"),
    [
        (None, "http://h.test", None),
        ("http://h.test", "http://[bad", None),
        ("http://h.test", "http://h.test", "gold in pred"),
        ("http://h.test", "http://h.test", ""),
    ],
)
async def test_what_cannot_be_compared_is_an_error(
    dialect: str, reference: str | None, url: str, note: str | None
) -> None:
    assert (await score(reference, url, dialect, note)).status is Status.ERROR


async def test_a_bad_port_is_an_error_only_where_ports_are_read() -> None:
    assert (await score("http://h.test", "http://h.test:x/", "webarena")).value == 1.0
    assert (await score("http://h.test", "http://h.test:x/", "corrected")).status is Status.ERROR
