"""Fourteen injected causes in a real run: each is called what it is, without a model."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.main import main
from tests.e2e.conftest import PROJECT, Start, start
from tests.plugins.attribution.causes import EXPECTED, at, keeper, write_tasks

__all__ = ["start"]
pytestmark = [pytest.mark.browser, pytest.mark.integration]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_all_causes_are_attributed_right(
    start: Callable[..., Start], tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    with keeper() as url:
        done = start(*write_tasks(tmp_path, seed), *at(url), env={"PYTHONPATH": str(PROJECT)})
    assert done.code == 3, done.out + done.err
    assert "6 of 13 failures are not the model's (4 harness, 2 environment, 7 model)" in done.out
    capsys.readouterr()
    assert main(["attribute", str(done.folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)[0]
    called = {one["task_id"]: (one["class"], one["rule"]) for one in found["episodes"]}
    assert called == {name: expected for name, expected in EXPECTED.items() if expected}
    assert all(one["step"] for one in found["episodes"] if one["task_id"] != "dead_endpoint")
