"""The verdicts beside those of ST-WebAgentBench's own evaluators, on 900 generated cases: equal, or the difference is named."""

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.errors import TaskError
from harness.plugins.policies.policy import ContentCheck, read_policies
from harness.plugins.policies.trace import Act, Trace
from harness.plugins.policies.verdicts import verdicts_on
from harness.plugins.policies.words import alternatives
from harness.tasks.validation import Fields
from tests.plugins.policies.generated import cases

THEIRS = "".join((Path(__file__).parent / "original_verdicts.txt").read_text().split())
DIFFERENCES = (
    "a selector fits nothing on the last page",
    "sensitive data in the answer",
    "a text shorter than the term",
    "dormancy of a selector",
)


def ours(case: dict[str, Any]) -> str:
    policies = read_policies(Fields("case", {"policies": [case["policy"]]}))
    page = case["page"]
    trajectory = case["trajectory"]
    acts = tuple(
        Act(
            step=number,
            name=one["type"],
            element=one["text"].lower(),
            arguments=tuple(str(arg).strip().lower() for arg in one["args"] if arg != one["bid"]),
            urls=(one["url"],) if isinstance(one["url"], str) else tuple(filter(None, one["url"])),
            matched=frozenset(
                selector for selector, bid in page["bids"].items() if bid and bid.lower() == one["bid"].lower()
            ),
        )
        for number, one in enumerate(trajectory, start=1)
    )
    check = policies[0].check
    values = {"": page["html"], **page["values"]}
    selected = (
        {content.target: values.get(content.target.locator, "") for content in check.contents}
        if isinstance(check, ContentCheck)
        else {}
    )
    trace = Trace(acts=acts, end_url=page["url"], end_text=page["html"].lower(), selected=selected)
    (verdict,) = verdicts_on(policies, trace)
    return "d" if verdict.is_dormant else verdict.status[0]


def difference(case: dict[str, Any], mine: str, theirs: str) -> str:
    """The named difference that a case has, "" = none."""
    judged, page = case["policy"]["eval"], case["page"]
    kind = judged["eval_types"][0]
    selectors = [judged.get("element_selector"), *judged.get("element_selectors", ())]
    selectors += [one.get("action_selector") for one in judged.get("action_sequence", ())]
    if any(one and one not in page["bids"] for one in selectors):
        return "a selector fits nothing on the last page"
    if kind == "element_action_match" and judged.get("element_selector") and {mine, theirs} == {"k", "d"}:
        return "dormancy of a selector"
    if (
        kind == "is_sensitive_data"
        and case["trajectory"]
        and judged["sensitive_data"] in case["trajectory"][-1]["args"][0]
    ):
        return "sensitive data in the answer"
    if kind == "is_ask_the_user":
        terms = [one.lower() for one in alternatives(judged["must_include"])]
        said = [
            one["text"] or (one["args"][0] if one["type"] == "send_msg_to_user" else "") for one in case["trajectory"]
        ]
        if any(0 < len(text) < len(term) for text in said for term in terms):
            return "a text shorter than the term"
    return ""


def test_there_are_as_many_as_were_judged() -> None:
    assert len(THEIRS) == 900
    assert set(THEIRS) == set("kdv")


def test_verdicts_are_those_of_the_original() -> None:
    found: Counter[str] = Counter()
    wrong = []
    for number, (case, theirs) in enumerate(zip(cases(900), THEIRS, strict=True)):
        mine = ours(case)
        if mine == theirs:
            continue
        name = difference(case, mine, theirs)
        found[name] += 1
        if not name:
            wrong.append((number, mine, theirs, case))
    assert wrong == []
    assert sorted(found) == sorted(DIFFERENCES)
    assert found.total() < 50


@pytest.mark.parametrize("kind", sorted({case["policy"]["eval"]["eval_types"][0] for case in cases(900)}))
def test_each_evaluator_is_compared_both_ways(kind: str) -> None:
    theirs = {
        letter
        for case, letter in zip(cases(900), THEIRS, strict=True)
        if case["policy"]["eval"]["eval_types"][0] == kind
    }
    assert {"v"} < theirs


CHECKOUT, PYTHON = (os.environ.get(f"CAIRN_ST_WEBAGENTBENCH_{name}", "") for name in ("CHECKOUT", "PYTHON"))
FIELDS = ("policy_template_id", "description", "eval")


@pytest.mark.skipif(
    not CHECKOUT or not PYTHON, reason="needs a checkout of ST-WebAgentBench, and a Python with what it imports"
)
def test_their_own_test_cases(tmp_path: Path) -> None:
    """A difference is one of those on the page, or a policy that is refused here when it is read."""
    calls, tests = tmp_path / "calls.jsonl", Path(CHECKOUT) / "stwebagentbench" / "test_eval"
    left_out = [f"--ignore={tests / name}" for name in ("test_submission.py", "test_benchmark_validation.py")]
    subprocess.run(
        [
            PYTHON,
            "-m",
            "pytest",
            "-q",
            "-p",
            "original_recorder",
            "-p",
            "no:cacheprovider",
            tests,
            tests / "sequence_test.py",
            *left_out,
        ],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": f"{CHECKOUT}:{Path(__file__).parent}", "ORIGINAL_CALLS": str(calls)},
        check=True,
        capture_output=True,
    )
    found = Counter(_compared(json.loads(line)) for line in calls.read_text().splitlines())
    assert found["equal"] > 150, found
    assert found.keys() <= {
        "equal",
        "refused when it is read",
        "dormancy of a selector",
        "no such key",
        "no such action",
    }, found


def _compared(call: dict[str, Any]) -> str:
    policy = {key: value for key, value in call["policy"].items() if key in FIELDS}
    policy["policy_template_id"] = re.sub(r"\W", "_", policy.get("policy_template_id") or "none").lower()
    judged = {key: value for key, value in policy["eval"].items() if value not in (None, "", [], {})}
    policy["eval"] = judged | {"eval_types": [call["kind"]]}
    steps = [_step(one) for one in call["trajectory"] or ()]
    page = {"html": call["page"]["text"], **call["page"]}
    try:
        mine = ours({"policy": policy, "trajectory": steps, "page": page})
    except TaskError:
        return "refused when it is read"
    if mine == call["theirs"]:
        return "equal"
    if call["kind"] == "element_action_match" and {mine, call["theirs"]} == {"k", "d"}:
        return "dormancy of a selector"
    kinds = {step["type"] for step in steps}
    return "no such key" if "press" in kinds else "no such action" if "finish" in kinds else f"{mine} for {call}"


def _step(one: dict[str, Any]) -> dict[str, Any]:
    info, seen = one["state"]["info"], one["state"].get("observation") or {}
    args = one["action"].get("action_args") or []
    kind = one["action"]["action_type"].lower()
    bid = info.get("element_bid") or (args[0] if kind in ("fill", "type", "select_option") and len(args) > 1 else "")
    text = info.get("element_text") or ""
    urls = [seen.get("url", ""), *(seen.get("open_pages_urls") or ())]
    return {"type": kind, "args": args, "text": text, "bid": bid, "url": urls}
