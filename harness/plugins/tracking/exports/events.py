"""What the exports of events share: requests and actions in their order, and the scores that there are."""

from collections.abc import Iterator

from harness.api.records import Scored, Status
from harness.runs import Episode, Request, Step

DIALECTS = ("corrected", "webarena")


def events_of(episode: Episode) -> Iterator[Request | Step]:
    """What an attempt did, in order: requests, and the actions that were read from their answers."""
    for step in episode.steps:
        yield from step.requests
        yield step


def scores_of(episode: Episode) -> Iterator[tuple[str, Scored]]:
    """The scores that there are, by dialect; those that could not be computed are left out."""
    for dialect in DIALECTS:
        scored = episode.record.scores.get(dialect)
        if scored is not None and scored.status is Status.OK and scored.value is not None:
            yield dialect, scored


def why_of(scored: Scored) -> str:
    """What the evaluators said, a line each."""
    return "\n".join(f"{verdict.evaluator}: {verdict.why}" for verdict in scored.verdicts)
