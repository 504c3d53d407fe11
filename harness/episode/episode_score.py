"""The score of an episode, from what was said, in words that may be stored.

Evaluators compare what the page and the agent said with what the task asks for, secrets included. Their sentences quote
it, cut and in lower case, so that no secret would be recognised in them. So where something is hidden, they judge a
second time what is stored, and their sentences are taken from that.
Why: docs/decisions/security.md#a-secret-never-changes-a-score
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from harness.api import Artifacts
from harness.codec import Text, with_texts
from harness.evaluators.judge import RepeatedReplies
from harness.protocols import EpisodeScorer, JudgeReplies
from harness.records import Closed, Scored, Status, Task, Verdict
from harness.secrets.redaction import Redactor
from harness.secrets.symbols import Symbols

Data = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is judged."""

    task: Task
    closed: Closed
    artifacts: Artifacts

    def changed(self, text: Text, data: Data) -> "Case":
        """With every text and every artifact changed; artifacts when they are read."""
        return Case(
            task=with_texts(self.task, text),
            closed=with_texts(self.closed, text),
            artifacts=_ChangedArtifacts(self.artifacts, data),
        )


def resumed(said: Case, missing: Symbols) -> Case:
    """A case whose evidence was read back by the run: what could not be put back is a letter of `missing`."""
    closed, artifacts = with_texts(said.closed, missing.text), _ChangedArtifacts(said.artifacts, missing.data)
    return replace(said, closed=closed, artifacts=artifacts)


async def score(scorer: EpisodeScorer, said: Case, redactor: Redactor, recorded: JudgeReplies) -> Scored:
    """Judge an episode by what was said.

    Args:
        scorer: Of one dialect.
        said: With its secrets.
        redactor: Knows them, and will take them out of the score when it is written: in a sentence each stands whole.
        recorded: See `EpisodeScorer.score`.
    """
    symbols = Symbols()

    def hidden(text: str) -> str:
        return symbols.text(redactor.text(text))

    public = said.changed(hidden, lambda data: symbols.data(redactor.data(data)))
    read = _ChangedArtifacts(said.artifacts, bytes)
    scored = await scorer.score(said.task, said.closed, read, recorded)
    # What was read is read changed, too, so that `symbols` knows of every secret in it.
    for digest in read.digests:
        public.artifacts.read(digest)
    # Nothing is hidden in it, so its sentences can be stored as they are.
    if not symbols.names:
        return scored
    replies = [hidden(reply) for verdict in scored.verdicts for reply in verdict.replies]
    again = await scorer.score(public.task, public.closed, public.artifacts, RepeatedReplies(replies))
    verdicts = (_worded(*pair, symbols, redactor) for pair in zip(scored.verdicts, again.verdicts, strict=True))
    return replace(scored, verdicts=tuple(verdicts))


async def score_stored(scorer: EpisodeScorer, case: Case, missing: Symbols) -> Scored:
    """Judge an episode by what a run folder holds of it.

    What is redacted there is read as a letter of `missing`; in a sentence a marker stands for each secret.
    """
    read = case.changed(missing.text, missing.data)
    scored = await scorer.score(read.task, read.closed, read.artifacts)
    verdicts = (replace(one, why=missing.put_back(one.why, _marker)) for one in scored.verdicts)
    return replace(scored, verdicts=tuple(verdicts)) if missing.names else scored


def cannot_be_scored(scored: Scored, missing: Symbols) -> Scored:
    """Instead of a score that was computed without a secret that the evidence holds."""
    why = f"the evidence holds {missing}, which was redacted: the score cannot be computed without it"
    verdicts = (
        replace(one, status=Status.ERROR, value=None, why=f"{one.why}; {why}" if one.value is None else why)
        for one in scored.verdicts
    )
    return replace(scored, status=Status.ERROR, value=None, verdicts=tuple(verdicts))


def _marker(name: str) -> str:
    return f"[redacted:{name}]"


def _worded(one: Verdict, other: Verdict, symbols: Symbols, redactor: Redactor) -> Verdict:
    """The verdict with the sentence of `other`, which was reached without the secrets."""
    if (one.status, one.value) == (other.status, other.value):
        return replace(one, why=redactor.reveal(symbols.put_back(other.why, _marker)))
    return replace(one, why=f"decided by {symbols} in the evidence, which is not written down")


class _ChangedArtifacts:
    """Artifacts that are read changed."""

    def __init__(self, artifacts: Artifacts, change: Data) -> None:
        self.digests: dict[str, None] = {}
        """What was read."""
        self._artifacts = artifacts
        self._change = change

    def put(self, data: bytes) -> str:
        return self._artifacts.put(data)

    def read(self, digest: str) -> bytes:
        data = self._artifacts.read(digest)
        self.digests[digest] = None
        return self._change(data)
