"""The demo tasks cover what a task can be, and each has a plan."""

import json
from collections import Counter
from pathlib import Path

from harness import tasks
from harness.records import Task

FOLDER = Path(__file__).parents[2] / "tasks"
BASES = {name: f"http://{name}.localhost" for name in ("shop", "forum", "code", "office")}


def demo() -> tuple[Task, ...]:
    return tasks.load(FOLDER / "demo.json", BASES)


def test_there_are_thirty_tasks_or_more_with_distinct_intents_and_templates_that_fit() -> None:
    found = demo()
    assert len(found) >= 30
    assert len({task.intent for task in found}) == len(found)
    for task in found:
        filled = task.intent_template
        for key, value in task.instantiation_dict.items():
            filled = filled.replace("{{" + key + "}}", str(value))
        assert filled == task.intent


def test_all_ways_of_judging_and_their_combinations_occur() -> None:
    combinations = Counter(frozenset(task.eval.eval_types) for task in demo())
    kinds = ("string_match", "url_match", "program_html")
    for kind in kinds:
        assert combinations[frozenset({kind})]
    for missing in kinds:
        assert combinations[frozenset(kinds) - {missing}]
    assert combinations[frozenset(kinds)]


def test_every_kind_of_task_occurs() -> None:
    found = demo()
    targets = [target for task in found for target in task.eval.program_html]
    answers = [kind for task in found for kind in task.eval.reference_answers or {}]
    assert {site for task in found for site in task.sites} == set(BASES)
    assert {"exact_match", "must_include", "fuzzy_match"} == set(answers)
    assert {task.require_login for task in found} == {True, False}
    assert {task.mutates for task in found} == {True, False}
    assert any(len(task.sites) > 1 for task in found)
    assert any(len(task.start_urls) > 1 for task in found)
    assert any(target.url == "last" for target in targets)
    assert any(target.locator == "" for target in targets)
    assert any(target.url.startswith("func:") for target in targets)
    assert any(target.locator.startswith("func:") for target in targets)


def test_every_task_has_a_plan_that_ends_by_stopping() -> None:
    plans = json.loads((FOLDER / "demo.plans.json").read_bytes())
    assert [str(plan["task_id"]) for plan in plans] == [task.task_id for task in demo()]
    assert all(plan["steps"][-1]["do"] == "stop" for plan in plans)
    used = {step["do"] for plan in plans for step in plan["steps"]}
    assert used >= {"click", "hover", "type", "select", "press", "scroll", "goto", "go_back", "go_forward", "stop"}
    assert used >= {"new_tab", "tab_focus", "close_tab"}
