"""Figures as they are written: for people, the same in the terminal, in Markdown and in HTML; for programs, as JSON.

A figure is a field of `Group` (`harness.runs.statistics`), a line in `_facts`, and an entry of `as_data` where
`summary.json` is to have it. Nothing that prints needs to know of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from harness.codec import JsonObject
from harness.records import Usage
from harness.runs.format import cost, duration, in_doubt, limits, measure, percent
from harness.runs.statistics import Group, Statistics, SuiteRates
from harness.runs.trials import counted_briefly

SUITE_HEADS = ("benchmark", "weight", "tasks", "passed", "failed", "unscored", "rate", "95% interval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One figure of a run."""

    label: str
    """With the unit, where the value alone does not show it."""
    value: str
    """A number with its unit; never zero."""
    note: str = ""
    """What belongs to the value, in a few words."""
    words: str = ""
    """The same in a sentence, where that is not `label: value (note)`."""
    is_headline: bool = False
    """It is in `headline` already."""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return self.words or f"{self.label[:1].lower()}{self.label[1:]}: {self.value}{note}"


def facts(group: Group) -> tuple[Fact, ...]:
    """The figures that are not zero, in the order of reading."""
    return tuple(fact for fact in _facts(group) if fact.value)


def headline(found: Statistics) -> str:
    """What a run comes to, in one line: outcomes, rate, tokens, cost, time, and every further fact."""
    whole, rate = found.all, found.all.rate
    return "; ".join(
        (
            f"{whole.passed} passed, {whole.failed} failed, {whole.unscored} unscored of {whole.counted}",
            f"{percent(rate.value)} (95% from {limits(rate)}, {found.method})",
            f"{measure(whole.tokens, 'count')} tokens, {cost(whole.cost_usd, whole.priced)},"
            f" {duration(whole.working_s)} of work",
            *further(whole),
        )
    )


def further(group: Group) -> tuple[str, ...]:
    """The facts that a headline does not have, in words."""
    return tuple(str(fact) for fact in facts(group) if not fact.is_headline)


def as_data(group: Group) -> JsonObject:
    """The figures, as `summary.json` has them."""
    usage, judge = group.usage, group.judge
    # `tasks` once counted episodes: an old key keeps the meaning that it says, and `episodes` is new.
    return {
        "tasks": group.tasks,
        "episodes": group.episodes,
        "passed": group.passed,
        "failed": group.failed,
        "unscored": group.unscored,
        "doubts": group.doubts,
        "divergences": group.divergences,
        "policy_violations": group.policy_violations,
        "success_rate": group.rate.value,
        "success_rate_scored": group.of_scored,
        "tokens": group.tokens,
        "cost_usd": group.cost_usd,
        "cache": {
            "read_tokens": usage.cached_tokens,
            "write_tokens": usage.cache_write_tokens,
            "share": _ratio(usage.cached_tokens, usage.prompt_tokens),
            "saved_usd": usage.saved_usd,
        },
        "reply_cache": _reply_cache(usage),
        "inherited": {
            "steps": group.inherited_steps,
            "tokens": group.inherited.tokens,
            "cost_usd": group.inherited.cost_usd,
        },
        "reasoning_tokens": usage.reasoning_tokens,
        "judge": {
            "tokens": judge.tokens,
            "cost_usd": judge.cost_usd,
            "priced": judge.priced,
            "requests": judge.requests,
            "reply_cache": _reply_cache(judge),
        },
    }


def suite_table(suite: SuiteRates) -> tuple[tuple[str, ...], ...]:
    """The cells below `SUITE_HEADS`: a row for each benchmark, and one for the weighted mean."""
    rows = (
        (one.name, percent(weight), *cells(one), limits(one.rate))
        for one, weight in zip(suite.benchmarks, suite.weights, strict=True)
    )
    return (*rows, ("weighted mean", "", "", "", "", "", percent(suite.mean.value), limits(suite.mean)))


def suite_data(suite: SuiteRates) -> JsonObject:
    """The rates of a suite, as `summary.json` has them."""
    names = ("tasks", "episodes", "is_even", "passed", "failed", "unscored", "rate")
    rows = [
        {"name": one.name, "weight": weight} | {name: getattr(one, name) for name in names}
        for one, weight in zip(suite.benchmarks, suite.weights, strict=True)
    ]
    return {"benchmarks": rows, "mean": suite.mean}


def cells(group: Group) -> tuple[str, ...]:
    """Tasks, passed, failed, unscored and rate, for the columns of a table."""
    tasks = counted_briefly(group.tasks, group.episodes, is_even=group.is_even)
    return tasks, str(group.passed), str(group.failed), str(group.unscored), percent(group.rate.value)


def judging(usage: Usage) -> str:
    """What a judge cost, as `1,203 tokens, $0.02`; "" when none was asked."""
    if not usage.requests and not usage.from_cache:
        return ""
    return f"{measure(usage.tokens, 'count')} tokens, {cost(usage.cost_usd, usage.priced)}"


def _facts(group: Group) -> Iterator[Fact]:
    usage, inherited = group.usage, group.inherited
    yield Fact(label="Tasks", value=f"{group.tasks:,}", is_headline=True)
    if group.episodes != group.tasks:
        each = group.counted.partition(" = ")[0]
        yield Fact(label="Episodes", value=f"{group.episodes:,}", note=each, is_headline=True)
    yield Fact(label="Tokens", value=_some(group.tokens), is_headline=True)
    # Without a request there is nothing to pay: "unknown" would raise a question that has no answer.
    paid = cost(group.cost_usd, group.priced) if group.cost_usd or not group.priced else ""
    yield Fact(label="Cost", value=paid, is_headline=True)
    asked = usage.from_cache + usage.requests
    replies = f"{usage.from_cache:,} of {asked:,} requests"
    share = percent(usage.from_cache / asked) if usage.from_cache else ""
    said = f"answered by the reply cache: {replies} ({share})"
    yield Fact(label="Reply cache, % of requests", value=share, note=replies, words=said)
    is_cached = usage.cached_tokens or usage.cache_write_tokens  # what is only written has its price, too
    share = percent(usage.cached_tokens / max(1, usage.prompt_tokens)) if is_cached else ""
    said = ", ".join(filter(None, (f"prompt cache: {share} of prompt tokens", _saved(usage))))
    yield Fact(label="Prompt cache, % of tokens", value=share, note=_saved(usage), words=said)
    yield Fact(label="Reasoning tokens", value=_some(usage.reasoning_tokens))
    spent = f"{measure(inherited.tokens, 'count')} tokens, {cost(inherited.cost_usd, inherited.priced)}, not included"
    yield Fact(label="Inherited steps", value=_some(group.inherited_steps), note=spent)
    judge = judging(group.judge)
    yield Fact(
        label="Judge's tokens",
        value=_some(group.judge.tokens) if judge else "",
        note=f"{cost(group.judge.cost_usd, group.judge.priced)}, not included",
        words=f"judge (not included): {judge}",
    )
    yield Fact(label="Working time", value=duration(group.working_s) if group.working_s else "", is_headline=True)
    yield Fact(label="Resumes", value=_some(group.resumes))
    yield Fact(label="Divergences", value=_some(group.divergences))
    yield Fact(label="Policy violations", value=_some(group.policy_violations))
    yield Fact(label="Scores in doubt", value=_some(group.doubts), words=in_doubt(group.doubts))
    yield Fact(label="Further attempts", value=_some(group.retries))


def _some(count: int) -> str:
    return measure(count, "count") if count else ""


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _saved(usage: Usage) -> str:
    """What the prompt cache spared, where prices know it."""
    amount = measure(abs(usage.saved_usd), "usd")
    return f"saved {amount}" if usage.saved_usd > 0 else f"cost {amount} more" if usage.saved_usd < 0 else ""


def _reply_cache(usage: Usage) -> JsonObject:
    """How many requests it answered, and which part of all."""
    return {"replies": usage.from_cache, "share": _ratio(usage.from_cache, usage.from_cache + usage.requests)}
