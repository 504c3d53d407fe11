"""An episode of a run, step by step: what was seen, asked, decided, done, and what it came to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from harness.actions import Action
from harness.errors import JournalError
from harness.journal.index import EpisodeResult
from harness.journal.log import attempts
from harness.journal.store import ArtifactStore, journal_name
from harness.records import Acted, Asked, Decided, Observation, Refused, SideEffect, Status, Unknown, Usage
from harness.records import Episode as Recorded
from harness.runs.attribution import NO_ATTRIBUTIONS, Attribution, Attributions
from harness.runs.outcome import Score, score_of
from harness.runs.request import Request, ToolCall, own_request, process_request


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One decision, the requests it was made with, and what came of it."""

    text: str
    """What it did, or is to do, on one line, as reports write it: `click [12] link 'Harbor Mug'`."""
    decided: Decided
    """The record of the decision."""
    acted: Acted | None
    """The record of its result; None = it was not performed: the attempt ended with it, or it is pending."""
    seen: Observation | None
    """The page decided upon."""
    requests: tuple[Request, ...]
    """Those made since the step before, in order; the last one is the one it was read from. () for a further action of
    the same answer, and for agents without a model."""
    read_from: Request | None = field(repr=False)
    """The request that it was read from: the last one of `requests`, or of a further action of the same answer that of
    the step before. None for agents without a model and agents' own processes."""
    place: int
    """Place of the action in that answer, 0-based."""
    usage: Usage
    """What the decision cost, with what the agent's process asked before it."""
    is_inherited: bool
    """It was recorded by the run that this one is a fork of, and cost that one."""
    artifacts: ArtifactStore = field(repr=False, compare=False)

    @property
    def number(self) -> int:
        """1-based within the attempt."""
        return self.decided.step

    @property
    def action(self) -> Action:
        return self.decided.action

    @property
    def call(self) -> ToolCall | None:
        """The function call that it was read from; None for an agent that answers in text.

        Raises:
            JournalError: An artifact of the request is missing or damaged.
        """
        calls = self.read_from.calls if self.read_from else ()
        return calls[self.place] if self.place < len(calls) else None

    @property
    def name(self) -> str:
        """Of the function called, or of the kind of action. Raises: as `call`."""
        return self.call.name if self.call else self.action.kind

    @property
    def reply(self) -> str:
        """The model's text, verbatim."""
        return self.decided.reply

    @property
    def own_usage(self) -> Usage:
        """What it cost this run: nothing where it is inherited."""
        return Usage() if self.is_inherited else self.usage

    @property
    def page(self) -> Observation | None:
        """The page that the action led to."""
        return self.acted.observation if self.acted else None

    @property
    def outcome(self) -> str:
        """`done`, `refused`, `unknown` (interrupted, and not performed again), or "" = not performed."""
        return self.acted.outcome.kind if self.acted else ""

    @property
    def why_not(self) -> str:
        """Why it was not performed, or not known to be; "" = it was."""
        outcome = self.acted.outcome if self.acted else None
        return outcome.why if isinstance(outcome, Refused | Unknown) else ""

    @property
    def effects(self) -> tuple[SideEffect, ...]:
        """Requests of the page that may have changed a site."""
        return self.acted.effects if self.acted else ()

    @property
    def reward(self) -> float | None:
        """What the benchmark gave for it; None = it gives none."""
        return self.acted.reward if self.acted else None

    @property
    def began(self) -> float:
        """When the action began, seconds since the epoch; so `ended`."""
        at = self.decided.at
        return at if self.acted is None else max(at, self.acted.at - self.acted.elapsed_ms / 1000)

    @property
    def ended(self) -> float:
        return self.decided.at if self.acted is None else self.acted.at

    def screenshot(self) -> bytes | None:
        """PNG of the page that the action led to, or of the page decided upon where it was not performed.

        Raises:
            JournalError: It is missing or damaged.
        """
        page = self.page or self.seen
        return self.artifacts.read(page.screenshot) if page is not None and page.screenshot else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """Where the episodes of a run lie, and how they are scored."""

    path: Path
    scoring: str
    artifacts: ArtifactStore
    attributions: Attributions = NO_ATTRIBUTIONS


class Episode:
    """One trial of one task: its newest attempt, with sums over all attempts.

    What it came to is known at once; its journal is read when steps, requests or records are asked for, and is held as
    long as the episode is.
    """

    def __init__(self, files: RunFiles, result: EpisodeResult, *, stamp: tuple[int, int] | None = None) -> None:
        """`files`: where it lies; `result`: its figures; `stamp`: see there."""
        self._files = files
        self.result = result
        self.stamp = stamp
        """Size and modification time (ns) of its journal: while they stay, so does the record; None = not known."""

    @property
    def task_id(self) -> str:
        return self.result.task_id

    @property
    def trial(self) -> int:
        """0-based."""
        return self.result.trial

    @property
    def intent(self) -> str:
        return self.result.intent

    @property
    def sites(self) -> tuple[str, ...]:
        return self.result.sites

    @property
    def attempt(self) -> int:
        """Number of the newest attempt."""
        return self.result.attempt

    @property
    def is_finished(self) -> bool:
        """Whether it has ended; it may still have no score."""
        return self.result.closed is not None

    @property
    def usage(self) -> Usage:
        """What its requests cost, all attempts together, without judging."""
        return self.result.usage

    @cached_property
    def score(self) -> Score:
        """In the scoring of the run."""
        return score_of(self.result, self._files.scoring)

    @property
    def status(self) -> str:
        """`passed`, `failed` or `unscored`."""
        return self.score.status

    @property
    def cause(self) -> str:
        """Why it did not pass, in one of few words; "" when it did."""
        return self.score.cause

    @property
    def attribution(self) -> Attribution | None:
        """Why it did not pass, by rule; None = it passed, or `harness attribute` has not looked at it."""
        return self._files.attributions.of(self.result, self.score)

    def score_in(self, scoring: str) -> Score:
        """In another scoring: `corrected` or `webarena`."""
        return score_of(self.result, scoring)

    @cached_property
    def record(self) -> Recorded:
        """The journal, as its records add up.

        Raises:
            JournalError: It is damaged.
        """
        if not self.attempts:
            raise JournalError(f"{self._path} has been removed; read the run again")
        return self.attempts[-1]

    @cached_property
    def attempts(self) -> tuple[Recorded, ...]:
        """The records of every attempt, the newest last; () = the journal has been removed.

        Raises:
            JournalError: The journal is damaged.
        """
        return attempts(self._path)

    @property
    def answer(self) -> str:
        """What the agent answered; "" without an answer."""
        return self.record.closed.answer if self.record.closed else ""

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Of the newest attempt, a final stop or a pending decision included; no artifact is read for them.

        Raises:
            JournalError: The journal is damaged.
        """
        return tuple(self._steps())

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """All answered requests of the newest attempt, in order."""
        steps, asked = self.steps, self.record.asked
        later = tuple(one for one in asked if not steps or one.step > steps[-1].number)
        before = len(asked) - len(later) + sum(bool(step.decided.prompt) for step in steps)
        known = (request for step in steps for request in step.requests)
        return (*known, *self._asked(later, before))

    def bounds(self) -> tuple[float, float]:
        """When the newest attempt began and when something was last recorded of it, seconds since the epoch."""
        record = self.record
        assert record.opened is not None
        times = [step.acted.at for step in record.steps] + [step.decided.at for step in record.steps]
        times += [scored.at for scored in record.scores.values()] + [failed.at for failed in record.failures]
        times += [one.at for one in (record.pending, record.closed, record.arrival) if one is not None]
        return record.opened.at, max([record.opened.at, *times])

    def why_unscored(self) -> str:
        """Why there is no score in any scoring; "" = there is one."""
        scores = self.record.scores
        if any(scored.status is Status.OK and scored.value is not None for scored in scores.values()):
            return ""
        for scored in scores.values():
            for verdict in scored.verdicts:
                if verdict.status is Status.ERROR:
                    return f"{verdict.evaluator}: {verdict.why}"
        if self.record.closed is not None:
            return "the episode ended and is not scored yet"
        if self.record.failures:
            failed = self.record.failures[-1]
            return f"{failed.type}: {failed.message} (while trying to {failed.boundary})"
        return "the episode is still pending; run the same command again to finish it"

    @property
    def scoring(self) -> str:
        """The scoring of `score`."""
        return self._files.scoring

    @property
    def artifacts(self) -> ArtifactStore:
        return self._files.artifacts

    @property
    def _path(self) -> Path:
        return self._files.path / journal_name(self.task_id, self.trial)

    def _steps(self) -> Iterator[Step]:
        record = self.record
        decisions: list[tuple[Decided, Acted | None]] = [(step.decided, step.acted) for step in record.steps]
        # A stop is never performed, so it stays pending.
        decisions += [(record.pending, None)] if record.pending is not None else []
        seen = record.arrival.observation if record.arrival else None
        read_from: Request | None = None
        number = place = 0
        spent, by_step = record.spent(), record.asked_by_step()
        for decided, acted in decisions:
            asked = by_step.get(decided.step, ())
            requests = list(self._asked(asked, number))
            number += len(asked)
            if decided.prompt:
                number += 1
                own = own_request(decided, number, self.artifacts)
                # Further calls of this reply are the steps that follow, which have no prompt.
                read_from, place = replace(own, is_inherited=decided.step <= record.inherited), 0
                requests.append(read_from)
            yield Step(
                text=record.said(decided),
                decided=decided,
                acted=acted,
                seen=seen,
                requests=tuple(requests),
                read_from=read_from,
                place=place,
                usage=spent[decided.step],
                is_inherited=decided.step <= record.inherited,
                artifacts=self.artifacts,
            )
            seen, place = acted.observation if acted else None, place + 1

    def _asked(self, asked: Sequence[Asked], before: int) -> Iterator[Request]:
        """Requests of the agent's own process that were answered; each has its number."""
        for number, one in enumerate(asked, start=before + 1):
            if (answered := self.record.answered.get(one.number)) is not None:
                made = process_request(one, answered, number, self.artifacts)
                yield replace(made, is_inherited=one.step <= self.record.inherited)
