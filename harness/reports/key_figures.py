"""The figures under the headline of a report: a short value each, its unit in the label, and none that is zero.

What takes a sentence is a note below them, not a value. Knows no markup.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.reports.format import cost, duration, measure, percent
from harness.reports.judge_error import judge_sentence
from harness.reports.overview import Overview

_MOST_COLUMNS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigure:
    """One of them."""

    label: str
    value: str
    note: str = ""
    """What belongs to the value, in small type."""


def key_figures(view: Overview) -> tuple[KeyFigure, ...]:
    """The figures of a run, in the order of reading."""
    return tuple(KeyFigure(label=label, value=value, note=note) for label, value, note in _figures(view) if value)


def columns(count: int) -> int:
    """Into how many columns so many figures go, so that no row holds a single one."""
    rows = -(-count // _MOST_COLUMNS)
    return -(-count // max(1, rows))


def judge_notes(view: Overview) -> tuple[str, ...]:
    """Whose verdicts are in the rate, a sentence each."""
    return tuple(judge_sentence(use) for use in view.judges)


def _figures(view: Overview) -> Iterator[tuple[str, str, str]]:
    whole, usage, judge = view.all, view.usage, view.judge
    yield "Tasks", f"{whole.tasks:,}", ""
    if whole.total != whole.tasks:
        yield "Episodes", f"{whole.total:,}", whole.counted.partition(" = ")[0]
    yield "Tokens", _some(view.tokens), ""
    # Without a request there is nothing to pay: "unknown" would raise a question that has no answer.
    yield "Cost", cost(view.cost_usd, view.priced) if view.cost_usd or not view.priced else "", ""
    asked = usage.from_cache + usage.requests
    yield "Reply cache, % of requests", _share(usage.from_cache, asked), f"{usage.from_cache:,} of {asked:,} requests"
    yield "Prompt cache, % of tokens", _share(usage.cached_tokens, usage.prompt_tokens), _saved(view)
    yield "Reasoning tokens", _some(usage.reasoning_tokens), ""
    inherited = view.inherited
    spent = f"{measure(inherited.tokens, 'count')} tokens, {cost(inherited.cost_usd, inherited.priced)}, not included"
    yield "Inherited steps", _some(view.inherited_steps), spent
    paid = f"{cost(judge.cost_usd, judge.priced)}, not included"
    yield "Judge's tokens", _some(judge.tokens if judge.requests or judge.from_cache else 0), paid
    yield "Working time", duration(view.working_s) if view.working_s else "", ""
    yield "Resumes", _some(view.resumes), ""
    yield "Divergences", _some(view.divergences), ""
    yield "Policy violations", _some(view.policy_violations), ""
    yield "Scores in doubt", _some(view.doubts), ""
    yield "Further attempts", _some(view.retries), ""


def _some(count: int) -> str:
    return measure(count, "count") if count else ""


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if part and whole else ""


def _saved(view: Overview) -> str:
    """What the prompt cache spared, where prices know it."""
    saved = view.usage.saved_usd
    amount = measure(abs(saved), "usd")
    return f"saved {amount}" if saved > 0 else f"cost {amount} more" if saved < 0 else ""
