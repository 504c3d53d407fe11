"""Policies of odd types and sizes: each is one sentence that names file, task and field, from a file and from a journal."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from harness.main import main
from tests.played import click, records, write
from tests.plugins.policies.played import policy, task

KINDS = (
    *("is_url_match", "element_action_match", "is_program_html", "is_ask_the_user", "is_sensitive_data"),
    *("is_action_count", "is_input_hallucination", "is_sequence_match"),
)
FIELDS = (
    *("must_include", "must_include_action", "check_action_args", "element_selector", "element_selectors"),
    *("url_note", "reference_url", "check_absence", "required_contents", "program_html", "sensitive_data"),
    *("leak_only", "only_fill", "action_type", "global_count", "global_count_less_than", "action_sequence"),
    "matching_type",
)
VALUES: tuple[Any, ...] = (
    7,
    -1,
    1.5,
    True,
    "x" * 100_000,
    ["a", 7],
    [[]],
    [{}],
    {"a": {}},
    {"exact_match": 7},
    "\ud800",
    "__MOON__/x",
)
ODD: tuple[Any, ...] = (
    "x",
    7,
    [7],
    [[]],
    [{}],
    {"a": 1},
    [{"eval": []}],
    [{"eval": {"eval_types": {}}}],
    [{"eval": {"eval_types": [[]]}}],
    [{}] * 500,
)


def sentence(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said, without warnings of rich; "" = it was judged."""
    code = main(["policies", *arguments])
    said = capsys.readouterr().err.strip()
    assert code in (0, 2, 3) and "Traceback" not in said, (code, said[:3000])
    assert code != 2 or (said.count("\n") == 0 and len(said) < 1500), said[:3000]
    return said if code == 2 else ""


@pytest.fixture
def said_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[Any], str]:
    """What is said of policies in a task file."""
    of = task((), 5)
    run, path = write(tmp_path / "run", [records(of, [click("Delete")])]), tmp_path / "tasks.json"

    def said(policies: Any) -> str:
        path.write_text(json.dumps([{"task_id": 5, "policies": policies}]))
        return sentence(capsys, str(run), "--tasks", str(path), "--json")

    return said


def test_of_a_file(said_of: Callable[[Any], str]) -> None:
    for odd in ODD:
        assert "tasks.json: task 5: field `policies" in said_of(odd), odd


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_of_a_field_of_an_evaluator(said_of: Callable[[Any], str], kind: str) -> None:
    for name, value in product(FIELDS, VALUES):
        if said := said_of([{"eval": {"eval_types": [kind], name: value}}]):
            assert "tasks.json" in said, (name, value, said)


@pytest.mark.parametrize("odd", ODD)
def test_of_a_journal_that_somebody_else_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: Any) -> None:
    of = replace(task([policy("element_action_match", must_include="delete")]), metadata={"policies": odd})
    run = write(tmp_path / "run", [records(of, [click("Delete")])])
    assert "task 0: field `policies" in sentence(capsys, str(run))
