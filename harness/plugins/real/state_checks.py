"""Judges REAL's tasks: every query on the end state has its expected value, every program passes, and the answer meets
every rubric.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from harness.api import (
    CloseReason,
    CodecError,
    EvaluatorError,
    Finding,
    JudgeAccess,
    JudgedEvaluator,
    Message,
    RecordedEpisode,
    digest,
    loads,
)
from harness.api.judging import RULE, last_word, quoted
from harness.api.sealed_answers import unseal
from harness.errors import ConfigError
from harness.plugins.real.check_scripts import CheckScripts

NAME = "real"
_LONGEST_QUERY = 5000

RUBRIC = f"""You grade an answer by a rubric that says what it must contain. The wording does not matter; every fact, \
name and number of the rubric does. {RULE}

Compare them in a few sentences. Then write, alone on the last line, exactly one of: met, not met."""


class StateChecks(JudgedEvaluator):
    """Passed when all checks hold; a rubric is asked only when all others do.

    Args:
        scripts: Where checks that are programs are found.
    """

    prompt_digest = digest([RUBRIC])

    def __init__(self, scripts: CheckScripts) -> None:
        self._scripts = scripts

    async def evaluate_judged(self, recorded: RecordedEpisode, judge: JudgeAccess, /) -> Finding:
        # As the package, whose reward is 0 until the agent has sent its answer.
        if (reason := recorded.closed.reason) is not CloseReason.STOPPED:
            return Finding(value=0.0, why=f"the agent did not end the episode itself ({reason})")
        checks, state = unseal(recorded.task, NAME), _state(recorded)
        for check in checks:
            if check["type"] == "jmespath" and (missed := _missed(check, state)):
                return Finding(value=0.0, why=missed)
        for check in checks:
            if check["type"] == "script" and (missed := await self._scripts.missed(check, state)):
                return Finding(value=0.0, why=missed)
        for check in checks:
            if check["type"] == "llm_boolean" and not await _is_met(check, recorded, judge):
                return Finding(value=0.0, why=f"the judge says that the answer does not meet the rubric{_about(check)}")
        return Finding(value=1.0, why=f"all {len(checks)} checks hold")


def checked_query(query: str) -> Any:
    """The query, compiled.

    Raises:
        ValueError: It is none.
        ConfigError: The library is missing.
    """
    if len(query) > _LONGEST_QUERY:
        raise ValueError(f"it has more than {_LONGEST_QUERY} characters")
    library = _library()
    try:
        return library.compile(query)
    except (library.exceptions.JMESPathError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from error


def _library() -> Any:
    try:
        return import_module("jmespath")
    except ImportError as error:
        raise ConfigError("the package jmespath is not installed; run pip install 'cairn-harness[real]'") from error


def _state(recorded: RecordedEpisode) -> Any:
    kept = recorded.closed.evidence.benchmark
    if kept is None:
        raise EvaluatorError("the end state of the site is not in the evidence")
    try:
        return loads(recorded.artifacts.read(kept))
    except CodecError as error:
        raise EvaluatorError(f"the end state of the site cannot be read: {error}") from error


def _missed(check: Mapping[str, Any], state: Any) -> str:
    """What is wrong; "" = the check holds. A query that fails on this state does not hold, as in REAL."""
    library = _library()
    try:
        fits = _equal(checked_query(check["query"]).search(state), check["expected"])
    except (library.exceptions.JMESPathError, ValueError, TypeError, RecursionError) as error:
        return f"the query{_about(check)} fails on the end state: {' '.join(str(error).split())[:200]}"
    return "" if fits else f"the end state does not have what was expected{_about(check)}"


def _equal(found: Any, expected: Any) -> bool:
    """As JSON: true is not 1, nor is [true] [1]."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(_equal(found[key], expected[key]) for key in expected)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(_equal, found, expected))
    return bool(found == expected) and isinstance(found, bool) == isinstance(expected, bool)


def _about(check: Mapping[str, Any]) -> str:
    return f" ({str(check['about'])[:200]})" if check.get("about") else ""


async def _is_met(check: Mapping[str, Any], recorded: RecordedEpisode, judge: JudgeAccess) -> bool:
    asked = f"The rubric: {quoted(check['rubric'], 'rubric')}\nThe answer: {quoted(recorded.closed.answer, 'answer')}"
    reply = await judge.ask((Message(role="system", content=RUBRIC), Message(role="user", content=asked)))
    return last_word(reply, ("met", "not met")) == "met"
