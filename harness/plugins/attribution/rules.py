"""The rules, in the order in which they are asked: the first that fires says why an episode did not pass.

What the harness or the environment did comes before what the model did, as what an agent does on a page that keeps it
out says nothing about it; among the model's failures, what ended the episode comes before what was wrong with its end.
Everything is read from what is recorded: nothing is asked, no model and no site.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from harness.api import Closed, CloseReason, Goto, InvalidAction, Observation, Stop, Target
from harness.plugins.attribution.answer_form import is_wrong_form, references_of
from harness.plugins.attribution.page_signs import LOGIN, Sign, sign_of
from harness.plugins.attribution.refusals import kind_of_refusal
from harness.runs import PASSED, Episode, Step, one_line
from harness.runs.attribution import ENVIRONMENT, HARNESS, MODEL, UNEXPLAINED, Attribution
from harness.runs.loops import LEAST, is_loop, repeated

VERSION = 2
"""Of the rules: an attribution by another version is made again."""
_HARNESS_FAILURES = {
    "ModelUnavailable": "model endpoint not available",
    "RequestRefused": "model endpoint refused the request",
    "BrowserCrashed": "browser crashed",
    "BrowserLost": "browser crashed",
    "EnvironmentDiverged": "resume diverged",
    "AgentDiverged": "resume diverged",
    "PluginFailed": "agent or plug-in broke down",
    "ActionInDoubt": "action in doubt",
}
_GAVE_UP = ("n/a", "na", "none", "impossible", "not possible", "cannot be done")


@dataclass(frozen=True)  # without slots, which cached properties need
class Case:
    """An episode that did not pass."""

    episode: Episode

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        return self.episode.steps

    @cached_property
    def acted(self) -> tuple[Step, ...]:
        """Without a final stop."""
        return tuple(step for step in self.steps if not isinstance(step.action, Stop))

    @property
    def closed(self) -> Closed | None:
        return self.episode.record.closed

    @property
    def last(self) -> int | None:
        return self.steps[-1].number if self.steps else None

    @cached_property
    def pages(self) -> tuple[tuple[int, Observation], ...]:
        """Each page with the step that led to it; 0 = the start."""
        arrival = self.episode.record.arrival
        found = [(0, arrival.observation)] if arrival else []
        return (*found, *((step.number, step.page) for step in self.steps if step.page is not None))

    @property
    def end(self) -> tuple[int, Observation] | None:
        return self.pages[-1] if self.pages else None

    @cached_property
    def evidence_pages(self) -> tuple[str, ...]:
        """Addresses that the evaluators look at, where the task names them."""
        opened, scored = self.episode.record.opened, self.episode.record.scores.get(self.episode.scoring)
        if opened is None:
            return ()
        judged = scored.reference.eval if scored is not None and scored.reference is not None else opened.task.eval
        urls = (judged.reference_url or "").split(" |OR| ") if "url_match" in judged.eval_types else []
        urls += [one.url for one in judged.program_html if one.url.startswith("http")]
        return tuple(url for url in urls if url)

    def found(self, kind: str, rule: str, step: int | None, why: str) -> Attribution:
        """The attribution; what is before the first step is shown at it, and what is after the last one at that."""
        step = None if step is None or self.last is None else min(max(1, step), self.last)
        return Attribution(kind=kind, rule=rule, step=step, why=one_line(why, 300))


def attribute(episode: Episode) -> Attribution | None:
    """Why an episode did not pass; None = it passed, or has not ended.

    Raises:
        JournalError: Its journal is damaged.
    """
    if episode.status == PASSED:
        return None
    case = Case(episode)
    if case.closed is None and not episode.result.failure_type:
        return None
    return next((found for rule in RULES if (found := rule(case)) is not None), None) or case.found(
        UNEXPLAINED, "no rule fired", case.last, episode.score.why or episode.cause
    )


def _infrastructure(case: Case) -> Attribution | None:
    failed = case.episode.result.failure_type
    if case.closed is not None or not failed:
        return None
    if failed == "SiteUnavailable":
        return case.found(ENVIRONMENT, "site not available", case.last, case.episode.score.why)
    rule = _HARNESS_FAILURES.get(failed, "infrastructure failure")
    return case.found(HARNESS, rule, case.last, case.episode.score.why)


def _not_judged(case: Case) -> Attribution | None:
    score = case.episode.score
    if score.value is not None or case.closed is None:
        return None
    if blocked := case.closed.evidence.blocked:
        return case.found(ENVIRONMENT, "blocked", case.last, blocked[0])
    said = score.why.removeprefix("evaluator error: ")
    if "judge did not answer" in said or "needs a judge" in said:
        return case.found(HARNESS, "judge not available", case.last, said)
    return case.found(HARNESS, "evaluator error", case.last, said or "it ended and is not scored")


def _kept_out(case: Case) -> Attribution | None:
    """A page of the environment's on which the episode ended, or in the place of one that it needed."""
    needed = {_place(url) for url in case.evidence_pages}
    signs = [(number, page, sign) for number, page in case.pages if (sign := sign_of(page)) is not None]
    for number, page, sign in signs:
        if _place(page.url) in needed or number == 0:
            if not _went_on(case, page, sign):
                return case.found(ENVIRONMENT, sign.rule, number + 1, f"{page.url} says: {sign.said}")
    if signs and case.end is not None and signs[-1][0] == case.end[0]:
        first = _first_of_the_last(case, signs[-1][2])
        own = next((step for step in case.steps if step.number == first), None)
        if own is not None and isinstance(own.action, Goto):
            return None  # an address that the agent made up: not to be let in there is no fault of the site
        page = signs[-1][1]
        return case.found(ENVIRONMENT, signs[-1][2].rule, first, f"{page.url} says: {signs[-1][2].said}")
    return None


def _went_on(case: Case, page: Observation, sign: Sign) -> bool:
    """Whether the same address was seen later as it should be, or its login was passed."""
    later = [other for _, other in case.pages if _place(other.url) == _place(page.url)]
    if sign.rule == LOGIN:
        return case.end is not None and sign_of(case.end[1]) is None
    return any(sign_of(other) is None for other in later[later.index(page) :])


def _first_of_the_last(case: Case, sign: Sign) -> int:
    """The step that led to the pages with this sign at the end."""
    number = case.pages[-1][0]
    for at, page in reversed(case.pages):
        found = sign_of(page)
        if found is None or found.rule != sign.rule:
            break
        number = at
    return number


def _in_doubt(case: Case) -> Attribution | None:
    step = next((step for step in case.steps if step.outcome == "unknown"), None)
    if step is None:
        return None
    return case.found(HARNESS, "action in doubt", step.number, f"it is not known whether it took effect: {step.text}")


def _unreadable(case: Case) -> Attribution | None:
    if case.closed is None or case.closed.reason is not CloseReason.PARSE_FAILURES:
        return None
    broken = [step for step in case.steps if isinstance(step.action, InvalidAction)]
    first = broken[0].number if broken else case.last
    return case.found(MODEL, "unreadable replies", first, case.episode.result.unread or case.closed.detail)


def _loop(case: Case) -> Attribution | None:
    """The same action on the same page, again and again, to the end or for most of the way."""
    acted = case.acted
    again = repeated([(step.seen.fingerprint if step.seen else "", _what(step)) for step in acted])
    if case.closed is not None and case.closed.reason is CloseReason.REPEATED:
        again = again or [at for at, step in enumerate(acted) if _what(step) == _what(acted[-1])]
    if not is_loop(again, len(acted), is_at_limit=_is_at_limit(case)):
        return None
    first = acted[again[0]]
    return case.found(MODEL, "loop", first.number, f"{len(again)} of {len(acted)} actions repeat {first.text}")


def _refused(case: Case) -> Attribution | None:
    """Actions that could not be performed, with none performed after them, or half of all.

    Where a limit ended the episode, the last one may be refused by chance: then only several count.
    """
    refused = [step for step in case.acted if step.outcome == "refused"]
    if not refused:
        return None
    tail = case.acted[-LEAST:] if _is_at_limit(case) else case.acted[-1:]
    is_last = all(step.outcome == "refused" for step in tail)
    if not is_last and not (len(refused) >= LEAST and len(refused) * 2 >= len(case.acted)):
        return None
    begun = refused[-1]
    for step in reversed(case.acted if is_last else refused):
        if step.outcome != "refused":
            break
        begun = step
    kind, rule = kind_of_refusal(begun.why_not)
    return case.found(kind, rule, begun.number, f"{begun.text}: {begun.why_not}")


def _limit(case: Case) -> Attribution | None:
    if case.closed is None or not _is_at_limit(case):
        return None
    rule = "budget spent" if case.closed.reason is CloseReason.BUDGET else "step limit"
    return case.found(MODEL, rule, case.last, case.closed.detail)


def _answer_form(case: Case) -> Attribution | None:
    """The answer holds what is asked for, in another form than the evaluator accepts."""
    answers = references_of(case.episode)
    if answers and case.episode.answer and is_wrong_form(case.episode.answer, answers):
        return case.found(MODEL, "wrong answer form", case.last, case.episode.score.why)
    return None


def _stopped_early(case: Case) -> Attribution | None:
    if case.closed is None or case.closed.reason is not CloseReason.STOPPED:
        return None
    opened = case.episode.record.opened
    assert opened is not None
    if not any(step.outcome == "done" for step in case.acted):
        return case.found(MODEL, "stopped early", case.last, "it stopped before any action was performed")
    answers = references_of(case.episode)
    answer = case.episode.answer.strip()
    if answers and answer.casefold().strip(" .") in ("", *_GAVE_UP):
        return case.found(MODEL, "stopped early", case.last, f"it gave up: its answer is {answer!r}")
    wants_change = "program_html" in opened.task.eval.eval_types and opened.task.mutates is not False
    changed = any(not effect.by_load for step in case.steps for effect in step.effects)
    if wants_change and not changed and _missed(case, "program_html"):
        return case.found(MODEL, "stopped early", case.last, "it stopped before it sent anything that changes a site")
    return None


def _never_there(case: Case) -> Attribution | None:
    """None of the pages that the evaluators look at was reached."""
    if not (needed := case.evidence_pages) or not _missed(case, "url_match", "program_html"):
        return None
    visited = {_place(page.url) for _, page in case.pages}
    if any(_place(url) in visited for url in needed):
        return None
    where = case.end[1].url if case.end else "no page"
    return case.found(MODEL, "never reached the page", case.last, f"it ended at {where}, and never was at {needed[0]}")


def _other_page(case: Case) -> Attribution | None:
    """The page that was asked for was reached, and the episode ended on another one, or with other parameters."""
    if not _missed(case, "url_match") or case.end is None:
        return None
    needed = {_place(url) for url in case.evidence_pages}
    last = max((number for number, page in case.pages if _place(page.url) in needed), default=None)
    if last is None:
        return None
    if last == case.end[0]:
        said = f"it ended at {case.end[1].url}, and {case.evidence_pages[0]} was asked for"
        return case.found(MODEL, "other parameters", case.last, said)
    return case.found(MODEL, "left the page", last + 1, f"it was on the page asked for after step {last}, and left it")


def _wrong_answer(case: Case) -> Attribution | None:
    if not _missed(case, "string_match") or not case.episode.answer:
        return None
    return case.found(MODEL, "wrong answer", case.last, case.episode.score.why)


def _is_at_limit(case: Case) -> bool:
    ended = case.closed.reason if case.closed is not None else None
    return ended in (CloseReason.MAX_STEPS, CloseReason.BUDGET, CloseReason.REPEATED)


def _missed(case: Case, *evaluators: str) -> bool:
    """Whether one of these evaluators is not content."""
    scored = case.episode.record.scores.get(case.episode.scoring)
    return scored is not None and any(
        one.evaluator in evaluators and one.value is not None and one.value < 1 for one in scored.verdicts
    )


def _what(step: Step) -> str:
    """The action, with its elements by role and name: a page that is opened again has other ids."""
    return repr(
        step.action.with_targets(
            lambda target: Target(id="", role=target.role, name=target.name, nth=target.nth) if target.role else target
        )
    )


def _place(url: str) -> str:
    """Host and path of an address; what cannot be parsed is only itself."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.netloc.casefold()}{parts.path.rstrip('/')}"


RULES: Sequence[Callable[[Case], Attribution | None]] = (
    _infrastructure,
    _not_judged,
    _kept_out,
    _in_doubt,
    _unreadable,
    _loop,
    _refused,
    _limit,
    _answer_form,
    _stopped_early,
    _never_there,
    _other_page,
    _wrong_answer,
)
