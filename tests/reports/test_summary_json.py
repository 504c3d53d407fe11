"""The keys of `summary.json` and the types of their values: other programs read it, so none is renamed or dropped."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.codec import dumps, loads
from harness.journal.index import scan
from harness.reports.basis import basis
from harness.reports.summary import Invocation, as_json, summarize
from harness.runs.about import TaskPlace
from harness.runs.results import not_begun, result_of
from tests.reports.runs import Shape, fill

RATE = {"value": "number", "low": "number", "high": "number"}
REPLY_CACHE = {"replies": "number", "share": "number"}
COUNTS = {
    "tasks": "number",
    "episodes": "number",
    "passed": "number",
    "failed": "number",
    "unscored": "number",
    "doubts": "number",
    "divergences": "number",
    "policy_violations": "number",
    "success_rate": "number",
    "success_rate_scored": "number or null",
    "tokens": "number",
    "cost_usd": "number",
    "cache": {"read_tokens": "number", "write_tokens": "number", "share": "number", "saved_usd": "number"},
    "reply_cache": REPLY_CACHE,
    "inherited": {"steps": "number", "tokens": "number", "cost_usd": "number"},
    "reasoning_tokens": "number",
    "judge": {
        "tokens": "number",
        "cost_usd": "number",
        "priced": "boolean",
        "requests": "number",
        "reply_cache": REPLY_CACHE,
    },
}
RESULT = {
    "task_id": "text",
    "trial": "number",
    "status": "text",
    "score": "number or null",
    "steps": "number",
    "attempts": "number",
    "resumed_from": "number or null",
    "why": "text",
    "doubts": ["text"],
    "divergences": "number",
    "policy_violations": "number",
}
SCHEMA = {
    "run_id": "text",
    "scoring": "text",
    **COUNTS,
    "trials": {
        "tasks": "number",
        "pass_at_k": {"1": "number", "2": "number"},
        "pass_hat_k": {"1": "number", "2": "number"},
    },
    "priced": "boolean",
    "working_s": "number",
    "suite": {
        "benchmarks": [
            {
                "name": "text",
                "weight": "number",
                "tasks": "number",
                "episodes": "number",
                "is_even": "boolean",
                "passed": "number",
                "failed": "number",
                "unscored": "number",
                "rate": RATE,
            }
        ],
        "mean": RATE,
    },
    "by_site": {"shop": COUNTS},
    "dialect_disagreements": [],
    "judges": [{"judge": "text", "prompt": "text", "episodes": "number"}],
    "notes": ["text"],
    "made_with": {
        "harness": "text or null",
        "revision": "text or null",
        "dirty": "boolean or null",
        "browser": "text or null",
        "packages": "text or null",
        "sites": {},
        "agent": "text or null",
        "model": "text or null",
        "prompt": "text or null",
        "scoring": "text",
        "cached_share": "number",
        "divergences": "number",
        "unscored": "number",
        "judges": ["text"],
        "earlier_environments": "number",
        "accepted_drifts": "number",
    },
    "results": [RESULT],
    "invocation": {
        "model_requests": "number",
        "model_refused": "number",
        "model_waited_s": "number",
        "browser_starts": "number",
        "episodes_run": "number",
        "site_pauses": {},
        "wall_s": "number",
    },
}


def written(folder: Path) -> Any:
    """`summary.json` of a run of a suite, with two trials, a judge and a doubt."""
    fill(folder, [Shape(doubted=1, judge_tokens=5, judge=("j", "p")), Shape(score=None)], trials=2, screenshots=False)
    outcomes = scan(folder).outcomes
    results = [replace(result_of(one, "corrected"), task_id=f"a.{one.task_id}") for one in outcomes.values()]
    results.append(not_begun("a.2", 0, TaskPlace(site="shop")))
    summary = summarize("run", results, "corrected", Invocation(), weights={"a": 1.0}, notes=("a note",))
    made_with = basis(folder, summary.dialect, summary.statistics)
    return loads(dumps(as_json(summary, made_with=made_with)))


def test_its_keys_and_types_are_these_in_this_order(tmp_path: Path) -> None:
    assert list(faults("", written(tmp_path / "run"), SCHEMA)) == []


def test_a_change_is_found() -> None:
    assert list(faults("", {"a": 1}, {"a": "text"})) == ["/a: 1 is no text"]
    assert list(faults("", {"a": [{"b": None}]}, {"a": [{"c": "text"}]})) == ["/a/0: keys ['b'], not ['c']"]


def faults(at: str, found: Any, wanted: Any) -> list[str]:
    """Where a JSON tree is not of a schema."""
    if isinstance(wanted, dict):
        if not isinstance(found, dict) or list(found) != list(wanted):
            return [f"{at}: keys {list(found) if isinstance(found, dict) else found!r}, not {list(wanted)}"]
        return [fault for key in wanted for fault in faults(f"{at}/{key}", found[key], wanted[key])]
    if isinstance(wanted, list):
        if not isinstance(found, list):
            return [f"{at}: {found!r} is no list"]
        return [
            fault for place, one in enumerate(found) for kind in wanted for fault in faults(f"{at}/{place}", one, kind)
        ]
    kinds = {"number": (int, float), "text": str, "boolean": bool, "null": type(None)}
    fits = any(isinstance(found, kinds[kind]) for kind in wanted.split(" or "))  # type: ignore[arg-type]
    return (
        []
        if fits and (isinstance(found, bool) == ("boolean" in wanted) or found is None)
        else [f"{at}: {found!r} is no {wanted}"]
    )
