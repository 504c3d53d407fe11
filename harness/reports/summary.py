"""The results of a run: counts, rates and costs, read from its journals.

There are three outcomes: passed, failed, and unscored (an infrastructure failure, or evidence that could not be
judged). An unscored episode stays in the denominator of `success_rate` but not in that of `success_rate_scored`. An
episode is one trial of one task; tasks and episodes are counted separately.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from harness.journal.index import EpisodeResult
from harness.records import Task, Usage
from harness.records.optional import optional
from harness.reports.basis import Counts
from harness.reports.confinement import unconfined_notes
from harness.reports.corrected import corrected_notes
from harness.reports.judge_error import JudgeUse, counted_uses
from harness.reports.suite_rates import SuiteRates
from harness.reports.trials import Trials, counted, trials_of
from harness.runs.outcome import FAILED, PASSED, UNSCORED, judged_by, said_instead, score_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One (task, trial)."""

    task_id: str
    trial: int
    status: str
    """`passed`, `failed` or `unscored`."""
    score: float | None
    """In [0, 1]; None when unscored."""
    steps: int
    attempts: int
    resumed_from: int | None
    """Last step that did not have to be done again in the current attempt; None = never interrupted."""
    why: str = ""
    """Why it is unscored or was closed for the agent."""
    doubts: tuple[str, ...] = ()
    """The doubts of its score, one sentence each."""
    divergences: int = 0
    """How often a resume did not lead to what is recorded."""
    policy_violations: int = 0
    """Different things that the agent's process was seen to try and may not do, in all attempts."""
    reference: str = optional("")
    """Digest of the task with the corrected reference that scored it; "" = the one that was played did."""
    unread: str = optional("")
    """See `EpisodeResult.unread`; not in `summary.json`."""

    @property
    def reason(self) -> str:
        """Why it did not pass, for people: where the agent could not be understood, what it said."""
        return said_instead(self.why, self.unread)


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over some results."""

    tasks: int = 0
    episodes: int = 0
    """Tasks × trials; so `passed`, `failed` and `unscored`."""
    passed: int = 0
    failed: int = 0
    unscored: int = 0
    doubts: int = 0
    """Scores with a doubt: an action in doubt, or a site that an earlier attempt may have changed.
    """
    divergences: int = 0
    """Resumes that did not lead to what is recorded."""
    policy_violations: int = 0
    """See `Result.policy_violations`."""
    tokens: int = 0
    """Of the model under test; so `cost_usd`."""
    cost_usd: float = 0.0
    usage: Usage = field(default_factory=Usage)
    """The same in full: what was cached, and what reasoning took."""
    judge: Usage = field(default_factory=Usage)
    """What judging cost."""
    inherited_steps: int = 0
    """Of a fork: steps of another run that its episodes begin with."""
    inherited: Usage = field(default_factory=Usage)
    """What they cost that run; in no figure above."""

    @property
    def success_rate(self) -> float:
        """Mean score over all episodes, unscored ones as 0; 0.0 without any."""
        return self.passed / self.episodes if self.episodes else 0.0

    @property
    def counted(self) -> str:
        """How many tasks, trials and episodes."""
        return counted(self.tasks, self.episodes)

    @property
    def success_rate_scored(self) -> float | None:
        """Over scored episodes; None when there is none."""
        scored = self.passed + self.failed
        return self.passed / scored if scored else None


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
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    run_id: str
    dialect: str
    overall: Totals
    by_site: Mapping[str, Totals]
    """Site combination, joined by `+`, to its tally."""
    results: tuple[Result, ...]
    disagreements: tuple[str, ...]
    """Tasks the two scoring dialects judge differently."""
    working_s: float
    """Deciding and acting over all starts; downtime is not in it."""
    priced: bool
    trials: Trials | None = None
    """What repeated trials say; None without any."""
    suite: SuiteRates | None = None
    """By benchmark; None = the run is no suite."""
    judges: tuple[JudgeUse, ...] = ()
    """Whose verdicts are in the rate; their errors are looked up when it is shown."""
    notes: tuple[str, ...] = ()
    """What a reader of the numbers has to know about how they were made, a sentence each."""
    divergences: int = 0
    """Over all attempts: how often the page was another one after a resume."""
    invocation: Invocation = field(default_factory=Invocation)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryEntry:
    """A (task, trial) of the run, and what has become of it; None = nothing yet."""

    task: Task
    trial: int
    outcome: EpisodeResult | None


def result_of(entry: SummaryEntry, dialect: str) -> Result:
    """Classify one (task, trial)."""
    outcome = entry.outcome
    score = score_of(outcome, dialect)
    return Result(
        task_id=entry.task.task_id,
        trial=entry.trial,
        status=score.status,
        score=score.value,
        steps=outcome.steps if outcome else 0,
        attempts=outcome.attempt if outcome else 0,
        resumed_from=outcome.resumed_from if outcome else None,
        why=score.why,
        doubts=outcome.doubts if outcome else (),
        divergences=outcome.divergences if outcome else 0,
        policy_violations=outcome.violations if outcome else 0,
        reference=score.reference,
        unread=outcome.unread if outcome and score.status == FAILED else "",
    )


def summarize(
    run_id: str,
    entries: Iterable[SummaryEntry],
    dialect: str,
    invocation: Invocation,
    *,
    notes: tuple[str, ...] = (),
) -> Summary:
    """Fold entries into one summary, in the order given."""
    results: list[Result] = []
    found_by_site: dict[str, list[_Found]] = {}
    disagreements: list[str] = []
    judged: list[tuple[str, str]] = []
    working_ms, priced, divergences, unconfined = 0.0, True, 0, 0
    for entry in entries:
        result = result_of(entry, dialect)
        results.append(result)
        found = _found(result, entry.outcome)
        found_by_site.setdefault("+".join(entry.task.sites) or "-", []).append(found)
        priced = priced and found.usage.priced
        if entry.outcome:
            working_ms += entry.outcome.elapsed_ms
            divergences += entry.outcome.divergences
            unconfined += entry.outcome.is_unconfined
            judged += [pair] if (pair := judged_by(entry.outcome, dialect)) is not None else []
            if len({(score.status, score.value) for score in entry.outcome.scores.values()}) > 1:
                disagreements.append(result.task_id)
    return Summary(
        run_id=run_id,
        dialect=dialect,
        overall=_tally([one for found in found_by_site.values() for one in found]),
        by_site={site: _tally(found) for site, found in sorted(found_by_site.items())},
        results=tuple(results),
        disagreements=tuple(dict.fromkeys(disagreements)),
        working_s=working_ms / 1000,
        priced=priced,
        trials=_trials(results),
        judges=counted_uses(judged),
        notes=(
            *notes,
            *unconfined_notes(unconfined),
            *corrected_notes(sum(bool(result.reference) for result in results)),
        ),
        divergences=divergences,
        invocation=invocation,
    )


class _Found(NamedTuple):
    result: Result
    usage: Usage = Usage()
    judge_usage: Usage = Usage()
    inherited_steps: int = 0
    inherited: Usage = Usage()


def _found(result: Result, outcome: EpisodeResult | None) -> _Found:
    if outcome is None:
        return _Found(result)
    steps = outcome.fork.step if outcome.fork else 0
    return _Found(result, outcome.usage, outcome.judge_usage, steps, outcome.inherited_usage)


def _tally(found: Sequence[_Found]) -> Totals:
    statuses = [one.result.status for one in found]
    return Totals(
        tasks=len({one.result.task_id for one in found}),
        episodes=len(found),
        passed=statuses.count(PASSED),
        failed=statuses.count(FAILED),
        unscored=statuses.count(UNSCORED),
        doubts=sum(bool(one.result.doubts) and one.result.status != UNSCORED for one in found),
        divergences=sum(one.result.divergences for one in found),
        policy_violations=sum(one.result.policy_violations for one in found),
        tokens=sum(one.usage.tokens for one in found),
        cost_usd=sum(one.usage.cost_usd for one in found),
        usage=sum((one.usage for one in found), Usage()),
        judge=sum((one.judge_usage for one in found), Usage()),
        inherited_steps=sum(one.inherited_steps for one in found),
        inherited=sum((one.inherited for one in found), Usage()),
    )


def counts_of(summary: Summary) -> Counts:
    """What a summary says of itself, for `basis`."""
    return Counts(
        dialect=summary.dialect,
        usage=summary.overall.usage,
        divergences=summary.divergences,
        unscored=summary.overall.unscored,
        judges=summary.judges,
    )


def as_json(summary: Summary, *, made_with: Mapping[str, object] | None = None) -> dict[str, object]:
    """The content of `summary.json`; `made_with` is what `basis` gives."""
    return {
        "run_id": summary.run_id,
        "scoring": summary.dialect,
        **_tally_json(summary.overall),
        "trials": None if summary.trials is None else _trials_json(summary.trials),
        "priced": summary.priced,
        "working_s": round(summary.working_s, 3),
        **({} if summary.suite is None else {"suite": summary.suite}),
        "by_site": {site: _tally_json(tally) for site, tally in summary.by_site.items()},
        "dialect_disagreements": summary.disagreements,
        "judges": [{"judge": one.judge, "prompt": one.prompt, "episodes": one.episodes} for one in summary.judges],
        "notes": summary.notes,
        **({} if made_with is None else {"made_with": made_with}),
        "results": [replace(one, unread="") for one in summary.results],
        "invocation": summary.invocation,
    }


def _trials(results: Iterable[Result]) -> Trials | None:
    passes: dict[str, list[float]] = {}
    for result in results:
        if result.status != UNSCORED:
            passes.setdefault(result.task_id, []).append(float(result.status == PASSED))
    return trials_of(passes)


def _trials_json(trials: Trials) -> dict[str, object]:
    return {
        "tasks": trials.tasks,
        "pass_at_k": {str(k): some for k, some, _ in trials.at},
        "pass_hat_k": {str(k): every for k, _, every in trials.at},
    }


def _tally_json(tally: Totals) -> dict[str, object]:
    return {
        "tasks": tally.tasks,
        "episodes": tally.episodes,
        "passed": tally.passed,
        "failed": tally.failed,
        "unscored": tally.unscored,
        "doubts": tally.doubts,
        "divergences": tally.divergences,
        "policy_violations": tally.policy_violations,
        "success_rate": tally.success_rate,
        "success_rate_scored": tally.success_rate_scored,
        "tokens": tally.tokens,
        "cost_usd": tally.cost_usd,
        "cache": {
            "read_tokens": tally.usage.cached_tokens,
            "write_tokens": tally.usage.cache_write_tokens,
            "share": tally.usage.cached_tokens / tally.usage.prompt_tokens if tally.usage.prompt_tokens else 0.0,
            "saved_usd": tally.usage.saved_usd,
        },
        "reply_cache": _reply_cache_json(tally.usage),
        "inherited": {
            "steps": tally.inherited_steps,
            "tokens": tally.inherited.tokens,
            "cost_usd": tally.inherited.cost_usd,
        },
        "reasoning_tokens": tally.usage.reasoning_tokens,
        "judge": {
            "tokens": tally.judge.tokens,
            "cost_usd": tally.judge.cost_usd,
            "priced": tally.judge.priced,
            "requests": tally.judge.requests,
            "reply_cache": _reply_cache_json(tally.judge),
        },
    }


def _reply_cache_json(usage: Usage) -> dict[str, object]:
    """How many requests it answered, and which part of all."""
    asked = usage.from_cache + usage.requests
    return {"replies": usage.from_cache, "share": usage.from_cache / asked if asked else 0.0}
