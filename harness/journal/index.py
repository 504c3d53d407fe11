"""The state of each task of a run folder, without reading gigabytes of journals at every start.

Invariant: an index line is valid only while its journal has the same size and modification time, and only if its own
checksum matches; everything else is read from the journal. The index is a cache and can be deleted. Lines are appended
as journals are closed; the last line of a name wins. `scan` only reads; only the holder of the run lock writes.
Why: docs/decisions/journal.md#the-index-is-a-cache-and-is-never-trusted-alone
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness.actions.truncate import cut
from harness.codec import CodecError, build, dumps, loads, seal, unseal
from harness.errors import ActionInDoubt, JournalError, UnsafeFile
from harness.files import safe_files
from harness.journal.log import read
from harness.journal.names import check_name, journals_in, name_of
from harness.journal.record_limits import MAX_DURATION_MS, invalid_total
from harness.records import (
    CloseReason,
    Episode,
    Failed,
    Fork,
    Scored,
    Status,
    Usage,
    reopened_pages,
    types_what_is_sent_later,
)
from harness.records.optional import optional
from harness.secrets.redaction import NO_SECRETS, Redactor

INDEX_NAME = ".index.jsonl"
"""The file in a folder of journals that holds one line for each."""
# A journal bounds each duration and not their sum, so the sum in the index has a bound of its own.
_LONGEST_SUM_MS = MAX_DURATION_MS * 1e6
# Characters; they are quoted in a table and in the summary.
_MOST_OF_A_REPLY = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedScore:
    """The newest score in one dialect."""

    status: Status
    value: float | None
    evaluator_version: str
    why: str
    """What the deciding evaluator said when the score is not 1.0."""
    judge: str = optional("")
    """Name of the judge that was asked for it; "" = none was, or its name is not recorded."""
    prompt: str = optional("")
    """Digest of the prompt that judge was asked with."""
    reference: str = optional("")
    """Digest of the task with the corrected reference that it was scored with; "" = with the one that was played."""
    is_judged: bool | None = optional(None)
    """Whether a judge was asked for it, named or not; None = a line of an index from before this was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeResult:
    """What an episode has come to, without its pages: all that planning and summing up need."""

    task_id: str
    trial: int
    sites: tuple[str, ...]
    intent: str
    template: str
    """Intent template; the intent itself when the task has none."""
    template_id: str
    """"" = the task has no template and is a cluster by itself."""
    evaluators: tuple[str, ...]
    """The task's eval types."""
    task_digest: str
    config_digest: str
    attempt: int
    steps: int
    """Decisions of this attempt, a final stop included."""
    closed: CloseReason | None
    """None = still pending."""
    scores: Mapping[str, IndexedScore]
    """Scores by dialect."""
    failures: int
    """Infrastructure failures since the last requested attempt, except shared ones."""
    failure: str
    """What the last of them was, in a sentence; "" without any."""
    failure_type: str
    """The class of its error; "" without any."""
    resumed_from: int | None
    """Step this attempt was last resumed at, see `Episode.interruptions`."""
    resumes: int
    """How often this attempt was led back to where it stood."""
    divergences: int
    """Of all attempts, see `Episode.total_divergences`."""
    usage: Usage
    """Usage of all attempts."""
    judge_usage: Usage
    """What judging them cost."""
    elapsed_ms: float
    """Working time of all attempts."""
    effects: tuple[str, ...]
    """Where the effects of all attempts went, see `Episode.total_effects`."""
    instances: Mapping[str, str]
    """The site instances of this attempt, see `Opened.instances`."""
    goes_on: bool
    """Whether this attempt has arrived somewhere and is to be led back there."""
    has_acted: bool
    """See `Episode.has_acted`."""
    is_in_doubt: bool
    """Whether its pending action may have reached a site unrecorded."""
    pages: tuple[str, ...]
    """Where its tabs were when it was last observed: canonical URLs without their queries."""
    doubts: tuple[str, ...]
    """The doubts of this attempt, one sentence each; () = none."""
    is_set_aside: bool
    """Whether it ended without a score because of a doubt (`resume.in_doubt=unscored`)."""
    fork: Fork | None = optional(None)  # noqa: RUF009 (a field)
    """See `Opened.fork`."""
    inherited_usage: Usage = optional(factory=Usage)  # noqa: RUF009 (a field)
    """See `Episode.inherited_usage`."""
    violations: int = optional(0)
    """See `Episode.total_violations`."""
    is_unconfined: bool = optional(False)
    """See `Episode.is_unconfined`."""
    reopens: tuple[str, ...] = optional(())
    """Pages that a checkpoint would open again and that an action may have changed a site by opening: canonical URLs
    without their queries.
    """
    unread: str = optional("")
    """Of an episode that ended by unreadable replies: the last of them, cut; "" = it did not."""
    resends: bool = optional(False)
    """Whether one of the pages that a checkpoint would open again is known to have sent what may change a site, or to
    do so some time after text was typed that would be typed again.
    """

    acted_at: float = optional(0.0)
    """When this attempt last decided or did something, seconds since the epoch; 0 = never."""

    @property
    def has_nothing(self) -> bool:
        """Whether it has only been opened: no page was seen, nothing failed, and no other attempt preceded it."""
        return not (self.attempt > 1 or self.steps or self.goes_on or self.closed or self.failure)


Outcomes = Mapping[tuple[str, int], EpisodeResult]
"""(task id, trial) to what the episode has come to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """A line of the index: what a journal came to, and the state of its file that says so."""

    name: str
    size: int
    mtime_ns: int
    outcome: EpisodeResult

    def holds(self, status: os.stat_result) -> bool:
        """Whether the journal is still the one this was made from, under its own name."""
        stamp = (self.name, self.size, self.mtime_ns)
        own = (name_of(self.outcome.task_id, self.outcome.trial), status.st_size, status.st_mtime_ns)
        return stamp == own and stat.S_ISREG(status.st_mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What a run folder holds."""

    entries: tuple[IndexEntry, ...]
    """Entries by file name. A journal without a single record is left out: nothing has become of it."""
    damaged: tuple[JournalError, ...]
    """One for each journal that cannot be read."""
    fresh: bool
    """Whether the index said it all."""

    @property
    def outcomes(self) -> dict[tuple[str, int], EpisodeResult]:
        """Outcomes by task id and trial."""
        return {(entry.outcome.task_id, entry.outcome.trial): entry.outcome for entry in self.entries}


def result_of(episode: Episode) -> EpisodeResult | None:
    """None before the first record."""
    if (opened := episode.opened) is None:
        return None
    # of a closed episode nothing is opened again
    reopened = tuple(reopened_pages(episode)) if episode.closed is None else ()
    return EpisodeResult(
        task_id=opened.task.task_id,
        trial=opened.trial,
        sites=opened.task.sites,
        intent=opened.task.intent,
        template=opened.task.intent_template or opened.task.intent,
        template_id=opened.task.intent_template_id,
        evaluators=opened.task.eval.eval_types,
        task_digest=opened.task_digest,
        config_digest=opened.config_digest,
        attempt=opened.attempt,
        steps=len(episode.steps) + (episode.pending is not None),
        closed=episode.closed.reason if episode.closed else None,
        scores={dialect: _score(scored) for dialect, scored in episode.scores.items()},
        # When a browser breaks with several episodes in it, nobody knows which of them broke it: no attempt is used up.
        failures=sum(not failed.shared for failed in episode.failures),
        failure=_sentence(episode.failures[-1]) if episode.failures else "",
        failure_type=episode.failures[-1].type if episode.failures else "",
        resumed_from=episode.interruptions[-1].step if episode.interruptions else None,
        resumes=len(episode.interruptions),
        # With the policy `restart` the attempt also fails as diverged, and would count twice.
        divergences=episode.total_divergences,
        usage=episode.total_usage,
        judge_usage=episode.total_judge_usage,
        elapsed_ms=episode.total_elapsed_ms,
        effects=episode.total_effects,
        instances=opened.instances,
        goes_on=episode.arrival is not None and episode.closed is None and not episode.has_diverged,
        has_acted=episode.has_acted,
        is_in_doubt=episode.closed is None and episode.is_in_doubt,
        pages=_pages(episode),
        doubts=tuple(doubt.why for doubt in episode.doubts if not doubt.is_settled),
        is_set_aside=bool(episode.failures) and episode.failures[-1].type == ActionInDoubt.__name__,
        fork=opened.fork,
        inherited_usage=episode.inherited_usage,
        violations=episode.total_violations,
        is_unconfined=episode.is_unconfined,
        reopens=tuple(dict.fromkeys(page.url.partition("?")[0] for page in reopened if not page.sent)),
        resends=episode.closed is None and (any(page.sent for page in reopened) or types_what_is_sent_later(episode)),
        unread=_unread(episode),
        acted_at=episode.pending.at if episode.pending else episode.steps[-1].acted.at if episode.steps else 0.0,
    )


def _unread(episode: Episode) -> str:
    last = episode.pending or (episode.steps[-1].decided if episode.steps else None)
    if episode.closed is None or episode.closed.reason is not CloseReason.PARSE_FAILURES or last is None:
        return ""
    return cut(" ".join(last.reply.split()), _MOST_OF_A_REPLY)


def _pages(episode: Episode) -> tuple[str, ...]:
    if episode.last is None:
        return ()
    return tuple(dict.fromkeys(tab.url.partition("?")[0] for tab in episode.last.observation.tabs))


def _score(scored: Scored) -> IndexedScore:
    judged = next((verdict for verdict in scored.verdicts if verdict.judge), None)
    # An older version recorded what a judge said and cost, and not its name.
    is_judged = any(one.judge or one.replies or one.usage.requests for one in scored.verdicts)
    return IndexedScore(
        status=scored.status,
        value=scored.value,
        evaluator_version=scored.evaluator_version,
        why=_why(scored),
        judge="" if judged is None else judged.judge,
        prompt="" if judged is None else judged.prompt,
        reference="" if scored.reference is None else scored.reference.task_digest,
        is_judged=is_judged,
    )


def _why(scored: Scored) -> str:
    unjudged = (verdict.why for verdict in scored.verdicts if verdict.status is Status.ERROR)
    below = (verdict.why for verdict in scored.verdicts if verdict.value != 1.0)
    return next(unjudged, next(below, ""))


def _sentence(failed: Failed) -> str:
    return f"{failed.type} while trying to {failed.boundary}: {failed.message}"


def scan(folder: Path) -> Scan:
    """What the journals in `folder` say, by the index where it still holds and by reading them where not.

    Raises:
        UnsafeFile: Its index is a link, a FIFO or a device; a journal that is one is damaged like any other.
    """
    known = {entry.name: entry for entry in read_index(folder)}
    entries: list[IndexEntry] = []
    damaged: list[JournalError] = []
    fresh = True
    for found in journals_in(folder):
        status = found.stat(follow_symlinks=False)  # a link is not a journal of ours
        entry = known.get(found.name)
        if entry is None or not entry.holds(status):
            fresh = False
            try:
                entry = read_entry(Path(found.path), status)
            except JournalError as exc:
                damaged.append(exc)
                continue
        if entry is not None:
            entries.append(entry)
    return Scan(entries=tuple(entries), damaged=tuple(damaged), fresh=fresh)


def read_entry(path: Path, status: os.stat_result) -> IndexEntry | None:
    """What the journal at `path` says; None when it holds no record.

    Args:
        path: The journal.
        status: Its file status before it is read.

    Raises:
        JournalError: It cannot be read, or is another task's or trial's.
    """
    outcome = result_of(read(path))
    if outcome is None:
        return None
    check_name(path, outcome.task_id, outcome.trial)
    # With the status from before the reading: a journal that grew meanwhile does not fit the entry, and is read again.
    return _entry(path.name, status, outcome)


def note(path: Path, episode: Episode, status: os.stat_result, *, redactor: Redactor = NO_SECRETS) -> None:
    """Add a line for the journal at `path` as it is now.

    A line that would hold a secret is left out (the journal, where it is redacted, will be read instead), and a disk
    that refuses does not stop anything: the index is a shortcut.
    """
    if (outcome := result_of(episode)) is None:
        return
    line = _line(_entry(path.name, status, outcome))
    if redactor.touches(line):
        return
    with suppress(OSError, UnsafeFile):
        fd = safe_files.open_regular(path.parent / INDEX_NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            # Neither synced nor checked for its length: an entry that is lost or torn costs the reading of one journal.
            os.write(fd, line)
        finally:
            os.close(fd)


def index_of(entries: tuple[IndexEntry, ...]) -> bytes:
    """The bytes of an index that says just this."""
    return b"".join(_line(entry) for entry in entries)


def _entry(name: str, status: os.stat_result, outcome: EpisodeResult) -> IndexEntry:
    # With size and time, because an index that is trusted alone would hide what was appended after it.
    return IndexEntry(name=name, size=status.st_size, mtime_ns=status.st_mtime_ns, outcome=outcome)


def _line(entry: IndexEntry) -> bytes:
    # Seeded with 0, not chained: workers append at the same time, so a line knows none before it.
    return seal(dumps(entry)[:-1], 0)[0]


def read_index(folder: Path) -> Iterator[IndexEntry]:
    """The lines of a folder's index, newest first, one for each name; whether they still hold is for the caller to see.

    Raises:
        UnsafeFile: It is a link, a FIFO or a device.
    """
    data = b""
    with suppress(OSError):
        data = safe_files.read(folder / INDEX_NAME)
    named: set[str] = set()
    for line in reversed(data.split(b"\n")[:-1]):
        with suppress(CodecError):  # torn, or of another version: the journal is read instead
            entry = build(IndexEntry, loads(unseal(line, 0)[0] + b"}"))
            if entry.name not in named and _is_sound(entry.outcome) and _says_what_was_judged(entry.outcome):
                named.add(entry.name)
                yield entry


def _says_what_was_judged(outcome: EpisodeResult) -> bool:
    """False for a line from before `is_judged`, where judges were paid that no score names: for which, it does not say.

    All other old lines are as good as new ones, and 10,000 journals are not read for the few.
    """
    scores = outcome.scores.values()
    is_said = any(one.judge for one in scores) or all(one.is_judged is not None for one in scores)
    return is_said or not outcome.judge_usage.requests


def _is_sound(outcome: EpisodeResult) -> bool:
    """Whether a journal could have said so; a line is as little to be believed as what it was made from."""
    sums = (outcome.usage, outcome.judge_usage)
    values = [score.value for score in outcome.scores.values() if score.value is not None]
    return (
        not any(map(invalid_total, sums))
        and 0.0 <= outcome.elapsed_ms <= _LONGEST_SUM_MS
        and all(0.0 <= value <= 1.0 for value in values)
    )
