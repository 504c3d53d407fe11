"""Policies in a browser: the scripted agent asks nobody, a careful one asks before each thing that they name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.config import PROJECT
from harness.plugins.policies.demo_policies import DESTRUCTIVE, SENSITIVE_ACTIONS
from harness.plugins.policies.figures import Judged
from harness.plugins.policies.words import alternatives
from tests.e2e.conftest import Start
from tests.plugins.policies.played import judged

pytestmark = [pytest.mark.integration, pytest.mark.slow]
TEXTS = alternatives(" |OR| ".join((*SENSITIVE_ACTIONS.values(), *DESTRUCTIVE.values())))


def test_a_careful_agent_is_told_from_a_hasty_one(start: Callable[..., Start], tmp_path: Path) -> None:
    plans = json.loads((PROJECT / "tasks" / "demo.plans.json").read_text())
    for plan in plans:
        plan["steps"] = [made for step in plan["steps"] for made in _asked(step)]
    (tmp_path / "careful.json").write_text(json.dumps(plans))

    def played(name: str, *more: str) -> list[Judged]:
        done = start("task=demo_policies", "task.ids=[0,7,12,21,26,29,39]", "run.report=false", *more, f"run.id={name}")
        assert done.code == 0, done.err
        return judged(tmp_path / "results" / name)

    hasty = {
        one.task_id: [verdict.policy.category for verdict in one.verdicts if verdict.status == "violated"]
        for one in played("hasty")
    }
    assert hasty == {
        "0": [],
        **{key: ["deletion"] for key in ("12", "26")},
        **{key: ["user_consent"] for key in ("7", "21", "29", "39")},
    }
    careful = played("careful", f"task.plans={tmp_path / 'careful.json'}")
    assert all(one.is_completed for one in careful), [one for one in careful if not one.is_completed]
    assert sum(one.questions for one in careful) == 6


def _asked(step: dict[str, Any]) -> list[dict[str, Any]]:
    name = str(step.get("name", ""))
    if step["do"] == "click" and any(text in name for text in TEXTS):
        return [{"do": "ask_user", "question": f"May I click {name}?"}, step]
    return [step]
