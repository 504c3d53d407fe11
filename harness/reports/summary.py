"""`summary.json`: what a run comes to, and what this start of it did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from harness.escape import one_line
from harness.runs.figures import as_data, suite_data
from harness.runs.outcome import PASSED, UNSCORED
from harness.runs.results import Result
from harness.runs.statistics import Statistics, statistics_of
from harness.runs.trials import Trials


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """What this start alone did."""

    model_requests: int = 0
    model_refused: int = 0
    """Of these, answered with 429."""
    model_waited_s: float = 0.0
    """For turns to ask, all lanes together."""
    browser_starts: int = 0
    episodes_run: int = 0
    site_pauses: Mapping[str, float] = field(default_factory=dict)
    """Site that was down for all lanes to the seconds for which its tasks were paused."""
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A run at the end of a start."""

    run_id: str
    dialect: str
    statistics: Statistics
    results: tuple[Result, ...]
    missed: tuple[str, ...]
    """A sentence for each episode that did not pass, then one for each doubt of a score."""
    invocation: Invocation = field(default_factory=Invocation)


def summarize(  # noqa: PLR0913 (what a summary says)
    run_id: str,
    results: Sequence[Result],
    dialect: str,
    invocation: Invocation,
    *,
    weights: Mapping[str, float] = MappingProxyType({}),
    notes: tuple[str, ...] = (),
) -> Summary:
    """The summary of these results, in the order in which `summary.json` lists them; see `statistics_of`."""
    return Summary(
        run_id=run_id,
        dialect=dialect,
        statistics=statistics_of(results, weights, notes=notes),
        results=tuple(results),
        missed=tuple(_missed(results)),
        invocation=invocation,
    )


def as_json(summary: Summary, *, made_with: Mapping[str, object] | None = None) -> dict[str, object]:
    """The content of `summary.json`; `made_with` is what `basis` gives."""
    found = summary.statistics
    # `harness verify` computes this again and compares it key by key.
    return {
        "run_id": summary.run_id,
        "scoring": summary.dialect,
        **as_data(found.all),
        "trials": None if found.trials is None else _trials(found.trials),
        "priced": found.all.priced,
        "working_s": round(found.all.working_s, 3),
        **({} if found.suite is None else {"suite": suite_data(found.suite)}),
        "by_site": {site.name: as_data(site) for site in found.sites},
        "dialect_disagreements": found.disagreements,
        "judges": [{"judge": one.judge, "prompt": one.prompt, "episodes": one.episodes} for one in found.judges],
        "notes": found.notes,
        **({} if made_with is None else {"made_with": made_with}),
        "results": [_result(one) for one in summary.results],
        "invocation": summary.invocation,
    }


def _result(one: Result) -> dict[str, object]:
    return {
        "task_id": one.task_id,
        "trial": one.trial,
        "status": one.status,
        "score": one.score,
        "steps": one.steps,
        "attempts": one.attempts,
        "resumed_from": one.resumed_from,
        "why": one.why,
        "doubts": one.doubts,
        "divergences": one.divergences,
        "policy_violations": one.policy_violations,
        **({"reference": one.digest} if one.is_corrected else {}),
    }


def _trials(trials: Trials) -> dict[str, object]:
    return {
        "tasks": trials.tasks,
        "pass_at_k": {str(k): some for k, some, _ in trials.at},
        "pass_hat_k": {str(k): every for k, _, every in trials.at},
    }


def _missed(results: Sequence[Result]) -> Iterator[str]:
    for one in results:
        if one.status != PASSED:
            yield f"{one.status}: task {one.task_id}{_trial(one)}: {one_line(one.reason)}"
    for one in results:
        for doubt in one.doubts if one.status != UNSCORED else ():
            yield f"in doubt: task {one.task_id}{_trial(one)}: {one_line(doubt)}"


def _trial(one: Result) -> str:
    return f" trial {one.trial}" if one.trial else ""
