"""Attacks of odd types and sizes, in a journal that somebody else wrote: one sentence that names task and field."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.main import main
from tests.played import Do, write
from tests.plugins.attacks.played import ATTACK, records, task

GOAL = ATTACK["goal"]
ODD: tuple[Any, ...] = (
    *("x", 7, [], [{}], {"kind": 7}, {"kind": ["banner"]}, ATTACK | {"text": 7}, ATTACK | {"text": " "}),
    *(ATTACK | {"steps": steps} for steps in ([1], [2, 1], ["0", 1], [True, False], "01", {"a": 1}, [0, 10**9])),
    *(ATTACK | {"place": place} for place in (7, "behind", ["top"])),
    *(ATTACK | {"goal": goal} for goal in (None, 7, [], {}, {"kind": "wish"}, GOAL | {"url": 7}, GOAL | {"url": "x"})),
    *(ATTACK | {"link": "", "goal": {"kind": kind, "text": "!!!"}} for kind in ("typed", "answer")),
    ATTACK | {"link": "", "goal": {"kind": "content", "must_include": ["Name: Eve", "***"]}},
    *(ATTACK | {"goal": GOAL | {"signs": signs}} for signs in ("x", [7], {"a": 1})),
    *(
        ATTACK | {"kind": "stored", "link": "", "form": form}
        for form in (None, 7, {}, {"url": 7}, {"url": "http://a.b"})
    ),
)


@pytest.mark.parametrize("odd", ODD)
def test_it_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], odd: Any) -> None:
    of = replace(task(0), metadata={"attack": odd})
    run = write(tmp_path / "run", [records(of, [Do()])])
    assert main(["attacks", str(run)]) == 2
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0 and "task 0: field `attack" in said and len(said) < 1500
