"""Which record may follow which, and what the records of a journal add up to.

Invariant: an episode depends on nothing but the records folded into it, one after the other; nothing is changed in
place. `check` says why a record may not come next; `fold` takes for granted that it may. Pure: knows no files and no
clock.

    opened(1) ─► acted(0) ─► decided(1) ─► acted(1) ─► … ─► decided(k: stop) ─► closed ─► judged … scored …
    opened(n+1) may follow failed, closed or scored, and anything when the attempt has moved to other instances of its
    sites; failed, resumed, late and doubt come at any time while the attempt is open, and so do asked, answered,
    commanded, landed, diverged, policy_violation and exited, which an agent's process causes; replied comes before its
    decision.

An attempt of a fork begins with inherited steps: lines of its first attempt, which later ones begin with, too.

A decided `Stop` is never acted upon: `closed` follows it, and it stays visible as the episode's `pending`. The same
holds for a decision that was still pending when a limit closed the episode.
"""

from typing import Any

from harness.actions import Stop
from harness.errors import EnvironmentDiverged
from harness.records import (
    Acted,
    Answered,
    Asked,
    Closed,
    CloseReason,
    Commanded,
    Decided,
    Diverged,
    Doubt,
    Episode,
    Exited,
    Failed,
    Judged,
    Landed,
    Late,
    Opened,
    PolicyViolation,
    ProcessRecord,
    Record,
    Replied,
    Resumed,
    Scored,
    SideEffect,
    Status,
    Step,
)


def check(episode: Episode, record: Record) -> str | None:
    """Why `record` may not come next; None when it may."""
    if isinstance(record, Opened):
        return _check_opened(episode, record)
    if isinstance(record, Scored | Judged):
        return _check_scored(episode, record)
    if episode.opened is None:
        return f"{record.kind} before the episode was opened"
    if episode.closed is not None:
        return f"{record.kind} after the episode was closed"
    if isinstance(record, ProcessRecord):
        return _check_process(episode, record)
    return _check_in_attempt(episode, record)


def _check_in_attempt(  # noqa: PLR0911 (one case per kind)
    episode: Episode, record: Replied | Decided | Acted | Resumed | Late | Doubt | Closed | Failed
) -> str | None:
    match record:
        case Replied() | Decided():
            return _check_decided(episode, record)
        case Acted():
            return _check_acted(episode, record)
        case Resumed():
            return _check_resumed(episode, record)
        case Late():
            return _check_late(episode, record)
        case Doubt():
            return _check_doubt(episode, record)
        case Closed():
            return _check_closed(episode, record)
        case Failed():
            right = record.attempt == episode.attempt
            return None if right else f"failure of attempt {record.attempt} in attempt {episode.attempt}"


def fold(episode: Episode, record: Record) -> Episode:  # noqa: C901, PLR0911, PLR0912 (one case per kind)
    """The episode after `record`, which `check` must have let pass."""
    match record:
        case Opened():
            return _opened(episode, record)
        case Replied():
            return _replied(episode, record)
        case Decided():
            return _decided(episode, record)
        case Acted():
            return _acted(episode, record)
        case Asked():
            return _changed(episode, asked=(*episode.asked, record))
        case Answered():
            return _answered(episode, record)
        case Commanded():
            # Commands may be scripts, and whether a script changes something cannot be known before it runs.
            return _changed(episode, commanded=(*episode.commanded, record), has_acted=True)
        case Landed():
            return _changed(episode, landed=(*episode.landed, record))
        case Late():
            total = _with_effects(episode.total_effects, record.effects)
            return _changed(episode, late=(*episode.late, record), total_effects=total)
        case Resumed():
            # What follows may perform the pending action.
            return _changed(episode, resumed=(*episode.resumed, record), is_unsent=False)
        case Doubt():
            return _changed(episode, doubts=(*episode.doubts, record))
        case Diverged():
            # With `restart` a failure follows that says the same.
            total_divergences = episode.total_divergences + (record.policy != "restart")
            return _changed(episode, diverged=(*episode.diverged, record), total_divergences=total_divergences)
        case PolicyViolation():
            violations = (*episode.violations, record)
            return _changed(episode, violations=violations, total_violations=episode.total_violations + 1)
        case Exited():
            is_unconfined = episode.is_unconfined or record.sandbox == "none"
            return _changed(episode, exited=(*episode.exited, record), is_unconfined=is_unconfined)
        case Failed():
            return _failed(episode, record)
        case Closed():
            return _changed(episode, closed=record)
        case Judged():
            return _judged(episode, record)
        case Scored():
            return _scored(episode, record)


def _changed(episode: Episode, **changes: Any) -> Episode:
    """As `dataclasses.replace`, which takes ten times as long for so many fields: reading a journal is mostly this."""
    changed = object.__new__(Episode)
    # `replace` would refuse a misspelt field, and the dictionary takes it.
    assert changes.keys() <= episode.__dict__.keys()
    changed.__dict__.update(episode.__dict__, **changes)
    return changed


def _opened(episode: Episode, record: Opened) -> Episode:
    # A retry that a person asked for has all its attempts again; what was spent stays in the totals.
    is_retry = record.why == "retry"
    return _changed(
        _inherited(episode, record),
        opened=record,
        failures=() if is_retry else episode.failures,
        failed_at=() if is_retry else episode.failed_at,
        total_usage=episode.total_usage,
        total_judge_usage=episode.total_judge_usage,
        total_elapsed_ms=episode.total_elapsed_ms,
        total_violations=episode.total_violations,
        total_divergences=episode.total_divergences,
        is_unconfined=episode.is_unconfined,
        # What an earlier attempt did stays on a site that was not reset.
        has_acted=episode.has_acted,
        total_effects=episode.total_effects,
    )


def _inherited(episode: Episode, record: Opened) -> Episode:
    """What a further attempt of a fork has of the one before it; other attempts begin with nothing."""
    before, fork = episode.opened, record.fork
    if before is None or fork is None or before.fork != fork:
        return Episode()
    late, doubts = episode.late[: fork.late], episode.doubts[: fork.doubts]
    if fork.late is None or fork.doubts is None:
        # By their times, which differ where clocks do: inherited lines keep those of the run they were copied from.
        late = tuple(one for one in late if one.at < before.at)
        doubts = tuple(doubt for doubt in doubts if doubt.at < before.at)
    return Episode(
        arrival=episode.arrival,
        steps=episode.steps[: fork.step],
        replied=tuple(reply for reply in episode.replied if reply.step <= fork.step),
        late=late,
        doubts=doubts,
        inherited_usage=episode.inherited_usage,
    )


def _is_inherited(episode: Episode, step: int) -> bool:
    return episode.opened is not None and episode.opened.fork is not None and step <= episode.opened.fork.step


def _replied(episode: Episode, record: Replied) -> Episode:
    replied = (*episode.replied, record)
    if _is_inherited(episode, record.step):
        return _changed(episode, replied=replied, inherited_usage=episode.inherited_usage + record.usage)
    # Counted here and not in its decision, as the process may be killed between the two.
    usage, total_usage = episode.usage + record.usage, episode.total_usage + record.usage
    return _changed(episode, replied=replied, usage=usage, total_usage=total_usage)


def _decided(episode: Episode, record: Decided) -> Episode:
    spent = record.usage.without(record.counted) if episode.replied else record.usage
    has_acted = episode.has_acted or record.action.may_change_sites()
    made = {"pending": record, "is_unsent": record.unsent, "has_acted": has_acted}
    if _is_inherited(episode, record.step):
        return _changed(episode, **made, inherited_usage=episode.inherited_usage + spent)
    return _changed(
        episode,
        **made,
        usage=episode.usage + spent,
        total_usage=episode.total_usage + spent,
        elapsed_ms=episode.elapsed_ms + record.elapsed_ms,
        total_elapsed_ms=episode.total_elapsed_ms + record.elapsed_ms,
    )


def _acted(episode: Episode, record: Acted) -> Episode:
    pending = episode.pending
    # The other run has spent this time; limits and budgets count what this run spends.
    elapsed_ms = 0.0 if _is_inherited(episode, record.step) else record.elapsed_ms
    return _changed(
        episode,
        # The first page is step 0 and not a kind of its own, so that a replay compares it like any other step.
        arrival=episode.arrival or record,
        steps=(*episode.steps, Step(decided=pending, acted=record)) if pending else episode.steps,
        pending=None,
        is_unsent=False,
        elapsed_ms=episode.elapsed_ms + elapsed_ms,
        total_elapsed_ms=episode.total_elapsed_ms + elapsed_ms,
        total_effects=_with_effects(episode.total_effects, record.effects),
    )


def _answered(episode: Episode, record: Answered) -> Episode:
    return _changed(
        episode,
        # The cost is counted here and not in the next decision, as the process may be killed between the two.
        answered={**episode.answered, record.number: record},
        usage=episode.usage + record.usage,
        total_usage=episode.total_usage + record.usage,
    )


def _failed(episode: Episode, record: Failed) -> Episode:
    return _changed(
        episode,
        failures=(*episode.failures, record),
        failed_at=(*episode.failed_at, len(episode.steps) + (episode.pending is not None)),
        late=(*episode.late, *_late_of(episode, record)),
        usage=episode.usage + record.usage,
        total_usage=episode.total_usage + record.usage,
        is_unsent=episode.is_unsent or (record.unsent and episode.pending is not None),
        total_effects=_with_effects(episode.total_effects, record.effects),
        total_divergences=episode.total_divergences + (record.type == EnvironmentDiverged.__name__),
    )


def late_of(failed: Failed, *, step: int, is_pending: bool) -> Late:
    """The effects of a failure as `late` records them.

    Args:
        step: The last whole one.
        is_pending: Whether a decision was pending.
    """
    # Not what a restore or the interrupted action sent: before the next action a replay would wait for it in vain.
    replayed = failed.boundary != "restore" and not (is_pending and failed.boundary == "act")
    return Late(step=step, effects=failed.effects, replayed=replayed, at=failed.at)


def _late_of(episode: Episode, failed: Failed) -> tuple[Late, ...]:
    """What a failure says of the recorded steps, without what the interrupted action itself had sent."""
    is_of_action = failed.boundary == "act" and episode.pending is not None
    if not failed.effects or episode.arrival is None or is_of_action:
        return ()
    return (late_of(failed, step=len(episode.steps), is_pending=episode.pending is not None),)


def _judged(episode: Episode, record: Judged) -> Episode:
    # A sum of its own: added to `usage`, it would make a model look dearer on tasks that a model judges.
    judged, spent = {**episode.judged, record.key: record}, episode.total_judge_usage + record.usage
    return _changed(episode, judged=judged, total_judge_usage=spent)


def _scored(episode: Episode, record: Scored) -> Episode:
    spent = episode.total_judge_usage
    if not episode.judged:  # before schema 3, only verdicts recorded the cost of their replies
        spent = sum((verdict.usage for verdict in record.verdicts), spent)
    return _changed(episode, scores={**episode.scores, record.dialect: record}, total_judge_usage=spent)


def _with_effects(known: tuple[str, ...], effects: tuple[SideEffect, ...]) -> tuple[str, ...]:
    if not effects:
        return known
    return tuple(dict.fromkeys((*known, *(effect.url.partition("?")[0] for effect in effects))))


def _check_opened(episode: Episode, record: Opened) -> str | None:
    if record.attempt != episode.attempt + 1:
        return f"attempt {record.attempt} opened after attempt {episode.attempt}"
    if (before := episode.opened) is None:
        return None
    # An attempt whose instance of a site is gone can neither fail nor close, and is left as it is; so is one in which
    # nothing was done before the settings were corrected.
    is_left = record.why == "moved" or (record.why == "settings" and episode.arrival is None)
    if episode.closed is None and not episode.failures and not is_left:
        return f"attempt {record.attempt} opened while attempt {episode.attempt} had neither failed nor closed"
    if (before.task.task_id, before.trial) != (record.task.task_id, record.trial):
        return f"opened for task {record.task.task_id} trial {record.trial} in the journal of another"
    return None


def _check_decided(episode: Episode, record: Replied | Decided) -> str | None:
    if episode.arrival is None:
        return f"{record.kind} before anything was observed"
    if episode.pending is not None:
        return f"decision {record.step} while decision {episode.pending.step} is pending"
    if record.step != len(episode.steps) + 1:
        return f"decision {record.step} after step {len(episode.steps)}"
    return None


def _check_acted(episode: Episode, record: Acted) -> str | None:
    pending = episode.pending
    if pending is None:
        if episode.arrival is None:
            return None if record.step == 0 else f"step {record.step} before the arrival"
        return f"step {record.step} acted without a decision"
    if record.step != pending.step:
        return f"step {record.step} acted while decision {pending.step} is pending"
    # An `Acted` for a stop would claim that an action was performed on a page.
    return "a stop is never acted upon" if isinstance(pending.action, Stop) else None


def _check_resumed(episode: Episode, record: Resumed) -> str | None:
    if episode.arrival is None:
        return "resumed before anything was observed"
    if record.step != len(episode.steps):
        return f"resumed at step {record.step} although the last whole step is {len(episode.steps)}"
    return None


def _check_late(episode: Episode, record: Late) -> str | None:
    if episode.arrival is None:
        return "late effects before anything was observed"
    if record.step != len(episode.steps):
        return f"late effects after step {record.step} although the last whole step is {len(episode.steps)}"
    return None


def _check_doubt(episode: Episode, record: Doubt) -> str | None:
    if record.step == 0:
        return None
    if episode.pending is None or record.step != episode.pending.step:
        return f"doubt about step {record.step}, which is not pending"
    return None


def _check_process(episode: Episode, record: ProcessRecord) -> str | None:  # noqa: PLR0911 (one case per rule)
    if episode.arrival is None:
        return f"{record.kind} before anything was observed"
    match record:
        case Asked() if record.number != len(episode.asked) + 1:
            return f"request {record.number} after request {len(episode.asked)}"
        case Asked() if record.step != len(episode.steps) + 1:
            return f"request before decision {record.step} although the last whole step is {len(episode.steps)}"
        case Commanded() | Landed() if record.step != len(episode.steps) + 1:
            return f"{record.kind} for step {record.step} although the last whole step is {len(episode.steps)}"
        case Diverged() if not 0 < record.step <= len(episode.steps) + 1:
            return f"diverged at decision {record.step} although the last whole step is {len(episode.steps)}"
        case PolicyViolation() if not 0 < record.step <= len(episode.steps) + 1:
            return f"policy violation at decision {record.step} although the last whole step is {len(episode.steps)}"
        case Answered() if not 0 < record.number <= len(episode.asked):
            return f"answer to request {record.number}, which was not asked"
        case Answered() if record.number in episode.answered:
            return f"second answer to request {record.number}"
    return None


def _check_closed(episode: Episode, record: Closed) -> str | None:
    if episode.arrival is None:
        return "closed before anything was observed"
    stopping = episode.pending is not None and isinstance(episode.pending.action, Stop)
    if record.reason is CloseReason.STOPPED and not stopping:
        return "closed as stopped without a pending stop"
    return None


def _check_scored(episode: Episode, record: Scored | Judged) -> str | None:
    if episode.closed is None:
        return f"{record.kind} before the episode was closed"
    if isinstance(record, Judged):
        return None
    return _misjudged(record.status, record.value) or next(
        (why for verdict in record.verdicts if (why := _misjudged(verdict.status, verdict.value))), None
    )


def _misjudged(status: Status, value: float | None) -> str | None:
    if status is Status.ERROR:
        return None if value is None else f"an error scored {value}"
    if value is None or not 0.0 <= value <= 1.0:
        return f"a score of {value}"
    return None
