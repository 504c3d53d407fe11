"""What kept an episode from passing, as rules say it: the harness, the environment or the model; `attribution.json`.

Written at the end of a run and by `harness attribute RUN`, from the journals of what did not pass. An entry counts for
the attempt, the steps and the cause that it was made of, and is not shown once they are others. The file may be
missing, of another version, or forged: what does not fit is left out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.files.side_file import SideFile
from harness.journal.index import EpisodeResult
from harness.runs.outcome import PASSED, Score
from harness.runs.trials import amount
from harness.runs.verified import key_of

ATTRIBUTION_NAME = "attribution.json"
HARNESS, ENVIRONMENT, MODEL, UNEXPLAINED = "harness", "environment", "model", "unexplained"
CLASSES = (HARNESS, ENVIRONMENT, MODEL, UNEXPLAINED)
"""Whose failure it is; `unexplained` = no rule says."""
_LONGEST_RULE, _LONGEST_WHY, _MOST_STEPS = 60, 400, 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Why one episode did not pass."""

    kind: str
    """One of `CLASSES`."""
    rule: str
    """The rule that fired, in a few words, by which episodes are grouped."""
    step: int | None
    """Where a reader should look, 1-based in the newest attempt; None = no step shows it."""
    why: str
    """What the rule found, in one sentence; may quote pages and answers."""

    @property
    def at(self) -> str:
        """`step 4`; "" = no step shows it."""
        return f"step {self.step}" if self.step else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What an attribution was made of: once any of it is another, the attribution does not count."""

    scoring: str
    attempt: int
    steps: int
    cause: str
    why: str


def basis_of(result: EpisodeResult, score: Score) -> Basis:
    """What an attribution of this episode is made of."""
    cut = score.why[:_LONGEST_WHY]
    return Basis(scoring=score.scoring, attempt=result.attempt, steps=result.steps, cause=score.cause, why=cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributions:
    """The attributions of a run."""

    by_trial: Mapping[str, tuple[Basis, Attribution]] = field(default_factory=dict)
    """Key: task id and trial, as `key_of` makes it."""
    rules: int = 0
    """Version of the rules."""

    def of(self, result: EpisodeResult, score: Score) -> Attribution | None:
        """That of an episode; None = it passed, there is none, or it was made of something else."""
        if score.status == PASSED:
            return None
        basis, found = self.by_trial.get(key_of(result.task_id, result.trial), (None, None))
        return found if basis == basis_of(result, score) else None


NO_ATTRIBUTIONS = Attributions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How often a rule fired."""

    kind: str
    name: str
    episodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributed:
    """What the attributions of some episodes come to."""

    failures: int
    """Episodes that have an attribution: failed, or unscored by a failure."""
    kinds: Mapping[str, int]
    """Class to episodes, in the order of `CLASSES`; those without any are left out."""
    rules: tuple[Rule, ...]
    """By class in the order of `CLASSES`, the most frequent first."""

    @property
    def not_the_models(self) -> int:
        """Failures of the harness and of the environment."""
        return self.kinds.get(HARNESS, 0) + self.kinds.get(ENVIRONMENT, 0)

    def __str__(self) -> str:
        """The line that belongs to a rate: whose failures are in it."""
        are = "is" if 1 in (self.not_the_models, self.failures) else "are"
        parts = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        return f"{self.not_the_models} of {amount(self.failures, 'failure')} {are} not the model's ({parts})"


def attributed(found: Iterable[Attribution | None]) -> Attributed | None:
    """Count; None when there is no attribution."""
    known = [one for one in found if one is not None]
    if not known:
        return None
    counts, kinds = Counter((one.kind, one.rule) for one in known), Counter(one.kind for one in known)
    rules = [Rule(kind=kind, name=name, episodes=count) for (kind, name), count in counts.items()]
    rules.sort(key=lambda rule: (CLASSES.index(rule.kind), -rule.episodes, rule.name))
    return Attributed(
        failures=len(known), kinds={kind: kinds[kind] for kind in CLASSES if kind in kinds}, rules=tuple(rules)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Episodes whose class is another in a later run."""

    before: str
    """A class, or the outcome of an episode without any; so `after`."""
    after: str
    tasks: tuple[str, ...]
    """Names of the episodes."""


def moves(pairs: Iterable[tuple[str, str, str]]) -> tuple[Move, ...]:
    """Group `(name, before, after)` of those that moved; the largest group first."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, before, after in pairs:
        if before != after:
            found.setdefault((before, after), []).append(name)
    order = sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    return tuple(Move(before=before, after=after, tasks=tuple(names)) for (before, after), names in order)


def read_attributions(folder: Path) -> Attributions:
    """The attributions in a run folder; none where the file is missing or of another form.

    Raises:
        UnsafeFile: The file is a link, a FIFO or a device.
    """
    match SideFile(ATTRIBUTION_NAME, dict).find(folder):
        case {"rules": int(rules), "episodes": list(episodes)}:
            known = dict(pair for one in episodes if (pair := _entry(one)) is not None)
            return Attributions(by_trial=known, rules=rules)
    return NO_ATTRIBUTIONS


def entry_of(task_id: str, trial: int, basis: Basis, found: Attribution) -> dict[str, object]:
    """One episode as `attribution.json` has it."""
    return {
        "task_id": task_id,
        "trial": trial,
        "class": found.kind,
        "rule": found.rule,
        "step": found.step,
        "why": found.why,
        "made_of": basis,
    }


def _entry(value: Any) -> tuple[str, tuple[Basis, Attribution]] | None:
    match value:
        case {
            "task_id": str(task),
            "trial": int(trial),
            "class": str(kind),
            "rule": str(rule),
            "step": int() | None as step,
            "why": str(why),
            "made_of": {
                "scoring": str(scoring),
                "attempt": int(attempt),
                "steps": int(steps),
                "cause": str(cause),
                "why": str(made_of),
            },
        } if kind in CLASSES and (step is None or 0 < step < _MOST_STEPS):
            basis = Basis(scoring=scoring, attempt=attempt, steps=steps, cause=cause, why=made_of)
            found = Attribution(kind=kind, rule=rule[:_LONGEST_RULE], step=step, why=why[:_LONGEST_WHY])
            return key_of(task, trial), (basis, found)
    return None
