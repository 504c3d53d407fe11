"""The claims of a bundle, held against the evidence in its journals.

Claims are the scores in the manifest and in the journals with the reasons beside them, `run.json`, `summary.json` and
`rescored-*.json`. Each is computed again. What the evidence does not give is said in a sentence that names the file,
and the journal, which is a copy in a temporary folder, gets the score that its evidence gives: so every reader of that
folder shows this one.

Reads journals as all commands do. Whether the evidence was recorded as it happened is not known here.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness import EVALUATOR_VERSION
from harness.api import NO_EVALUATORS, Closed, CloseReason, Episode, Evaluator, Stop, dumps
from harness.api.files import safe_files
from harness.api.journals import ArtifactStore, FinalState, Journal, final_state, journals_in, read, scan
from harness.api.records import Decided, Reference, Scored, Status, Verdict, repeats_a_key
from harness.api.rescoring import recorded_scorer, rescored, with_reference
from harness.api.scoring import DIALECTS, SHIPPED
from harness.api.settings import Durability
from harness.api.tasks import task_digest
from harness.errors import JournalError
from harness.plugins.bundles.derived_files import DerivedFiles
from harness.plugins.bundles.manifest import MANIFEST, BundledScore, Manifest, claimed_scores
from harness.runs import listed
from harness.runs.format import graded
from harness.runs.notes import corrected_notes
from harness.runs.trials import amount

AS_RECORDED = (
    "scores and totals are computed from the journals; as recorded, and not verified: model, agent, versions and"
    " weights of benchmarks (run.json), judges, tokens, cost and times, and why a task is unscored"
)
"""What holds for every bundle."""
_MOST_NAMES = 20
"""Files that one sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What was found, in sentences; each begins with the name of a file of the bundle."""

    differs: tuple[str, ...]
    """Claims that the evidence contradicts."""
    unknown: tuple[str, ...]
    """Scores of evaluators that are not known here."""
    unverified: tuple[str, ...]
    """What cannot be computed again: the evidence holds a redacted secret, or an episode has no journal."""
    counts: tuple[str, ...]
    """How much was compared."""

    def sentences(self) -> Iterator[str]:
        """What a reader has to know of what is shown."""
        yield from (f"differs: {one}" for one in self.differs)
        yield from (f"not verified: {one}" for one in (*self.unknown, *self.unverified))


def verify(folder: Path, manifest: Manifest, evaluators: Mapping[str, Evaluator] = NO_EVALUATORS) -> Verification:
    """Hold the claims of an unpacked bundle against its journals.

    Args:
        folder: Where it was unpacked. A journal whose score is another one gets the right one.
        manifest: Of the bundle.
        evaluators: By eval type, those that are not shipped with Cairn.
    """
    found = _Findings(folder, manifest, evaluators)
    asyncio.run(found.journals())
    found.manifest()
    derived = DerivedFiles(folder, found.states, scan(folder).outcomes)
    found.differs += derived.differs()
    found.unverified += derived.unplayed()
    asyncio.run(found.rescored(derived))
    return Verification(
        differs=tuple(found.differs),
        unknown=tuple(found.without_evaluator()),
        unverified=tuple(found.unverified),
        counts=tuple(found.counts()),
    )


@dataclass(slots=True)
class _Findings:
    """What was found so far."""

    folder: Path
    bundle: Manifest
    evaluators: Mapping[str, Evaluator]
    states: dict[tuple[str, int], FinalState] = field(default_factory=dict)
    """Recorded states by task id and trial."""
    differs: list[str] = field(default_factory=list)
    foreign: dict[str, list[str]] = field(default_factory=dict)
    """Eval types without an evaluator to the files that have scores of them."""
    unverified: list[str] = field(default_factory=list)
    recomputed: dict[str, int] = field(default_factory=dict)
    """Scores by dialect."""

    async def journals(self) -> None:
        for entry in journals_in(self.folder):
            path = Path(entry.path)
            try:
                episode = read(path)
                if (state := final_state(path, episode)) is None:
                    continue
            except JournalError as error:
                self.differs.append(str(error).replace(f"{self.folder}/", ""))
                continue
            self.states[state.opened.task.task_id, state.opened.trial] = state
            self.differs += (f"{path.name}: {why}" for why in self._faults(path, state))
            if contradiction := _contradiction(episode, state):
                self.differs.append(f"{path.name}: {contradiction}")
            for dialect, claim in state.scores.items():
                right = (
                    _unscored(claim, contradiction)
                    if contradiction
                    else await self._compared(f"{path.name}: {dialect}", state, claim)
                )
                if right is not None:
                    self.recomputed[dialect] = self.recomputed.get(dialect, 0) + 1
                if right is not None and right != claim:
                    with Journal.open(path, durability=Durability.none) as journal:
                        journal.append(right)

    def manifest(self) -> None:
        """Each score in it is the newest one of a journal, and each journal's is in it."""
        claims = _by_key(self.bundle.scores)
        if len(claims) != len(self.bundle.scores):
            self.differs.append(f"{MANIFEST}: it has two scores of one task and trial in one dialect")
        recorded = _by_key(score for state in self.states.values() for score in claimed_scores(state))
        for key in sorted(claims.keys() | recorded.keys()):
            claim, score = claims.get(key), recorded.get(key)
            if claim == score:
                continue
            dialect, task, trial = key
            says = f"{MANIFEST}: {dialect}: task {task}, trial {trial}"
            if key[1:] not in self.states:
                self.differs.append(f"{says} has a score but no journal")
            else:
                self.differs.append(f"{says}: the manifest says {said(claim)}, the journal {said(score)}")

    async def rescored(self, derived: DerivedFiles) -> None:
        """The scores in `rescored-*.json` are those that the replies of its judge give."""
        for name, result, state in derived.rescored():
            if result.scored is not None:
                says = f"{name}: task {result.task_id}, trial {result.trial}"
                await self._compared(says, state, result.scored, missing=result.missing)

    def without_evaluator(self) -> Iterator[str]:
        for eval_type, files in self.foreign.items():
            names = list(dict.fromkeys(files))
            yield (
                f"{listed(names, _MOST_NAMES)}: {len(files)} scores, because there is no evaluator for eval"
                f" type {eval_type[:80]!r}; give the task=NAME of its benchmark to `harness verify`, or name its class"
                " with evaluators.NAME._target_=…"
            )

    def counts(self) -> Iterator[str]:
        if self.bundle.evaluator_version != EVALUATOR_VERSION:
            version = self.bundle.evaluator_version
            yield f"scored by evaluators of version {version}, says {MANIFEST}; these are {EVALUATOR_VERSION}"
        for dialect, count in sorted(self.recomputed.items()):
            of = amount(len(self.states), "episode")
            yield f"{dialect}: {amount(count, 'score')} recomputed from the evidence, of {of}"
        for dialect in sorted(self.recomputed):
            scores = [state.scores[dialect] for state in self.states.values() if dialect in state.scores]
            corrected = sum(score.reference is not None for score in scores)
            yield from (f"{dialect}: {note}" for note in corrected_notes(corrected))

    def _faults(self, path: Path, state: FinalState) -> Iterator[str]:
        """What is wrong with a journal beside its scores."""
        lines = enumerate(safe_files.read(path).split(b"\n")[:-1], start=1)
        if (number := next((number for number, line in lines if repeats_a_key(line)), None)) is not None:
            yield f"line {number} has a key twice, so that another reader may take another value"
        artifacts = ArtifactStore(self.folder / "artifacts")
        for digest in evidence_of(state.closed) if state.closed is not None else ():
            try:
                artifacts.read(digest)
            except JournalError:
                yield f"its evidence names the artifact {digest[:80]}, which is not in the bundle"

    async def _compared(
        self, says: str, state: FinalState, claim: Scored, *, missing: tuple[str, ...] = ()
    ) -> Scored | None:
        """Compute a score again; `missing` = the secrets without which it is said to be unscored.

        Returns:
            The claim where the evidence gives it, else the right score; None when it cannot be computed.
        """
        if claim.dialect not in DIALECTS:
            return self._refused(says, claim, f"there is no scoring {claim.dialect[:80]!r}")
        if why := _misreferenced(state, claim):
            return self._refused(says, claim, why)
        judged_by = with_reference(state.opened.task, claim.reference).eval.eval_types
        if foreign := [one for one in judged_by if one not in (*SHIPPED, *self.evaluators)]:
            self.foreign.setdefault(foreign[0], []).append(says.partition(":")[0])
            return None
        scorer = recorded_scorer(claim, claim.dialect, self.evaluators)
        try:
            artifacts = ArtifactStore(self.folder / "artifacts")
            result = await rescored(state, claim.dialect, scorer, artifacts, reference=claim.reference)
        except JournalError as error:
            why = str(error).replace(f"{self.folder}/", "")
            return self._refused(says, claim, f"its evidence cannot be read ({why})")
        right = result.scored
        assert right is not None  # of an episode that has ended
        if result.missing:
            if (result.missing, None) != (missing, claim.value):
                why = next(verdict.why for verdict in right.verdicts)
                self.unverified.append(f"{says}: scored {said(claim)}, but {why}")
            return None
        if difference := _difference(claim, right):
            self.differs.append(f"{says}: {difference}")
        return right if difference else _reworded(claim, right)

    def _refused(self, says: str, claim: Scored, why: str) -> Scored:
        """Instead of a score that no evidence gives."""
        self.differs.append(f"{says}: scored {said(claim)}, but {why}")
        return _unscored(claim, why)


def _misreferenced(state: FinalState, claim: Scored) -> str | None:
    """What is wrong with the corrected reference of a score; None = nothing, or it has none."""
    if claim.reference is None:
        return None
    task = with_reference(state.opened.task, claim.reference)
    if claim.reference.task_digest == state.opened.task_digest:
        return "its corrected reference has the digest of the one that was played"
    if b"[redacted" not in dumps(task) and task_digest(task) != claim.reference.task_digest:
        return "its corrected reference is not the one that its task_digest was made of"
    return None


def _contradiction(episode: Episode, state: FinalState) -> str | None:
    """Why what is judged is not what was asked and answered; None = it is."""
    task, closed = state.opened.task, state.closed
    if b"[redacted" not in dumps(task) and task_digest(task) != state.opened.task_digest:
        return "its task is not the one that its task_digest was made of"
    if closed is None:
        return None
    match closed.reason, episode.pending:
        case CloseReason.STOPPED, Decided(action=Stop(answer=answer)):
            if answer != closed.answer:
                return f"its answer is {closed.answer[:80]!r}, but the agent stopped with {answer[:80]!r}"
        # A benchmark may end an episode where the agent did not: that gives no answer.
        case _ if closed.answer:
            return f"its answer is {closed.answer[:80]!r}, but the agent did not end the episode ({closed.reason})"
    return None


def said(score: Scored | BundledScore | None) -> str:
    if score is None:
        return "nothing"
    digest = score.reference.task_digest if isinstance(score.reference, Reference) else score.reference
    value = "unscored" if score.value is None else graded(score.value)
    return f"{value} with the corrected reference {digest[:12]}" if digest else value


def _by_key(scores: Iterator[BundledScore] | tuple[BundledScore, ...]) -> dict[tuple[str, str, int], BundledScore]:
    return {(one.dialect, one.task_id, one.trial): one for one in scores}


def evidence_of(closed: Closed) -> Iterator[str]:
    """The artifacts that evidence consists of."""
    evidence = closed.evidence
    selected = (digest for one in evidence.selected for digest in (one.content, one.last_content))
    named = (evidence.html, evidence.trace, evidence.benchmark, evidence.trajectory, *selected, *evidence.kept)
    return (digest for digest in named if digest is not None)


def _difference(claim: Scored, right: Scored) -> str | None:
    """How a claim is not what was computed; None = it is."""
    if (claim.status, claim.value) != (right.status, right.value):
        why = next((verdict.why for verdict in right.verdicts if verdict.why), "")
        return f"scored {said(claim)}, but its evidence gives {said(right)}{why and f' ({why})'}"
    if [_found(one) for one in claim.verdicts] != [_found(one) for one in right.verdicts]:
        return "its evaluators found something else than it says"
    reworded = _reworded(claim, right)
    whys = " ".join(verdict.why for verdict in (*claim.verdicts, *right.verdicts))
    # Another version may give other reasons, and so may one that knew the secret.
    if reworded == claim or claim.evaluator_version != right.evaluator_version or "[redacted" in whys:
        return None
    given = "; ".join(verdict.why[:200] for verdict in reworded.verdicts)
    return f"its evaluators give another reason than it says: {given}"


def _reworded(claim: Scored, right: Scored) -> Scored:
    """The claim with the reasons that shipped evaluators give; what a judge or an error said cannot be said again."""
    verdicts = (
        replace(one, why=other.why) if one.evaluator in SHIPPED and not one.replies and one.status is Status.OK else one
        for one, other in zip(claim.verdicts, right.verdicts, strict=True)
    )
    return replace(claim, verdicts=tuple(verdicts))


def _found(verdict: Verdict) -> tuple[str, Status, float | None]:
    return verdict.evaluator, verdict.status, verdict.value


def _unscored(claim: Scored, why: str) -> Scored:
    verdict = Verdict(evaluator="verify", status=Status.ERROR, value=None, why=why)
    return replace(claim, status=Status.ERROR, value=None, verdicts=(verdict,))
