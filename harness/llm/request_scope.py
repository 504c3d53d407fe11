"""Whose requests are being sent: one decision, or one scoring, of a trial of a task.

The reply cache tells equal requests of an episode apart by how many of them there were before. How many is a fold over
the journal: each decision records the digests of its requests (`Decided.asked`), so a resumed episode counts on. The
runner opens a scope around whatever may ask a model; a context variable carries it there, because an agent or a judge
of the person's own passes nothing on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from harness.codec import digest
from harness.records import Usage

if TYPE_CHECKING:
    from harness.llm.decision_replies import DecisionReplies


@dataclass
class RequestScope:
    """Counts the requests of one attempt."""

    task_id: str
    trial: int
    earlier: Counter[str] = field(default_factory=Counter)
    """By digest, those that are recorded."""
    sent: list[str] = field(default_factory=list)
    """Those that are not answered yet."""
    answered: list[str] = field(default_factory=list)
    """Since the last record."""
    spent: Usage = field(default_factory=Usage)
    """What answers cost that came over the network, whatever became of them."""
    lane: int = 0
    """The one that plays the trial."""
    replies: "DecisionReplies | None" = None
    """Of the decision that is being made; None = what is asked is for no decision."""

    @classmethod
    def after(cls, task_id: str, trial: int, recorded: Iterable[tuple[str, ...]], *, lane: int = 0) -> Self:
        """The scope that goes on from these records' requests."""
        return cls(task_id, trial, Counter(request for requests in recorded for request in requests), lane=lane)

    def key(self, request: str) -> str:
        """The key of one more request of that digest: its trial, task and occurrence, as sha256 hex."""
        occurrence = self.earlier[request] + self.answered.count(request) + self.sent.count(request)
        self.sent.append(request)
        # Without the occurrence, sampling would be lost; without the task, equal prompts of two that run at once would
        # overwrite each other's reply. Not the attempt: what a lost one was answered is not paid for again.
        return digest({"request": request, "task": self.task_id, "trial": self.trial, "occurrence": occurrence})

    def withdraw(self, request: str) -> None:
        """The request was not answered, so the next equal one takes its place."""
        self.sent.remove(request)

    def answer(self, request: str) -> None:
        """The request was answered; the next record names it."""
        # Not those on their way: one that was sent beside it has a record of its own, or may yet fail.
        self.sent.remove(request)
        self.answered.append(request)

    def recorded(self) -> tuple[str, ...]:
        """The requests that were answered since the last record, for the record that is being made."""
        answered, self.answered = tuple(self.answered), []
        self.earlier.update(answered)
        return answered


_scope: ContextVar[RequestScope | None] = ContextVar("request_scope", default=None)


@contextmanager
def requests_of(scope: RequestScope) -> Iterator[RequestScope]:
    """Every request that is sent in this block belongs to `scope`."""
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        _scope.reset(token)


def current_scope() -> RequestScope | None:
    """None outside of an episode."""
    return _scope.get()
