"""What a reader must know to believe a rate stands in one place, whatever is missing or forged."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.codec import dumps
from harness.records import Usage
from harness.reports.basis import basis, facts, sentence
from harness.runs.judge_error import JudgeUse
from harness.runs.statistics import Group, statistics_of

NOTHING = statistics_of([])
COUNTS = replace(
    NOTHING,
    all=Group(usage=Usage(requests=3, from_cache=1), divergences=2, unscored=4),
    judges=(JudgeUse(judge="m", prompt="p", episodes=5),),
)
RUN = {
    "harness": "1.0",
    "revision": {"commit": "abcdef0123456789", "dirty": True},
    "browser": {"program": "chrome", "version": "Chromium 140"},
    "packages": {"playwright": "1.50"},
    "sites": {"shop": "sha256:aa", "forum": None},
    "agent": "prompt",
    "model": "m-1",
    "prompt": "0123456789abcdef",
    "earlier": [{}],
}


def test_it_names_everything(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(dumps(RUN))
    (tmp_path / "drift.jsonl").write_bytes(b"{}\n{}\n")
    said = dict(facts(basis(tmp_path, "corrected", COUNTS)))
    assert said["Cairn"] == "1.0, revision abcdef012345, with uncommitted changes"
    assert said["browser"] == "Chromium 140" and said["sites"] == "shop sha256:aa; no version declared: forum"
    assert said["agent"] == "prompt, model m-1, prompt 0123456789ab" and said["scoring"] == "corrected"
    assert (said["from the reply cache"], said["divergences"], said["unscored"]) == ("25.0%", "2", "4")
    assert "its error is not known" in said["judge"] and len(said["packages"]) == 12
    assert (said["earlier environments"], said["accepted drifts"]) == ("1", "2")


@pytest.mark.parametrize(
    "content",
    [None, b"", b"[]", b"{}", dumps({name: [1] for name in RUN}), dumps({"sites": {"a": {"b": 1}}, "revision": 3})],
)
def test_what_is_missing_or_forged_is_unknown(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    said = dict(facts(basis(tmp_path, "corrected", COUNTS)))
    assert said["browser"] == "unknown" and said["Cairn"].startswith("unknown, revision unknown")


def test_the_line_below_the_table_is_short_and_leaves_out_what_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(dumps(RUN | {"sites": {"forum": None}, "earlier": []}))
    said = sentence(basis(tmp_path, "corrected", NOTHING))
    assert said == (
        "made with: Cairn 1.0 (abcdef012345, uncommitted changes), Chromium 140, agent prompt, model m-1;"
        " summary.json has the digests"
    )
    (tmp_path / "run.json").write_bytes(dumps(RUN))
    said = sentence(basis(tmp_path, "corrected", COUNTS))
    for part in ("shop sha256:aa", "25.0% from the reply cache", "divergences: 2", "earlier environments: 1"):
        assert part in said
    assert "forum" not in said


def test_it_stays_on_a_line_of_bounded_length(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(dumps(RUN | {"agent": "x\n\x1b[2J" * 1000}))
    said = sentence(basis(tmp_path, "corrected", COUNTS))
    assert "\n" not in said and len(said) < 1500
