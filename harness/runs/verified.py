"""What the scorer of `webarena-verified` says of a run, beside the run's own scores: `verified.json`.

Written by `harness score --verified RUN`. A verdict counts for the attempt that it was given on, and is not shown after
a further one. The file may be missing, of another version, or forged: what does not fit is left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.codec import JsonObject
from harness.files.side_file import SideFile

if TYPE_CHECKING:
    from harness.runs.results import Result

VERIFIED_NAME = "verified.json"
_MOST_OF_A_WHY = 1000
_STATUS = {1.0: "passed", 0.0: "failed", None: "unscored"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnVerdict:
    """The verdict of the package's scorer on one attempt of a (task, trial)."""

    attempt: int
    status: str
    """`passed`, `failed`, or `unscored`: the scorer could not say."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnVerdicts:
    """The verdicts of the package's scorer on a run."""

    scorer: str
    """Name and version."""
    by_trial: Mapping[str, OwnVerdict]
    """Key: task id and trial, as `key_of` makes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An episode on which run and scorer disagree."""

    name: str
    here: str
    there: str
    why: str
    """The scorer's reason."""

    def __str__(self) -> str:
        return f"task {self.name}: {self.here} here, {self.there} there ({self.why})"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedAgreement:
    """The run's scores held against the scorer's verdicts."""

    judged: int
    """Episodes with a verdict."""
    passed: int
    """How many of these the scorer passes."""
    passed_here: int
    differences: tuple[Difference, ...]

    @property
    def rate(self) -> float:
        return self.passed / self.judged

    def __str__(self) -> str:
        same = self.judged - len(self.differences)
        return f"{self.passed} of {self.judged} passed, {self.passed_here} here; the same on {same} of {self.judged}"


def agreed(results: Iterable["Result"]) -> VerifiedAgreement | None:
    """The results held against the verdicts on them; None when there is no verdict."""
    judged = [(one.name, one.status, one.verified) for one in results if one.verified is not None]
    if not judged:
        return None
    return VerifiedAgreement(
        judged=len(judged),
        passed=sum(verdict.status == "passed" for _, _, verdict in judged),
        passed_here=sum(here == "passed" for _, here, _ in judged),
        # The scorer reads an export of the whole run, so a fault in our files shows as a difference.
        differences=tuple(
            Difference(name=name, here=here, there=verdict.status, why=verdict.why)
            for name, here, verdict in judged
            if here != verdict.status
        ),
    )


def status_of(value: float | None) -> str:
    """The word for a value of the scorer: 1.0, 0.0, or None."""
    return _STATUS[value]


def read_verdicts(folder: Path) -> OwnVerdicts | None:
    """The verdicts of a run folder; None when there are none.

    Raises:
        UnsafeFile: The file is a link, a FIFO or a device.
    """
    match SideFile[JsonObject](VERIFIED_NAME, dict).find(folder):
        case {"scorer": str(scorer), "results": list(results)}:
            verdicts = dict(pair for one in results if (pair := _verdict(one)) is not None)
            return OwnVerdicts(scorer=scorer[:80], by_trial=verdicts)
    return None


def key_of(task_id: str, trial: int) -> str:
    return f"{task_id} {trial}"


def _verdict(value: Any) -> tuple[str, OwnVerdict] | None:
    match value:
        case {
            "task_id": str(task),
            "trial": int(trial),
            "attempt": int(attempt),
            "status": str(status),
            "why": str(why),
        }:
            if status in _STATUS.values():
                return key_of(task, trial), OwnVerdict(attempt=attempt, status=status, why=why[:_MOST_OF_A_WHY])
    return None
