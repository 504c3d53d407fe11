"""What the lines of a journal add up to."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from harness.errors import EnvironmentDiverged
from harness.records.doubts import Doubt
from harness.records.journal_lines import (
    Acted,
    Closed,
    Decided,
    Failed,
    Judged,
    Late,
    Opened,
    Replied,
    Resumed,
    Scored,
    SideEffect,
)
from harness.records.process_lines import (
    Answered,
    Asked,
    BrowserCommand,
    Commanded,
    Diverged,
    Exited,
    Landed,
    PolicyViolation,
)
from harness.records.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A whole step: decided, then acted."""

    decided: Decided
    """What the agent decided."""
    acted: Acted
    """What came of it."""


@dataclass(frozen=True, kw_only=True)  # without slots, so that `fold` can copy it fast
class Episode:
    """The current attempt as the journal tells it, and sums over all attempts."""

    opened: Opened | None = None
    """The beginning of the latest attempt; None = nothing is recorded yet."""
    arrival: Acted | None = None
    """Step 0."""
    steps: tuple[Step, ...] = ()
    """Its whole steps."""
    pending: Decided | None = None
    """Decided and not yet acted."""
    is_unsent: bool = False
    """Whether it is known that the pending action reached no site, see `Decided.unsent` and `Failed.unsent`."""
    resumed: tuple[Resumed, ...] = ()
    """How often, and where, it was led back."""
    late: tuple[Late, ...] = ()
    """Of this attempt."""
    doubts: tuple[Doubt, ...] = ()
    """Of this attempt."""
    replied: tuple[Replied, ...] = ()
    """Replies of this attempt that are not the only ones of their decision; the newest may be of one not made yet."""
    asked: tuple[Asked, ...] = ()
    """What the agent's process has asked its model in this attempt; request n is at n - 1."""
    answered: Mapping[int, Answered] = field(default_factory=dict)
    """By the number of the request; in this attempt."""
    commanded: tuple[Commanded, ...] = ()
    """What the agent's process has sent to the browser itself in this attempt."""
    landed: tuple[Landed, ...] = ()
    """Of this attempt."""
    diverged: tuple[Diverged, ...] = ()
    """Where the agent's process did something else than what is recorded of this attempt."""
    exited: tuple[Exited, ...] = ()
    """Processes of the agent that have ended in this attempt."""
    violations: tuple[PolicyViolation, ...] = ()
    """What they were seen to try that they may not do; in this attempt."""
    closed: Closed | None = None
    """How it ended; None = it has not."""
    failures: tuple[Failed, ...] = ()
    """Since the person last asked for an attempt: an `Opened` with why `retry` clears them."""
    failed_at: tuple[int, ...] = ()
    """Of each failure the step of the last decision recorded before it in its attempt; 0 = there was none."""
    judged: Mapping[str, Judged] = field(default_factory=dict)
    """Key to what a judge has said about this attempt."""
    scores: Mapping[str, Scored] = field(default_factory=dict)
    """Dialect to its newest score."""
    usage: Usage = field(default_factory=Usage)
    """Of this attempt."""
    elapsed_ms: float = 0.0
    """Working time of this attempt: decisions and steps, downtime is free."""
    total_usage: Usage = field(default_factory=Usage)
    """Of all attempts in the journal."""
    total_judge_usage: Usage = field(default_factory=Usage)
    """What judging all attempts cost, in every dialect; in no other sum."""
    total_elapsed_ms: float = 0.0
    """Working time of all attempts."""
    inherited_usage: Usage = field(default_factory=Usage)
    """What the inherited steps of this attempt cost the run that they are from; in no other sum."""
    total_violations: int = 0
    """Of all attempts."""
    total_divergences: int = 0
    """How often, in all attempts, a way back did not lead there, or an agent's process did something else than what
    is recorded.
    """
    is_unconfined: bool = False
    """Whether in any attempt an agent's process has ended that nothing confined."""
    has_acted: bool = False
    """Whether any attempt decided upon an action that may change a site."""
    total_effects: tuple[str, ...] = ()
    """Where the effects of all attempts went: canonical URLs without their queries, each once."""

    @property
    def attempt(self) -> int:
        """Number of the current attempt; 0 before the first."""
        return self.opened.attempt if self.opened else 0

    @property
    def inherited(self) -> int:
        """Number of the last step that is another run's, see `Fork`; 0 = none is."""
        return self.opened.fork.step if self.opened and self.opened.fork else 0

    @property
    def has_diverged(self) -> bool:
        """Whether the last way back did not lead there, so that a new attempt has to begin."""
        newest = self.failures[-1] if self.failures else None
        return newest is not None and newest.attempt == self.attempt and newest.type == EnvironmentDiverged.__name__

    @property
    def is_in_doubt(self) -> bool:
        """Whether the pending action may have reached a site unrecorded."""
        return self.pending is not None and self.pending.action.may_change_sites() and not self.is_unsent

    @property
    def pages_ended(self) -> bool:
        """Whether the pages of the last record may have ended before the journal does: the browser was lost, or its
        pages were opened again, while the next decision was made.
        """
        was_led_back = bool(self.resumed) and self.resumed[-1].step == len(self.steps)
        return self.is_unsent or was_led_back

    @property
    def interruptions(self) -> tuple[Resumed, ...]:
        """Those of `resumed` before which the attempt was interrupted: a fork is led to its step first."""
        fork = self.opened.fork if self.opened else None
        is_beginning = fork is not None and bool(self.resumed) and self.resumed[0].step == fork.step
        return self.resumed[1:] if is_beginning else self.resumed

    @property
    def own_steps(self) -> tuple[Step, ...]:
        """Those that are not inherited."""
        return self.steps[self.inherited :]

    @property
    def own_late(self) -> tuple[Late, ...]:
        """Those of `late` that are not inherited."""
        opened = self.opened
        if opened is None or opened.fork is None:
            return self.late
        if opened.fork.late is None:
            return tuple(late for late in self.late if late.at >= opened.at)
        return self.late[opened.fork.late :]

    def own_failures(self) -> Iterator[tuple[int, Failed]]:
        """Those of this attempt, each with its step, see `failed_at`."""
        # By the order of the records and not by their times: a clock may be set back between two of them.
        for step, failed in zip(self.failed_at, self.failures, strict=True):
            if failed.attempt == self.attempt:
                yield step, failed

    def sent_after(self, step: int) -> tuple[SideEffect, ...]:
        """Effects between the beginning of a step's action, or of the attempt (0), and that of the next one."""
        acted = self.arrival if step == 0 else self.steps[step - 1].acted
        late = (one.effects for one in self.late if one.step == step and one.replayed)
        return (*(acted.effects if acted else ()), *chain.from_iterable(late))

    def asked_by_step(self) -> Mapping[int, list[Asked]]:
        """Step to what the agent's process asked its model for it, in order; steps without a request are left out."""
        found: dict[int, list[Asked]] = {}
        for one in self.asked:
            found.setdefault(one.step, []).append(one)
        return found

    def spent(self) -> Mapping[int, Usage]:
        """Step to what its decision cost in this attempt, with what was asked before it."""
        decided = (*(one.decided for one in self.steps), *((self.pending,) if self.pending else ()))
        found = {one.step: one.usage.without(one.counted) for one in decided}
        for reply in self.replied:
            found[reply.step] = found.get(reply.step, Usage()) + reply.usage
        for one in self.asked:
            if one.number in self.answered:
                found[one.step] = found.get(one.step, Usage()) + self.answered[one.number].usage
        return found

    def commands_of(self, step: int) -> tuple[BrowserCommand, ...]:
        """What the agent's process sent to the browser itself as part of a step of this attempt, in order."""
        return tuple(command for one in self.commanded if one.step == step for command in one.commands)

    def title_of(self, step: int) -> str:
        """What a step did, in words, if the agent's process drove the browser itself; "" = only its action says it."""
        return next((landed.title for landed in reversed(self.landed) if landed.step == step), "")

    def said(self, decided: Decided) -> str:
        """What a decision of this attempt did, or is to do, in one line."""
        return self.title_of(decided.step) or decided.action.render()

    @property
    def memory(self) -> Any:
        """What the agent's newest decision of this attempt left for the next: a copy, which may be changed."""
        newest = self.pending or (self.steps[-1].decided if self.steps else None)
        return None if newest is None else deepcopy(newest.memory)

    @property
    def reward(self) -> float | None:
        """The newest reward of this attempt; None = there was none."""
        return next((step.acted.reward for step in reversed(self.steps) if step.acted.reward is not None), None)

    @property
    def last(self) -> Acted | None:
        """The newest observed point."""
        return self.steps[-1].acted if self.steps else self.arrival
