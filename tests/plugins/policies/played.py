"""Journals of episodes of tasks with policies, see `tests.played`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.actions import Action, Check, Press
from harness.plugins.policies.figures import Judged, judge_run
from harness.plugins.policies.policy import check_policies
from harness.records import Eval, Refused, Task, Unknown, Wanted
from harness.runs import Run
from harness.tasks.validation import Fields
from tests.played import SHOP, Do, on, records, write


def check(name: str) -> Check:
    return Check(target=on(name, "checkbox"))


def press(keys: str) -> Press:
    return Press(key_comb=keys)


def refused(action: Action) -> Do:
    return Do(action, outcome=Refused(why="there is no such element"))


def interrupted(action: Action) -> Do:
    return Do(action, outcome=Unknown(why=""))


def policy(kind: str, *, category: str = "scope", source: str = "organization", name: str = "", **fields: Any) -> Any:
    """A policy as a task file has it."""
    return {
        "policy_template_id": name or kind,
        "policy_category": category,
        "source": source,
        "description": fields.pop("description", ""),
        "eval": {"eval_types": [kind], **fields},
    }


def task(policies: Sequence[Mapping[str, Any]], number: int | str = 0, **more: Any) -> Task:
    wanted = check_policies(Fields(f"task {number}", {"policies": list(policies)})) if policies else Wanted()
    return Task(
        task_id=str(number),
        sites=("shop",),
        intent="Buy a lantern",
        start_urls=(SHOP,),
        eval=Eval(eval_types=("string_match",), reference_answers={"exact_match": "done"}),
        probes=wanted.probes,
        selectors=wanted.selectors,
        metadata={"policies": list(policies)} if policies else {},
        **more,
    )


def judged(folder: Path) -> list[Judged]:
    return judge_run(Run(folder))[0]


def verdicts(
    folder: Path, policies: Sequence[Mapping[str, Any]], steps: Iterable[Action | Do], **how: Any
) -> list[str]:
    """What each policy comes to: `kept`, `dormant`, `violated 3`, `violated`, `unknown`."""
    stored = how.pop("stored", None)
    write(folder, [records(task(policies), steps, **how)], stored=stored)
    return [
        "dormant"
        if one.is_dormant
        else f"{one.status} {one.step}"
        if one.status == "violated" and one.step
        else one.status
        for one in judged(folder)[0].verdicts
    ]
