"""The results of a run: one for each (task, trial), with all that lists, tables, charts and sums say about it.

Made of the index alone, so ten thousand tasks need no journal read. What a result calls its cause is a closed set of
words, by which failures are grouped; the sentence beside it is the evaluator's or the error's own.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from harness.journal.index import EpisodeResult
from harness.journal.names import JOURNAL_SUFFIX, name_of
from harness.records import Usage
from harness.runs.about import RunInfo, TaskPlace
from harness.runs.attribution import NO_ATTRIBUTIONS, Attribution, Attributions
from harness.runs.episode import Episode
from harness.runs.outcome import FAILED, NOT_FINISHED, UNSCORED, judged_by, score_of
from harness.runs.verified import OwnVerdict, OwnVerdicts, key_of

_Item = TypeVar("_Item")
_Key = TypeVar("_Key")
NOT_BEGUN = "not begun"
_UNKNOWN = TaskPlace()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One (task, trial) of a run; the defaults are those of a task that was not begun."""

    task_id: str
    trial: int
    page: str = ""
    """File name of its page; "" when there is nothing to show."""
    site: str = "-"
    """Its sites, joined by `+`."""
    intent: str = ""
    template: str = ""
    cluster: str
    """Tasks of one intent template share it."""
    status: str = UNSCORED
    """`passed`, `failed` or `unscored`."""
    score: float | None = None
    """In [0, 1]; None when unscored."""
    cause: str = NOT_BEGUN
    """Why it did not pass, in one of few words; "" when it did."""
    why: str = NOT_FINISHED
    """Why it is unscored or was closed for the agent: the sentence of the evaluator or the error."""
    unread: str = ""
    """What the agent said last, where it could not be understood."""
    steps: int = 0
    attempts: int = 0
    resumed_from: int | None = None
    """Last step that did not have to be done again in the current attempt; None = never interrupted."""
    resumes: int = 0
    divergences: int = 0
    """How often a resume did not lead to what is recorded."""
    policy_violations: int = 0
    """Different things that the agent's process was seen to try and may not do, in all attempts."""
    is_unconfined: bool = False
    """The agent was a process that nothing confined."""
    doubts: tuple[str, ...] = ()
    """The doubts of its score, one sentence each."""
    usage: Usage = field(default_factory=Usage)
    """Of the model under test, in all attempts."""
    judge: Usage = field(default_factory=Usage)
    """What judging cost; in none of the figures above."""
    inherited_steps: int = 0
    """Of a fork: steps of another run that it begins with."""
    inherited: Usage = field(default_factory=Usage)
    """What they cost that run; in none of the figures above."""
    elapsed_ms: float = 0.0
    """Working time of all attempts."""
    digest: str = ""
    """Of the task with the reference that scored it, so that runs can tell whether they asked the same."""
    is_corrected: bool = False
    """Whether that reference is not the one that was played."""
    is_disputed: bool = False
    """Whether the two scorings judge it differently."""
    judged: tuple[str, str] | None = None
    """Judge and prompt that decided its score; None = no judge did."""
    verified: OwnVerdict | None = None
    """Of the scorer of webarena-verified, on the attempt that counts; None = it was not asked."""
    attribution: Attribution | None = None
    """Why it did not pass, by rule; None = it passed, has not ended, or `harness attribute` has not looked at it."""

    @property
    def tokens(self) -> int:
        return self.usage.tokens

    @property
    def cost_usd(self) -> float:
        return self.usage.cost_usd

    @property
    def priced(self) -> bool:
        """Whether all of it has a price; otherwise `cost_usd` is a lower bound."""
        return self.usage.priced

    @property
    def reason(self) -> str:
        """Why it did not pass, for people: where the agent could not be understood, what it said."""
        if not self.page:
            return self.cause
        return f"unreadable replies: {self.unread}" if self.why and self.unread else self.why

    @property
    def detail(self) -> str:
        """What `reason` says beyond `cause`."""
        said = self.reason.removeprefix("evaluator error: ").removeprefix("infrastructure: ")
        return said.removeprefix(self.cause).lstrip(": ")

    @property
    def verdict(self) -> str:
        """Whose failure it is, where that is known; else its status."""
        return self.attribution.kind if self.attribution else self.status

    @property
    def name(self) -> str:
        """The task, and its trial unless that is the first."""
        return f"{self.task_id} · trial {self.trial}" if self.trial else self.task_id


def result_of(
    outcome: EpisodeResult,
    scoring: str,
    verified: OwnVerdicts | None = None,
    attributions: Attributions = NO_ATTRIBUTIONS,
) -> Result:
    """What an episode has come to; `verified` and `attributions` are those of the run."""
    score = score_of(outcome, scoring)
    verdict = verified.by_trial.get(key_of(outcome.task_id, outcome.trial)) if verified else None
    return Result(
        task_id=outcome.task_id,
        trial=outcome.trial,
        page=page_of(outcome),
        site=_site(outcome),
        intent=outcome.intent,
        template=outcome.template,
        cluster=outcome.template_id or f"task {outcome.task_id}",
        status=score.status,
        score=score.value,
        cause=score.cause,
        why=score.why,
        unread=outcome.unread if score.status == FAILED else "",
        steps=outcome.steps,
        attempts=outcome.attempt,
        resumed_from=outcome.resumed_from,
        resumes=outcome.resumes,
        divergences=outcome.divergences,
        policy_violations=outcome.violations,
        is_unconfined=outcome.is_unconfined,
        doubts=outcome.doubts,
        usage=outcome.usage,
        judge=outcome.judge_usage,
        inherited_steps=outcome.fork.step if outcome.fork else 0,
        inherited=outcome.inherited_usage,
        elapsed_ms=outcome.elapsed_ms,
        digest=score.reference or outcome.task_digest,
        is_corrected=bool(score.reference),
        is_disputed=len({(one.status, one.value) for one in outcome.scores.values()}) > 1,
        judged=judged_by(outcome, scoring),
        verified=verdict if verdict is not None and verdict.attempt == outcome.attempt else None,
        attribution=attributions.of(outcome, score),
    )


def results_of(outcomes: Iterable[EpisodeResult], known: RunInfo) -> tuple[Result, ...]:
    """In task order, with one for each episode of the run that was not begun yet."""
    outcomes = tuple(outcomes)
    results = [result_of(outcome, known.dialect, known.verified, known.attributions) for outcome in outcomes]
    results += unbegun(outcomes, known)
    return tuple(sorted(results, key=lambda one: (natural(one.task_id), one.trial)))


def episodes_of(known: RunInfo) -> Iterator[tuple[str, int]]:
    """Task id and trial of each episode that a run is about, begun or not."""
    return ((task, trial) for trial in range(known.trials) for task in known.tasks)


def unbegun(outcomes: Collection[EpisodeResult], known: RunInfo) -> Iterator[Result]:
    """One for each episode of a run that none of its outcomes is of.

    It counts where the other trials of its task do; without any, where `run.json` says.
    """
    begun = {(one.task_id, one.trial) for one in outcomes}
    missing = [pair for pair in episodes_of(known) if pair not in begun]
    if not missing:
        return
    trials = {one.task_id: one for one in sorted(outcomes, key=lambda one: one.trial, reverse=True)}
    wordings = {one.template_id: one.template for one in outcomes if one.template_id}
    for task_id, trial in missing:
        if (other := trials.get(task_id)) is not None:
            place = TaskPlace(site=_site(other), template_id=other.template_id)
            yield replace(not_begun(task_id, trial, place), template=other.template, intent=other.intent)
        else:
            place = known.of_tasks.get(task_id, _UNKNOWN)
            yield replace(not_begun(task_id, trial, place), template=wordings.get(place.template_id, ""))


def not_begun(task_id: str, trial: int, place: TaskPlace = _UNKNOWN) -> Result:
    """The result of an episode that has no journal."""
    return Result(task_id=task_id, trial=trial, site=place.site, cluster=place.template_id or f"task {task_id}")


def _site(outcome: EpisodeResult) -> str:
    return "+".join(outcome.sites) or "-"


def is_selected(known: RunInfo) -> Callable[[str, int], bool]:
    """Says of a task and trial whether a run is about them now: about all, where its tasks are not known."""
    tasks = frozenset(known.tasks)
    return lambda task_id, trial: not tasks or (task_id in tasks and trial < known.trials)


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Items by their key, in their order."""
    found: dict[_Key, list[_Item]] = {}
    for one in items:
        found.setdefault(key(one), []).append(one)
    return found


def page_of(episode: EpisodeResult | Episode) -> str:
    """File name of the page of an episode."""
    return name_of(episode.task_id, episode.trial).removesuffix(JOURNAL_SUFFIX) + ".html"


def select(  # noqa: PLR0913 (a filter each)
    results: Sequence[Result], *, text: str = "", status: str = "", site: str = "", cause: str = "", kind: str = ""
) -> tuple[Result, ...]:
    """Those all given filters let through; `text` is looked for in id, intent, cause and rule, without case."""
    wanted = text.casefold().split()
    return tuple(
        one
        for one in results
        if status in ("", one.status)
        and site in ("", one.site)
        and cause in ("", one.cause)
        and kind in ("", one.attribution.kind if one.attribution else None)
        and all(word in _searched(one) for word in wanted)
    )


def _searched(one: Result) -> str:
    return f"{one.task_id} {one.intent} {one.cause} {one.attribution.rule if one.attribution else ''}".casefold()


def natural(task_id: str) -> tuple[tuple[int, int, str], ...]:
    """Numbers in a task id in their own order: 2 before 10."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", task_id)
    # Numbers and texts cannot be compared, so each has a place of its own.
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts)
