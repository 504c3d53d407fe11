"""A corrected reference: a task that is judged in another way than when it was played, and is the same task otherwise.

Only `eval` may differ. Scores by it say so (`Scored.reference`), and what the new targets need is looked for in the
evidence there is: what was not looked at when the episode ended is an error of that target, never an empty text.
Why: docs/decisions/scoring.md#a-corrected-reference-costs-no-episode
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from harness.codec import plain, with_texts
from harness.episode.job import recorded_task, task_digest
from harness.errors import TaskError
from harness.escape import listed
from harness.evaluators.own_page import LAST
from harness.evaluators.result import shown
from harness.journal.final_state import FinalState, read_final_state
from harness.journal.index import EpisodeResult, Outcomes
from harness.journal.names import journals_in
from harness.records import Closed, Eval, Evidence, HtmlTarget, Opened, Reference, Scored, Selected, Task
from harness.secrets.redaction import Redactor

# The arguments of plugged-in evaluators are in `metadata`, under such keys.
_EVAL = "eval."
_IN_A_TASK_FILE = {"start_urls": "start_url", "images": "image"}
"""Field of a task to its name in a task file, where that is another one."""
_NONE = object()
"""A key is missing, which `null` is not."""


def reference_for(task: Task, opened: Opened) -> Reference | None:
    """The reference of `task`, when it is another one than that of the attempt; None = it is the same task."""
    # The whole `eval` goes into the record, so that a bundle is verified without the task file.
    now = task_digest(task)
    return None if now == opened.task_digest else Reference(eval=task.eval, metadata=_judging(task), task_digest=now)


def with_reference(task: Task, reference: Reference | None) -> Task:
    """The task with the corrected reference; None = as it is."""
    if reference is None:
        return task
    return replace(task, eval=reference.eval, metadata={**_others(task), **reference.metadata})


def newest_reference(state: FinalState, dialect: str) -> Reference | None:
    """With what an episode was scored last, in this dialect if in any."""
    newest = max(state.scores.values(), key=lambda scored: scored.at, default=None)
    score = state.scores.get(dialect, newest)
    return None if score is None else score.reference


def is_scored_with(score: Scored | None, reference: Reference | None) -> bool:
    """Whether there is a score, and with that reference (None = the one that was played)."""
    return score is not None and _digest(score.reference) == _digest(reference)


def as_asked(outcomes: Outcomes, digests: Mapping[str, str]) -> dict[tuple[str, int], EpisodeResult]:
    """The outcomes without scores by another reference than that of the present task.

    Args:
        outcomes: By task id and trial.
        digests: Task id to the digest of the present task; scores of other tasks stay.
    """
    return {key: with_asked_scores(became, digests.get(became.task_id)) for key, became in outcomes.items()}


def with_asked_scores(became: EpisodeResult, digest: str | None) -> EpisodeResult:
    """One outcome as `as_asked`; `digest`: of the present task, None = there is none."""
    right = {
        dialect: score
        for dialect, score in became.scores.items()
        if digest in (None, score.reference or became.task_digest)
    }
    return became if len(right) == len(became.scores) else replace(became, scores=right)


def outdated(outcomes: Outcomes, digests: Mapping[str, str], dialect: str) -> int:
    """How many episodes that have ended are to be scored again, as their score is by another reference."""
    asked = as_asked(outcomes, digests)
    return sum(
        became.closed is not None and dialect in became.scores and dialect not in asked[key].scores
        for key, became in outcomes.items()
    )


def corrected_references(
    folder: Path, tasks: Sequence[Task], redactor: Redactor
) -> dict[tuple[str, int], Reference | None]:
    """The references of `tasks` for the episodes of a run folder, by task id and trial; None = the one played.

    Args:
        folder: The run folder.
        tasks: Of the present task file; an episode of another task is left out.
        redactor: Took secrets out of the run.

    Raises:
        TaskError: A task is another one than was played, with what changed.
        JournalError: A journal is damaged.
    """
    by_id = {task.task_id: task for task in tasks}
    found: dict[tuple[str, int], Reference | None] = {}
    for entry in journals_in(folder):
        if (state := read_final_state(Path(entry.path))) is None:
            continue
        if (task := by_id.get(state.opened.task.task_id)) is None:
            continue
        if (reference := reference_for(task, state.opened)) is not None:
            check_same_task(task, state.opened, redactor)
            reference = with_texts(reference, redactor.text)
        found[task.task_id, state.opened.trial] = reference
    return found


def check_same_task(task: Task, opened: Opened, redactor: Redactor) -> None:
    """See that nothing but the reference of a task differs from what was played.

    Args:
        task: As it is now, with its secrets.
        opened: As it is in the journal, without them.
        redactor: Took them out.

    Raises:
        TaskError: Naming what changed.
    """
    if changed := list(_changed(with_texts(task, redactor.text), opened.task)):
        raise TaskError(
            f"task {task.task_id} is another task than the one that was played ({listed(changed)} changed); only its"
            " reference (eval) may be corrected afterwards"
        )


def _changed(now: Task, played: Task) -> Iterator[str]:
    """The fields that differ, as a task file names them."""
    one, other = _asking(now), _asking(played)
    for field in fields(Task):
        is_now, was = plain(getattr(one, field.name)), plain(getattr(other, field.name))
        if is_now == was:
            continue
        if field.name == "metadata":  # keys of plug-ins, which a setting may bring (`attack=…`)
            yield from sorted(key for key in {**is_now, **was} if is_now.get(key, _NONE) != was.get(key, _NONE))
        else:
            yield _IN_A_TASK_FILE.get(field.name, field.name)


def _asking(task: Task) -> Task:
    """Of a task what is not its reference; whether its eval differs is not asked here."""
    return replace(recorded_task(task), eval=Eval(eval_types=()), metadata=_others(task))


def _others(task: Task) -> dict[str, Any]:
    return {key: value for key, value in task.metadata.items() if not key.startswith(_EVAL)}


def _judging(task: Task) -> dict[str, Any]:
    return {key: value for key, value in task.metadata.items() if key.startswith(_EVAL)}


def _digest(reference: Reference | None) -> str:
    return "" if reference is None else reference.task_digest


def realigned(closed: Closed, played: Task, wanted: Task) -> Closed:
    """The end of an attempt with what its evidence has for each `program_html` target of another reference.

    Args:
        closed: As recorded.
        played: The attempt's task.
        wanted: The task with the reference that judges.
    """
    evidence = closed.evidence
    gathered = played.eval.program_html if evidence.targets is None else evidence.targets
    targets = wanted.eval.program_html
    if [_place(one) for one in gathered] == [_place(one) for one in targets]:
        return closed
    found = tuple(_found(index, targets, gathered=gathered, evidence=evidence) for index in range(len(targets)))
    return replace(closed, evidence=replace(evidence, selected=found, targets=targets))


def _found(
    index: int, targets: Sequence[HtmlTarget], *, gathered: Sequence[HtmlTarget], evidence: Evidence
) -> Selected:
    """What was selected for a target, wherever it stood before."""
    wanted, by_index = targets[index], {selected.index: selected for selected in evidence.selected}
    # Not by its position, which a corrected list moves.
    for other, target in enumerate(gathered):
        is_same = _place(target) == _place(wanted) and _before(gathered, other) == _before(targets, index)
        if is_same and (selected := by_index.get(other)) is not None:
            return replace(selected, index=index)
    # The whole of the agent's last page is in the evidence, whether a target asked for it or not.
    if wanted.url == LAST and not wanted.locator.strip() and _before(targets, index) == () and evidence.html:
        return Selected(index=index, url=evidence.url, content=evidence.html)
    what = f"{wanted.url} {wanted.locator}".rstrip()
    why = (
        f"the reference looks at {shown(what)}, which was not looked at when the episode ended; only playing the task"
        " again can score it"
    )
    return Selected(index=index, url="", content=None, error=why)


def _place(target: HtmlTarget) -> tuple[str, str, tuple[str, ...]]:
    """Where a target looks, without what it wants there."""
    return target.url, target.locator, target.prep_actions


def _before(targets: Sequence[HtmlTarget], index: int) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """What came before a target that looks at the agent's own page, and may have changed what it finds.

    Scripts that prepare that page, and other addresses, where WebArena looks instead. Those are opened anew each time.
    """
    if targets[index].url != LAST:
        return ()
    return tuple(_place(one) for one in targets[:index] if one.url != LAST or one.prep_actions)
