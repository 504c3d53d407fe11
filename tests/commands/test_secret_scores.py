"""A secret never changes a score: not live, not after a kill, not by `harness score`, not by `harness verify`."""

import asyncio
import random
import re
from collections.abc import Collection
from pathlib import Path

import pytest

from harness.codec import loads
from harness.main import main
from harness.records import Status
from harness.secrets.redaction import Redactor
from tests.e2e.conftest import PROJECT
from tests.secret_rows import EVALUATORS, NAME, SECRETS, Scores, play, rows

ROWS = 36
"""Of each secret: three of each kind."""
FEW = 0.1
"""Part of all scores that may be named as not to be computed again. Most are of parts of a secret (`eeti` in `meeting`),
and of references that are encrypted."""
SETTINGS = [f"+evaluators.{name}._target_={kind.__module__}.{kind.__name__}" for name, kind in EVALUATORS.items()]
NAMED = "the evidence holds a secret ("
RECORDS = (PROJECT / "docs" / "schema" / "journal.schema.json").read_text()


@pytest.mark.slow
def test_a_secret_never_changes_a_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count, named = compared(["Maple", "p@ss/w?rd&x=1"], tmp_path, capsys)
    assert count == 2 * 2 * ROWS and named <= 0.2 * count


@pytest.mark.slow
def test_no_secret_changes_a_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """612 episodes, each in both dialects."""
    count, named = compared(SECRETS, tmp_path, capsys)
    assert count == len(SECRETS) * 2 * ROWS > 2 * 500 and named <= FEW * count


def compared(secrets: Collection[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, int]:
    """How many scores were compared, and how many of them `harness score` and `harness verify` name."""
    count = total = 0
    for number, secret in enumerate(secrets):
        scored, named = _compared(secret, folder / str(number), capsys)
        count, total = count + scored, total + named
    return count, total


def _compared(secret: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, int]:
    made, hiding = rows(secret, ROWS, random.Random(secret)), Redactor({NAME: secret})
    plain = asyncio.run(play(folder / "plain", made, Redactor()))
    assert {status for status, _ in plain.values()} >= {Status.OK}
    passed = sum(value == 1.0 for _, value in plain.values())
    assert 0.2 * len(plain) < passed < 0.8 * len(plain), "rows that pass and rows that fail"

    assert unlike(plain, asyncio.run(play(folder / "hidden", made, hiding))) == {}, f"live, with {secret}"
    killed = asyncio.run(play(folder / "killed", made, hiding, killed=True))
    lost = {key for key, (status, _) in killed.items() if status is Status.ERROR}
    assert unlike(plain, killed, lost) == {}, f"after a kill, with {secret}"
    assert len(lost) <= 0.25 * len(plain), "only what was escaped oddly, and credentials that nobody configured"

    hidden = folder / "hidden"
    main(["score", str(hidden), *SETTINGS])
    again, named = rescored(hidden)
    assert unlike(plain, again, named) == {}, f"harness score, with {secret}"
    assert main(["bundle", str(hidden)]) == 0
    capsys.readouterr()
    assert main(["verify", f"{hidden}.cairn", *SETTINGS]) == (3 if named else 0)
    said = capsys.readouterr().out
    assert "differs" not in said, f"harness verify, with {secret}"
    assert len(re.findall("^not verified: ", said, re.MULTILINE)) == len(named)
    if not secret.isdigit() and secret not in RECORDS:  # numbers of JSON stay numbers, and keys stay keys
        for path in hidden.rglob("*"):
            assert not (path.is_file() and holds(hiding, path.read_bytes())), f"{secret} in {path}"
        assert not holds(hiding, said.encode())
    return len(plain), len(named)


def rescored(folder: Path) -> tuple[Scores, set[tuple[str, str]]]:
    """What `harness score` gave, and what it said cannot be computed."""
    found: Scores = {}
    named = set()
    for dialect in ("webarena", "corrected"):
        for one in loads((folder / f"rescored-{dialect}.json").read_bytes())["results"]:
            key, scored = (one["task_id"], dialect), one["scored"]
            found[key] = (Status(scored["status"]), scored["value"])
            if all(NAMED in verdict["why"] for verdict in scored["verdicts"]):
                named.add(key)
    return found, named


def unlike(one: Scores, other: Scores, besides: Collection[tuple[str, str]] = ()) -> dict[tuple[str, str], object]:
    return {key: (score, other[key]) for key, score in one.items() if key not in besides and score != other[key]}


def holds(hiding: Redactor, data: bytes) -> bool:
    return hiding.data(data, for_good=True) != data
