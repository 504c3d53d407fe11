"""Episodes as trajectories: what a run's journals hold, in the shape training code expects.

Reads journals and artifacts, and never writes them. The reward is the score in one dialect. A finished episode
without a score is an exception, never a reward of 0, and a pending one is left out. The conversation contains each
prompt as the model saw it, without what it repeats: the beginning that it shares with the previous prompt
(introduction, examples), and earlier answers with all before them; `seen` lists the messages of each request. Steps
that no model was asked for (further calls of an answer, agents without a model) are not part of it. What a fork
inherited from another run is context: another model may have answered.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.api import Artifacts, Episode, JsonObject, Tokens, dumps
from harness.api.endpoints import calls_of, kept_of, tokens_of, tools_of
from harness.api.journals import is_run_folder, read_message
from harness.api.records import Asked, Decided, Scored, Status
from harness.errors import TrackingError
from harness.plugins.tracking.exports.foreign_chat import Unreadable, answer_message, chat_message, exchange_of
from harness.plugins.tracking.trajectory import RolloutError, Scalar, Trajectory, TrajectoryGroup
from harness.runs import Episode as Attempted
from harness.runs import Run

DIALECT = "corrected"
_OK = 200
_WHOLE = ("", "stop", "tool_calls")
"""How an answer ends that was not cut short."""
_WITHHELD = ("content_filter", "refusal")


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
    conversation = _Conversation()
    tokens: list[Tokens | None] = []
    model = ""
    for turn in _turns(episode, artifacts):
        is_own = turn.step > episode.inherited
        conversation.add(turn, is_choice=is_own)
        if is_own:
            tokens.append(turn.tokens)
            model = model or turn.model
    return Trajectory(
        messages_and_choices=conversation.messages,
        tools=conversation.tools,
        reward=scored.value,
        metrics=_metrics(episode),
        metadata=_metadata(episode, scored, run_id, model or _named(episode)),
        seen=conversation.seen,
        tokens=tokens if any(tokens) else None,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A request to the model under test, and its answer."""

    step: int
    model: str
    keys: tuple[str, ...]
    """A hash of each message: those of two requests are compared by it."""
    message: Callable[[int], JsonObject]
    """The message at a position; pictures make it large, so none is kept."""
    answer: JsonObject
    finish_reason: str
    """Why the answer was cut short; one of `_WHOLE` = it was not."""
    tools: Sequence[JsonObject] = ()
    tokens: Tokens | None = None


def _turns(episode: Episode, artifacts: Artifacts | None) -> Iterator[_Turn]:
    """In order; without artifacts those of an agent's own process are not known."""
    asked = [one for one in episode.asked if _is_answered(one, episode)]
    made: list[Asked | Decided] = [*asked, *(one for one in _decisions(episode) if one.prompt)]
    for one in sorted(made, key=lambda one: (one.step, isinstance(one, Decided))):
        if isinstance(one, Decided):
            yield _shown(one, episode) if artifacts is None else _own_turn(one, artifacts)
        elif artifacts is not None and (turn := _process_turn(one, episode, artifacts)) is not None:
            yield turn


def _own_turn(decided: Decided, artifacts: Artifacts) -> _Turn:
    """What an agent in the worker asked; the calls of the answer are in its artifact alone."""
    frame = artifacts.read(decided.request) if decided.request else b""
    response = None if decided.response is None else artifacts.read(decided.response)
    return _Turn(
        step=decided.step,
        model=decided.model,
        keys=decided.prompt,
        message=lambda position: chat_message(read_message(decided.prompt[position], artifacts)),
        answer=answer_message(decided.reply, [] if response is None else calls_of(frame, response)),
        finish_reason=decided.finish_reason,
        tools=tools_of(frame),
        tokens=None if response is None else tokens_of(kept_of(frame)[0] if frame else "chat", response),
    )


def _process_turn(asked: Asked, episode: Episode, artifacts: Artifacts) -> _Turn | None:
    """What the agent's own process asked; None = it or its answer cannot be read."""
    answered = episode.answered[asked.number]
    response = artifacts.read(answered.response)
    try:
        made = exchange_of(asked.interface, artifacts.read(asked.request), response)
    except Unreadable:
        return None
    return _Turn(
        step=asked.step,
        model=answered.model,
        keys=tuple(sha256(dumps(one)).hexdigest() for one in made.messages),
        message=made.messages.__getitem__,
        answer=made.answer,
        finish_reason=made.finish_reason,
        tools=made.tools,
        tokens=tokens_of(asked.interface, response),
    )


def _shown(decided: Decided, episode: Episode) -> _Turn:
    """Without artifacts: the observation stands for the prompt."""
    assert episode.opened is not None
    before = episode.arrival if decided.step == 1 else episode.steps[decided.step - 2].acted
    page = before.observation.text if before else ""
    shown = {"role": "user", "content": f"{page}\n\nOBJECTIVE:\n{episode.opened.task.intent}"}
    return _Turn(
        step=decided.step,
        model=decided.model,
        keys=(f"page {decided.step}",),
        message=lambda _: shown,
        answer=answer_message(decided.reply, ()),
        finish_reason=decided.finish_reason,
    )


class _Conversation:
    """The messages of an episode, each once."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.seen: list[tuple[int, ...]] = []
        self.tools: list[Any] | None = None
        self._keys: tuple[str, ...] = ()
        self._positions: tuple[int, ...] = ()
        self._contents: dict[str, str] = {}
        """Key of a message of a prompt to its `_content_of`."""
        self._places: dict[str, int] = {}
        """`_content_of` a message to where it stands, the newest of equal ones."""
        self._answers: set[int] = set()

    def add(self, turn: _Turn, *, is_choice: bool) -> None:
        """Append what of a prompt is new, then the answer to it; what is no choice is not trained."""
        self._positions = tuple(self._placed(turn))
        self._keys = turn.keys
        self.tools = self.tools or list(turn.tools) or None
        if is_choice:
            self.seen.append(self._positions)
        self._answers.add(len(self.messages))
        self._append(_choice(turn) if is_choice else turn.answer, _content_of(turn.answer))

    def _placed(self, turn: _Turn) -> Iterator[int]:
        """Where each message of a prompt stands."""
        keys, read = turn.keys, dict[int, JsonObject]()
        # The last message is always appended: a page that is shown again is what is answered now.
        shared = min(_shared(self._keys, keys), max(len(keys) - 1, 0))
        for position, key in enumerate(keys):
            if key not in self._contents:
                read[position] = turn.message(position)
                self._contents[key] = _content_of(read[position])
        contents = [self._contents[key] for key in keys]
        known = [*self._positions[:shared], *map(self._places.get, contents[shared:])]
        # What stands before an answer that is repeated is repeated as well, and what follows it is new.
        repeated = max((position for position, place in enumerate(known) if place in self._answers), default=-1) + 1
        for position, place in enumerate(known):
            if place is None or position >= max(shared, repeated):
                place = self._append(read.get(position) or turn.message(position), contents[position])
            yield place

    def _append(self, item: JsonObject, content: str) -> int:
        self._places[content] = len(self.messages)
        self.messages.append(item)
        return len(self.messages) - 1


def _choice(turn: _Turn) -> JsonObject:
    """It ends for a reason that chat completions have, whichever interface was spoken."""
    if turn.finish_reason in _WHOLE:
        reason = "tool_calls" if "tool_calls" in turn.answer else "stop"
    else:
        reason = "content_filter" if turn.finish_reason in _WITHHELD else "length"
    return {"finish_reason": reason, "index": 0, "message": turn.answer}


def _content_of(message: JsonObject) -> str:
    """A hash that an answer and its repetition in a prompt have in common: there null stands for an empty text."""
    return sha256(dumps({**message, "content": message.get("content") or ""})).hexdigest()


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the common beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _decisions(episode: Episode) -> list[Decided]:
    return [*(step.decided for step in episode.steps), *((episode.pending,) if episode.pending else ())]


def _named(episode: Episode) -> str:
    """The model of an agent that asked none."""
    return next((one.model for one in _decisions(episode) if one.step > episode.inherited), "")


def _metrics(episode: Episode) -> dict[str, float | int | bool]:
    """Of the attempt that was scored; `retries` are HTTP requests beyond one for each decision that the model was asked
    for, and for each request of an agent's process that was answered.

    `deciding_s` leaves out decisions from the reply cache. `judge_…` is what judging the task costs, in all attempts
    and dialects; no other number includes it.
    """
    usage, judge, decisions = episode.usage, episode.total_judge_usage, _decisions(episode)
    own = [one for one in decisions if one.step > episode.inherited]
    answered = [one for one in episode.asked if one.step > episode.inherited and _is_answered(one, episode)]
    wanted = len(answered) + sum(one.usage.requests + one.usage.from_cache > 0 for one in own)
    metrics: dict[str, float | int | bool] = {
        "steps": len(decisions),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "tokens": usage.prompt_tokens + usage.completion_tokens,
        "cost_usd": usage.cost_usd,
        "duration_s": episode.elapsed_ms / 1000,
        "deciding_s": sum(one.elapsed_ms for one in own if not one.is_cached) / 1000,
        "acting_s": sum(step.acted.elapsed_ms for step in episode.own_steps) / 1000,
        "retries": max(0, usage.requests + usage.from_cache - wanted),
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


def _is_answered(asked: Asked, episode: Episode) -> bool:
    answered = episode.answered.get(asked.number)
    return answered is not None and answered.status == _OK


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
