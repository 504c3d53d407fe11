"""`run.dry=true`: what would be done, and nothing of it."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.e2e.conftest import Start

Starter = Callable[..., Start]


def test_every_task_is_told_without_addresses_and_nothing_is_left_behind(start: Starter, tmp_path: Path) -> None:
    raw = {
        "sites": ["shopping", "reddit"],
        "task_id": 431,
        "start_url": "__SHOPPING__/a |AND| __REDDIT__/b",
        "intent": "compare",
        "require_reset": True,
        "eval": {"eval_types": ["string_match"], "reference_answers": {"fuzzy_match": ["x"]}},
    }
    path = tmp_path / "test.raw.json"
    path.write_text(json.dumps([raw]))
    done = start("task=webarena", f"task.path={path}", "run.dry=true", "trials=2")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == (
        "431  shopping,reddit  http://onestopmarket.com/a |AND| http://reddit.com/b  string_match  2 pending"
    )
    for words in ("set SHOPPING=", "set REDDIT=", "1 tasks need one, set judge.model", "sites.reset.command"):
        assert words in done.out
    assert lines[-1] == "1 tasks, 2 of 2 episodes pending: 2 pending"
    assert not done.folder.exists()
