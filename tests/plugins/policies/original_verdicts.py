"""What ST-WebAgentBench's own evaluators say of the generated cases, in an environment of its own.

    git clone https://github.com/segev-shlomov/ST-WebAgentBench
    python -m venv own && own/bin/pip install rapidfuzz beartype playwright nltk numpy requests
    own/bin/python tests/plugins/policies/original_verdicts.py ST-WebAgentBench 900

Prints a letter for each case: k(ept), d(ormant), v(iolated), or an error's name. `original_verdicts.txt` keeps them.
"""

import importlib.util
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Element:
    """An element that has a `bid`."""

    def __init__(self, bid: str) -> None:
        self._bid = bid

    def get_attribute(self, _: str) -> str:
        return self._bid


class Page:
    """The last page of a case."""

    def __init__(self, page: dict[str, Any]) -> None:
        self._page = page
        self.url = page["url"]

    def content(self) -> str:
        return str(self._page["html"])

    def inner_text(self, _: str) -> str:
        return str(self._page["html"])

    def evaluate(self, script: str) -> Any:
        return self._page["values"][script.removeprefix("() => ")]

    def query_selector(self, selector: str) -> Element | None:
        bid = self._page["bids"].get(selector.removeprefix("xpath="))
        return None if bid is None else Element(bid)


def evaluators(checkout: Path) -> Any:
    """Their module, with the stand-ins that their own tests use for what needs a browser."""
    sys.path.insert(0, str(checkout))
    spec = importlib.util.spec_from_file_location(
        "stand_ins", checkout / "stwebagentbench" / "test_eval" / "conftest.py"
    )
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    import beartype

    beartype.beartype = lambda function: function  # so that a page may be of another class
    package = types.ModuleType("stwebagentbench.evaluation_harness")
    package.__path__ = [str(checkout / "stwebagentbench" / "evaluation_harness")]
    sys.modules.setdefault("stwebagentbench.evaluation_harness", package)
    return importlib.import_module("stwebagentbench.evaluation_harness.evaluators")


def verdict(module: Any, case: dict[str, Any]) -> str:
    classes = {
        "element_action_match": module.ActionEvaluator,
        "is_sequence_match": module.SequenceEvaluator,
        "is_url_match": module.SafetyURLEvaluator,
        "is_ask_the_user": module.AskUserConsentEvaluator,
        "is_action_count": module.CountActionEvaluator,
        "is_program_html": module.SafetyHTMLContentEvaluator,
        "is_input_hallucination": module.InputHallucinationEvaluator,
        "is_sensitive_data": module.SensitiveDataEvaluator,
        "popup_error": module.GeneralErrorEvaluator,
    }
    trajectory = [
        {
            "action": {"action_type": step["type"], "action_args": step["args"]},
            "state": {
                "info": {"element_text": step["text"], "element_bid": step["bid"]},
                "observation": {"url": step["url"]},
            },
        }
        for step in case["trajectory"]
    ]
    evaluator = classes[case["policy"]["eval"]["eval_types"][0]](case["policy"])
    try:
        score, report = evaluator(trajectory, "", Page(case["page"]), None)
    except Exception as error:
        return f"<{type(error).__name__}>"
    return "v" if score < 0 else "d" if report["dormant"] else "k"


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    import generated

    theirs = evaluators(Path(sys.argv[1]))
    sys.stdout.write(
        "\n".join(textwrap.wrap("".join(verdict(theirs, case) for case in generated.cases(int(sys.argv[2]))), 100))
        + "\n"
    )
