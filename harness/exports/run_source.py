"""A run folder as exports read it: one episode at a time, its requests and actions in order, pictures in place.

Reads journals, artifacts and `run.json`, never `private/`. What was redacted when it was recorded stays redacted.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import safe_files
from harness.codec import CodecError, JsonObject, loads
from harness.errors import TrackingError
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from harness.llm.recorded_answer import calls_of, tools_of
from harness.records import Acted, Decided, Episode, Refused, Scored, Status, Unknown, Usage
from harness.tracking.episodes import episodes_in, settings_of

DIALECTS = ("corrected", "webarena")
PROVIDERS: Mapping[str, str] = {"chat": "openai", "responses": "openai", "messages": "anthropic"}
"""Interface (`llm.api`) to the name of its provider in OpenTelemetry's conventions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function call as the model wrote it."""

    id: str
    name: str
    arguments: str
    """JSON text; perhaps no JSON at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to the model and what it answered."""

    number: int
    """1-based within the attempt."""
    prompt: tuple[str, ...]
    """Artifact hashes of the messages; () for the requests of an agent's own process, which are not in that shape."""
    model: str
    reply: str
    calls: tuple[Call, ...]
    tools: tuple[JsonObject, ...]
    """Functions that were offered, in the shape of chat completions."""
    usage: Usage
    finish_reason: str
    request_id: str
    is_cached: bool
    began: float
    """Seconds since the epoch; so `ended`."""
    ended: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedAction:
    """One decided action, and what came of it."""

    step: int
    name: str
    """Of the function called, or of the action."""
    text: str
    """As the run's reports write it."""
    call: Call | None
    """The call that the action was read from; None for an agent that answers in text."""
    acted: Acted | None
    """None = it was not performed: the attempt ended with it."""
    began: float
    ended: float

    @property
    def why_not(self) -> str:
        """Why it was not performed, or not known to be; "" = it was."""
        outcome = self.acted.outcome if self.acted else None
        return outcome.why if isinstance(outcome, Refused | Unknown) else ""


@dataclass(frozen=True, slots=True)
class RunSource:
    """A run folder to be exported."""

    folder: Path

    @property
    def run_id(self) -> str:
        return self.folder.resolve().name

    @property
    def artifacts(self) -> ArtifactStore:
        return ArtifactStore(self.folder / "artifacts")

    @property
    def settings(self) -> JsonObject:
        """The measured settings, by dotted key; {} when they are not there any more."""
        return settings_of(self.folder)

    @property
    def description(self) -> JsonObject:
        """`run.json`; {} when it is not there any more, or is none."""
        data = safe_files.read_if_there(self.folder / "run.json") or b"{}"
        with suppress(CodecError):
            if isinstance(found := loads(data), dict):
                return found
        return {}

    def episodes(self) -> Iterator[Episode]:
        """One at a time; its newest attempt.

        Raises:
            TrackingError: There is no run.
            JournalError: A journal is damaged.
        """
        return episodes_in(self.folder)

    def moves(self, episode: Episode) -> Iterator[Request | DecidedAction]:
        """What an attempt did, in order: requests, and the actions that were read from their answers."""
        calls: list[Call] = []
        number = 0
        for decided, acted in _decisions(episode):
            for asked in (one for one in episode.asked if one.step == decided.step):
                number += 1
                if (found := _process_request(episode, asked.number, number)) is not None:
                    yield found
            if decided.prompt:
                number += 1
                request = self._request(decided, number)
                calls = list(request.calls)
                yield request
            yield _action(episode.said(decided), decided, acted, calls.pop(0) if calls else None)

    def message(self, digest: str) -> JsonObject:
        """A message of a prompt, its pictures as data URLs.

        Raises:
            JournalError: It is missing or damaged.
        """
        return read_message(digest, self.artifacts)

    def _request(self, decided: Decided, number: int) -> Request:
        frame = self.artifacts.read(decided.request) if decided.request else b""
        calls: list[JsonObject] = []
        if decided.response is not None:
            try:
                calls = calls_of(frame, self.artifacts.read(decided.response))
            except ImportError as exc:
                raise TrackingError(
                    "the answers of the Messages API need the package anthropic: pip install 'cairn-harness[anthropic]'"
                ) from exc
        return Request(
            number=number,
            prompt=decided.prompt,
            model=decided.model,
            reply=decided.reply,
            calls=tuple(found for index, call in enumerate(calls) if (found := _call(call, decided.step, index))),
            tools=tuple(tools_of(frame)),
            usage=decided.usage,
            finish_reason=decided.finish_reason or ("tool_calls" if calls else "stop"),
            request_id=decided.request_id,
            is_cached=decided.is_cached,
            began=decided.at - decided.elapsed_ms / 1000,
            ended=decided.at,
        )


def scores_of(episode: Episode) -> Iterator[tuple[str, Scored]]:
    """The scores that there are, by dialect; those that could not be computed are left out."""
    for dialect in DIALECTS:
        scored = episode.scores.get(dialect)
        if scored is not None and scored.status is Status.OK and scored.value is not None:
            yield dialect, scored


def why_of(scored: Scored) -> str:
    """What the evaluators said, a line each."""
    return "\n".join(f"{verdict.evaluator}: {verdict.why}" for verdict in scored.verdicts)


def why_unscored(episode: Episode) -> str:
    """Why an episode has no score in any dialect; "" = it has one."""
    if next(scores_of(episode), None) is not None:
        return ""
    for scored in episode.scores.values():
        for verdict in scored.verdicts:
            if verdict.status is Status.ERROR:
                return f"{verdict.evaluator}: {verdict.why}"
    if episode.closed is not None:
        return "the episode ended and is not scored yet"
    if episode.failures:
        failed = episode.failures[-1]
        return f"{failed.type}: {failed.message} (while trying to {failed.boundary})"
    return "the episode is still pending; run the same command again to finish it"


def bounds_of(episode: Episode) -> tuple[float, float]:
    """When the newest attempt began and when something was last recorded of it, seconds since the epoch."""
    assert episode.opened is not None
    times = [step.acted.at for step in episode.steps] + [step.decided.at for step in episode.steps]
    times += [scored.at for scored in episode.scores.values()] + [failed.at for failed in episode.failures]
    times += [one.at for one in (episode.pending, episode.closed, episode.arrival) if one is not None]
    return episode.opened.at, max([episode.opened.at, *times])


def _decisions(episode: Episode) -> Iterator[tuple[Decided, Acted | None]]:
    for step in episode.steps:
        yield step.decided, step.acted
    if episode.pending is not None:
        yield episode.pending, None


def _process_request(episode: Episode, number: int, position: int) -> Request | None:
    """A request of the agent's own process; None while it is unanswered."""
    answered = episode.answered.get(number)
    if answered is None:
        return None
    return Request(
        number=position,
        prompt=(),
        model=answered.model,
        reply="",
        calls=(),
        tools=(),
        usage=answered.usage,
        finish_reason="",
        request_id=answered.request_id,
        is_cached=answered.usage.from_cache > 0,
        began=answered.at - answered.elapsed_ms / 1000,
        ended=answered.at,
    )


def _call(call: JsonObject, step: int, index: int) -> Call | None:
    match call:
        case {"function": {"name": str(name), "arguments": str(arguments)}}:
            found: Any = call.get("id")
            return Call(id=found if isinstance(found, str) else f"{step}-{index}", name=name, arguments=arguments)
    return None


def _action(text: str, decided: Decided, acted: Acted | None, call: Call | None) -> DecidedAction:
    ended = decided.at if acted is None else acted.at
    return DecidedAction(
        step=decided.step,
        name=call.name if call else decided.action.kind,
        text=text,
        call=call,
        acted=acted,
        began=decided.at if acted is None else max(decided.at, acted.at - acted.elapsed_ms / 1000),
        ended=ended,
    )
