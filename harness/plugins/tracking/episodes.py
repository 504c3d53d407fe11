"""Episodes as trajectories: what a run's journals hold, in the shape training code expects.

Reads journals and artifacts, and never writes them. The reward is the score in one dialect. A finished episode
without a score is an exception, never a reward of 0, and a pending one is left out. The conversation contains each
prompt as the model saw it, without the beginning it shares with the previous prompt (introduction, examples); `seen`
lists the messages of each request. What a fork inherited from another run is context: another model may have answered.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.api import Artifacts, Episode, JsonObject, Tokens
from harness.api.endpoints import calls_of, kept_of, tokens_of, tools_of
from harness.api.journals import is_run_folder, read_message
from harness.api.records import Decided, Scored, Status
from harness.errors import TrackingError
from harness.plugins.tracking.trajectory import RolloutError, Scalar, Trajectory, TrajectoryGroup
from harness.runs import Episode as Attempted
from harness.runs import Run

DIALECT = "corrected"


def trajectory_of(
    episode: Episode, *, artifacts: Artifacts | None = None, dialect: str = DIALECT, run_id: str = ""
) -> Trajectory | RolloutError:
    """One trial of one task.

    Args:
        episode: Must have been closed, or have failed.
        artifacts: Where the prompts lie; without them the observations stand for them.
        dialect: Whose score is the reward.
        run_id: Noted in the metadata.
    """
    opened = episode.opened
    if opened is None or (episode.closed is None and not episode.failures):
        raise TrackingError(
            "an episode that is still pending cannot be logged; run the same command again to finish it"
        )
    scored = episode.scores.get(dialect)
    if scored is None or scored.status is not Status.OK or scored.value is None:
        return _raised(episode, scored, f"task {opened.task.task_id}, trial {opened.trial}")
    conversation = _Conversation(artifacts)
    decisions = [*(step.decided for step in episode.steps), *((episode.pending,) if episode.pending else ())]
    own = [decided for decided in decisions if decided.step > episode.inherited]
    for decided in decisions:
        conversation.add(decided, episode)
    return Trajectory(
        messages_and_choices=conversation.messages,
        tools=conversation.tools,
        reward=scored.value,
        metrics=_metrics(episode, decisions),
        metadata=_metadata(episode, scored, run_id, own[0].model if own else ""),
        seen=conversation.seen,
        tokens=_tokens(episode, own, artifacts),
    )


@dataclass(frozen=True, slots=True)
class RunTrajectories:
    """A run folder to be logged, scored in one dialect."""

    folder: Path
    dialect: str = DIALECT

    def __iter__(self) -> Iterator[TrajectoryGroup]:
        return run_groups(self.folder, dialect=self.dialect)


def run_groups(folder: Path, *, dialect: str = DIALECT) -> Iterator[TrajectoryGroup]:
    """A run folder as one group per task, one trajectory per trial; one group at a time is read.

    Raises:
        TrackingError: There is no run.
        JournalError: A journal is damaged.
    """
    run = run_at(folder, scoring=dialect)
    ended = sorted((episode for episode in run.episodes() if _has_ended(episode)), key=_order)
    for task_id, trials in groupby(ended, key=lambda episode: episode.task_id):
        items = [
            trajectory_of(episode.record, artifacts=run.artifacts, dialect=dialect, run_id=run.name)
            for episode in trials
        ]
        yield TrajectoryGroup(items, metadata={"task_id": task_id, "scenario_id": task_id})


def run_at(folder: Path, *, scoring: str | None = None) -> Run:
    """A run whose journals are whole.

    Raises:
        TrackingError: There is no run.
        JournalError: A journal is damaged.
    """
    if not is_run_folder(folder):
        raise TrackingError(f"{folder} is not a run folder; give a folder under results/")
    run = Run(folder, scoring=scoring)
    if run.damaged:
        raise run.damaged[0]
    return run


def _has_ended(episode: Attempted) -> bool:
    return episode.is_finished or episode.result.failures > 0


def _order(episode: Attempted) -> tuple[int, int, str, int]:
    """Numbers as numbers, so that task 10 follows task 9."""
    number = int(episode.task_id) if episode.task_id.isdecimal() else -1
    return (number < 0, number, episode.task_id, episode.trial)


def _raised(episode: Episode, scored: Scored | None, place: str) -> RolloutError:
    if scored is not None and scored.status is not Status.OK:
        why = next((verdict.why for verdict in scored.verdicts if verdict.status is Status.ERROR), "no verdict")
        return RolloutError(type="EvaluatorError", message=f"{place}: {why}")
    if episode.closed is not None:
        return RolloutError(type="Unscored", message=f"{place}: closed but not yet scored in this dialect")
    failed = episode.failures[-1]
    return RolloutError(type=failed.type, message=f"{place}: {failed.message} (while trying to {failed.boundary})")


class _Conversation:
    """The messages of an episode, each once."""

    def __init__(self, artifacts: Artifacts | None) -> None:
        self.messages: list[Any] = []
        self.seen: list[tuple[int, ...]] = []
        self.tools: list[Any] | None = None
        self._artifacts = artifacts
        self._prompt: tuple[str, ...] = ()
        self._positions: tuple[int, ...] = ()

    def add(self, decided: Decided, episode: Episode) -> None:
        """Append what of a prompt is new, then the reply to it."""
        if self._artifacts is None:
            shared, new = 0, [_shown(decided, episode)]
        else:
            shared = min(_shared(self._prompt, decided.prompt), max(len(decided.prompt) - 1, 0))
            new = [read_message(digest, self._artifacts) for digest in decided.prompt[shared:]]
        first = len(self.messages)
        self._prompt = decided.prompt
        self._positions = (*self._positions[:shared], *range(first, first + len(new)))
        self.messages += [{key: value for key, value in message.items() if value is not None} for message in new]
        answer = self._answer(decided)
        if decided.step > episode.inherited:
            self.seen.append(self._positions)
        else:
            answer = answer["message"]  # not a choice: choices are trained
        self.messages.append(answer)

    def _answer(self, decided: Decided) -> JsonObject:
        """The reply with the calls it made, which are in its artifact alone."""
        reply: JsonObject = {"role": "assistant", "content": decided.reply}
        if self._artifacts is not None and decided.response is not None:
            frame = self._artifacts.read(decided.request) if decided.request else b""
            self.tools = self.tools or tools_of(frame) or None
            if calls := calls_of(frame, self._artifacts.read(decided.response)):
                reply |= {"content": decided.reply or None, "tool_calls": calls}
                return {"finish_reason": "tool_calls", "index": 0, "message": reply}
        return {"finish_reason": "stop", "index": 0, "message": reply}


def _tokens(episode: Episode, decisions: Sequence[Decided], artifacts: Artifacts | None) -> list[Tokens | None] | None:
    """The tokens of the answer that each decision was read from; of an agent's own process the last one before it."""
    if artifacts is None:
        return None
    last = {asked.step: asked for asked in episode.asked if asked.number in episode.answered}
    found: list[Tokens | None] = []
    for decided in decisions:
        if decided.response is not None:
            api = kept_of(artifacts.read(decided.request))[0] if decided.request else "chat"
            found.append(tokens_of(api, artifacts.read(decided.response)))
        elif (asked := last.get(decided.step)) is not None:
            answer = artifacts.read(episode.answered[asked.number].response)
            found.append(tokens_of(asked.interface, answer))
        else:
            found.append(None)
    return found if any(found) else None


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _shown(decided: Decided, episode: Episode) -> JsonObject:
    assert episode.opened is not None
    before = episode.arrival if decided.step == 1 else episode.steps[decided.step - 2].acted
    page = before.observation.text if before else ""
    return {"role": "user", "content": f"{page}\n\nOBJECTIVE:\n{episode.opened.task.intent}"}


def _metrics(episode: Episode, decisions: Sequence[Decided]) -> dict[str, float | int | bool]:
    """Of the attempt that was scored; `retries` are HTTP requests beyond one per decision.

    `deciding_s` leaves out decisions from the reply cache. `judge_…` is what judging the task costs, in all attempts
    and dialects; no other number includes it.
    """
    usage, judge = episode.usage, episode.total_judge_usage
    metrics: dict[str, float | int | bool] = {
        "steps": len(decisions),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "tokens": usage.prompt_tokens + usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "duration_s": episode.elapsed_ms / 1000,
        "deciding_s": sum(one.elapsed_ms for one in decisions if not one.is_cached and one.step > episode.inherited)
        / 1000,
        "acting_s": sum(step.acted.elapsed_ms for step in episode.own_steps) / 1000,
        "retries": max(0, usage.requests + usage.from_cache - len(decisions) + episode.inherited),
        "attempts": episode.attempt,
        "judge_tokens": judge.tokens,
        "judge_requests": judge.requests,
        "judge_cost_usd": judge.cost_usd,
    }
    if episode.inherited:
        metrics["inherited_steps"] = episode.inherited
    if episode.interruptions:
        metrics["resumed_from"] = episode.interruptions[-1].step
    return metrics


def _metadata(episode: Episode, scored: Scored, run_id: str, model: str) -> dict[str, Scalar]:
    opened, closed = episode.opened, episode.closed
    assert opened is not None
    return {
        "task_id": opened.task.task_id,
        "trial": opened.trial,
        "sites": "+".join(opened.task.sites),
        "run_id": run_id,
        "model": model,
        "task_digest": opened.task_digest,
        "config_digest": opened.config_digest,
        "scoring": scored.dialect,
        "evaluator_version": scored.evaluator_version,
        "closed": closed.reason.value if closed else "",
        "answer": closed.answer if closed else "",
    }
