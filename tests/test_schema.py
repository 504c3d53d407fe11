"""The published JSON Schema is that of the records, and real lines keep to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from harness.codec import dumps
from harness.codec.schema import journal_schema
from tests.reports.runs import assorted, fill

PUBLISHED = Path(__file__).resolve().parent.parent / "docs" / "schema" / "journal.schema.json"


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Every line of a run of all kinds of episodes."""
    folder = fill(tmp_path_factory.mktemp("results") / "run", assorted(40), screenshots=False)
    return [json.loads(line) for path in folder.glob("*.traj.jsonl") for line in path.read_bytes().split(b"\n")[:-1]]


def test_the_published_schema_is_up_to_date() -> None:
    said = "make docs writes it again: python -m harness.codec.schema > docs/schema/journal.schema.json"
    assert PUBLISHED.read_bytes() == dumps(journal_schema(), pretty=True), said


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(json.loads(PUBLISHED.read_bytes()))


def test_real_lines_keep_to_it(lines: list[dict[str, Any]]) -> None:
    validator = Draft202012Validator(json.loads(PUBLISHED.read_bytes()))
    assert {line["kind"] for line in lines} == {"opened", "acted", "decided", "closed", "scored", "failed", "resumed"}
    for line in lines:
        validator.validate(line)


@pytest.mark.parametrize(
    "change", [{"kind": "other"}, {"schema": 99}, {"crc": "xyz"}, {"surplus": 1}, {"at": "yesterday"}]
)
def test_other_lines_do_not(lines: list[dict[str, Any]], change: dict[str, Any]) -> None:
    validator = Draft202012Validator(json.loads(PUBLISHED.read_bytes()))
    assert not validator.is_valid({**lines[0], **change})


def test_what_is_said_of_a_field_comes_from_the_record() -> None:
    opened = next(one for one in journal_schema()["oneOf"] if one["title"] == "Opened")
    assert opened["properties"]["attempt"]["description"] == "1-based."
    assert opened["required"][-2:] == ["schema", "crc"]
