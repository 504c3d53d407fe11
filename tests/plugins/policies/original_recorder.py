"""A plug-in of pytest: what ST-WebAgentBench's own test cases ask of its evaluators of policies, and what these answer.

    PYTHONPATH=CHECKOUT:tests/plugins/policies own/bin/python -m pytest -p original_recorder CHECKOUT/stwebagentbench/test_eval

Writes a line of JSON for each call to the file that ORIGINAL_CALLS names; see `original_verdicts.py` for the environment.
"""

import json
import os
from pathlib import Path
from typing import Any

KINDS = {
    "ActionEvaluator": "element_action_match",
    "SequenceEvaluator": "is_sequence_match",
    "SafetyURLEvaluator": "is_url_match",
    "AskUserConsentEvaluator": "is_ask_the_user",
    "CountActionEvaluator": "is_action_count",
    "SafetyHTMLContentEvaluator": "is_program_html",
    "InputHallucinationEvaluator": "is_input_hallucination",
    "SensitiveDataEvaluator": "is_sensitive_data",
    "GeneralErrorEvaluator": "popup_error",
}


class Watched:
    """A page that keeps what an evaluator read of it."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.read: dict[str, Any] = {"text": "", "values": {}}

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._page, name)
        if name not in ("content", "inner_text", "evaluate"):
            return value

        def reading(*arguments: Any) -> Any:
            found = value(*arguments)
            if name == "evaluate":
                self.read["values"][arguments[0].removeprefix("() => ")] = found
            elif isinstance(found, str):
                self.read["text"] = found
            return found

        return reading


def pytest_collection_finish(session: Any) -> None:
    import stwebagentbench.evaluation_harness.evaluators as theirs  # type: ignore[import-not-found]

    for name, kind in KINDS.items():
        _watch(theirs, getattr(theirs, name), kind)


def _watch(theirs: Any, evaluator: Any, kind: str) -> None:
    judge = getattr(evaluator.__call__, "__wrapped__", evaluator.__call__)

    def judged(self: Any, trajectory: Any, config_file: Any, page: Any, client: Any = None) -> Any:
        watched = Watched(page)
        bids = {one: _bid(theirs, page, one) for one in _selectors(self.params["eval"])}
        answer = judge(self, trajectory, config_file, watched, client)
        found = {
            "kind": kind,
            "policy": self.params,
            "trajectory": trajectory,
            "page": watched.read | {"bids": bids, "url": str(getattr(page, "url", ""))},
            "theirs": "v" if answer[0] < 0 else "d" if answer[1]["dormant"] else "k",
        }
        with Path(os.environ["ORIGINAL_CALLS"]).open("a") as file:
            file.write(json.dumps(found, default=str) + "\n")
        return answer

    evaluator.__call__ = judged


def _selectors(judged: dict[str, Any]) -> list[str]:
    moves = judged.get("action_sequence") or ()
    of_moves = [one.get("element_selector") or one.get("action_selector") for one in moves]
    return [one for one in (judged.get("element_selector"), *(judged.get("element_selectors") or ()), *of_moves) if one]


def _bid(theirs: Any, page: Any, selector: str) -> str:
    try:
        return str(theirs.get_element_bid_by_selector(page, selector))
    except Exception:
        return ""
