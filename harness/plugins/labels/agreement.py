"""Where people, judges and rules agree on episodes, and where they do not.

Who says something of an episode is a rater: an author of labels; `judge` or `score`, which says whether it succeeded,
as the run's score was given by a judge or computed; `verified`, the scorer of webarena-verified; and `rule`, the class
that `harness attribute` found. `unsure` is not an opinion: it disagrees with nobody, and is in no kappa.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.plugins.labels.book import FIELDS, UNSURE, LabelBook
from harness.runs import PASSED, UNSCORED
from harness.runs.intervals import Interval, kappa_of
from harness.runs.outcome import NOT_FINISHED
from harness.runs.results import NOT_BEGUN, Result

_SUCCESS, _CLASS = "success", "class"
Opinions = Mapping[str, Mapping[str, str]]
"""Field to rater to value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Two raters, and what they say."""

    field: str
    first: str
    says: str
    second: str
    other: str
    """What the second says."""

    def __str__(self) -> str:
        return f"{self.field}: {self.first} {self.says}, {self.second} {self.other}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An episode that somebody should look at."""

    result: Result
    disagreements: tuple[Disagreement, ...]
    authors: tuple[str, ...]
    """Who has labelled it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAgreement:
    """Two raters on one field, over the episodes on which both have an opinion."""

    field: str
    first: str
    second: str
    episodes: int
    same: int
    kappa: Interval | None
    """Cohen's, with its 95% interval; None = not defined, as both always say the same one thing."""


def is_ended(result: Result) -> bool:
    """Whether an episode has come to something that can be labelled."""
    return result.cause not in (NOT_BEGUN, NOT_FINISHED)


def opinions_of(result: Result, said: Mapping[str, Mapping[str, str]]) -> Opinions:
    """Who says what of one episode.

    Args:
        result: The episode.
        said: Author to field to value.
    """
    found = {
        field: {author: values[field] for author, values in sorted(said.items()) if field in values} for field in FIELDS
    }
    if result.status != UNSCORED:
        rater = "judge" if result.judged is not None else "score"
        found[_SUCCESS][rater] = "yes" if result.status == PASSED else "no"
    if result.verified is not None and result.verified.status != UNSCORED:
        found[_SUCCESS]["verified"] = "yes" if result.verified.status == PASSED else "no"
    if result.attribution is not None and result.attribution.kind in FIELDS[_CLASS]:
        found[_CLASS]["rule"] = result.attribution.kind
    return found


def disagreements_of(opinions: Opinions) -> tuple[Disagreement, ...]:
    """Each pair of raters who say different things."""
    return tuple(
        Disagreement(field=field, first=first, says=raters[first], second=second, other=raters[second])
        for field, raters in opinions.items()
        for first, second in combinations(raters, 2)
        if raters[first] != raters[second] and UNSURE not in (raters[first], raters[second])
    )


def queue_of(results: Iterable[Result], book: LabelBook, author: str | None = None) -> tuple[Waiting, ...]:
    """What waits for a person, the most important first.

    Those on which raters disagree, the more pairs on success, then on the class, then on anything, the earlier; then
    those without a label, failures first. In task order where that is the same.

    Args:
        results: The episodes of a run.
        book: Its labels.
        author: Whose queue: without a disagreement, what they have labelled does not wait. None = anybody's: what
            anybody has labelled does not.
    """
    found = []
    for result in results:
        if not is_ended(result):
            continue
        said = book.latest(result.task_id, result.trial, result.attempts)
        differ = disagreements_of(opinions_of(result, said))
        if differ or not (said if author is None else author in said):
            found.append(Waiting(result=result, disagreements=differ, authors=tuple(sorted(said))))
    return tuple(sorted(found, key=_urgency))


def _urgency(one: Waiting) -> tuple[int, int, int, bool]:
    fields = [differ.field for differ in one.disagreements]
    return -fields.count(_SUCCESS), -fields.count(_CLASS), -len(fields), one.result.status == PASSED


def agreements_of(results: Sequence[Result], book: LabelBook) -> tuple[PairAgreement, ...]:
    """For each field, each pair of raters who have both said something of an episode; one of them a person."""
    tables: dict[tuple[str, str, str], dict[tuple[str, str], int]] = {}
    for result in results:
        said = book.latest(result.task_id, result.trial, result.attempts)
        for field, raters in opinions_of(result, said).items():
            sure = {rater: value for rater, value in raters.items() if value != UNSURE}
            for first, second in combinations(sure, 2):
                if first in said:
                    counts = tables.setdefault((field, first, second), {})
                    pair = sure[first], sure[second]
                    counts[pair] = counts.get(pair, 0) + 1
    order = list(FIELDS)
    return tuple(
        PairAgreement(
            field=field,
            first=first,
            second=second,
            episodes=sum(counts.values()),
            same=sum(count for (says, other), count in counts.items() if says == other),
            kappa=kappa_of([[counts.get((says, other), 0) for other in FIELDS[field]] for says in FIELDS[field]]),
        )
        for (field, first, second), counts in sorted(
            tables.items(), key=lambda one: (order.index(one[0][0]), one[0][1:])
        )
    )
