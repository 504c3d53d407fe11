"""`run.dry=true`: what would be done, and nothing of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

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
    for words in ("set SHOPPING=", "set REDDIT=", "1 task may need a judge", "sites.reset.command"):
        assert words in done.out
    assert lines[-1] == "1 task, 2 of 2 episodes pending: 2 pending"
    assert not done.folder.exists()


KEYS = {
    "llm=openai": ("https://api.openai.com/v1", "OPENAI_API_KEY", "llm"),
    "llm=anthropic": ("https://api.anthropic.com", "ANTHROPIC_API_KEY", "llm"),
    "llm=openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "llm"),
    "llm=azure llm.model=x llm.base_url=https://me.openai.azure.com": (
        "https://me.openai.azure.com", "AZURE_OPENAI_API_KEY", "llm",
    ),
    "judge.model=gpt-4o": ("https://api.openai.com/v1", "OPENAI_API_KEY", "judge"),
}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("dry", ["true", "false"])
@pytest.mark.parametrize("settings", KEYS)
def test_a_missing_key_is_named_before_anything_starts_and_leaves_nothing(
    start: Callable[..., Start], settings: str, dry: str
) -> None:
    address, variable, group = KEYS[settings]
    refused = start("task=smoke", f"run.dry={dry}", *settings.split())
    assert refused.code == 2
    (line,) = refused.err.splitlines()
    assert line == f"run.py: {address} needs a key, and {variable} is not set; set {variable}, or {group}.api_key"
    assert not refused.folder.exists()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "settings",
    [
        "llm=openai llm.api_key=x",
        "llm=openai +llm.headers={Authorization: x}",
        "llm=vllm llm.model=x",
        "llm=openai llm.base_url=http://127.0.0.1:9/v1",
    ],
)
def test_an_endpoint_that_needs_no_further_key_is_not_asked_for_one(start: Callable[..., Start], settings: str) -> None:
    first, *others = settings.split(" ", 1)
    assert start("task=smoke", "run.dry=true", first, *others).code == 0
