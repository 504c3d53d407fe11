"""A request to a model as a run folder keeps it: what was sent, what came back, what it cost."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harness.codec import CodecError, JsonObject, loads
from harness.journal.prompt_store import read_message
from harness.journal.store import ArtifactStore
from harness.llm.recorded_answer import calls_of, tokens_of, tools_of
from harness.llm.request_frame import kept_of
from harness.records import Answered, Asked, Decided, Tokens, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A function call as the model wrote it."""

    id: str
    name: str
    arguments: str
    """JSON text; perhaps no JSON at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """Where the bytes of a request lie."""

    artifacts: ArtifactStore
    frame: str | None = None
    """What was sent beside the messages."""
    body: str | None = None
    """Of a request of the agent's own process: all that it sent."""
    interface: str = ""
    """Of a request of the agent's own process: the provider whose format it has."""
    response: str | None = None
    earlier: tuple[str, ...] = ()
    """Answers to earlier requests of the same step."""
    cut_short: str = ""
    """Why the reply was not finished; "" = it was."""


@dataclass(frozen=True, kw_only=True)  # without slots, which cached properties need
class Request:
    """One request to a model and its answer. Messages, functions and calls are read when they are asked for."""

    number: int
    """1-based within the attempt."""
    step: int
    """Number of the step that was decided next."""
    model: str
    """As the endpoint named it."""
    prompt: tuple[str, ...]
    """Artifact hashes of the messages; () for a request of an agent's own process, which is kept as it was sent."""
    reply: str
    """The model's text; "" for a request of an agent's own process, see `answer`."""
    usage: Usage
    request_id: str
    """The provider's name for it; "" = it gave none."""
    is_cached: bool
    """A reply came from the reply cache, so that the times say nothing about the model."""
    began: float
    """Seconds since the epoch; so `ended`."""
    ended: float
    kept: _Kept = field(repr=False, compare=False)
    is_inherited: bool = False
    """It was made by the run that this one is a fork of."""

    @property
    def own_usage(self) -> Usage:
        """What it cost this run: nothing where it is inherited."""
        return Usage() if self.is_inherited else self.usage

    @cached_property
    def messages(self) -> tuple[JsonObject, ...]:
        """The messages in the shape of chat completions, pictures as data URLs; of an agent's own process as it sent
        them.

        Raises:
            JournalError: An artifact is missing or damaged.
        """
        if self.prompt:
            return tuple(read_message(digest, self.kept.artifacts) for digest in self.prompt)
        body = self.body
        found = body.get("messages", body.get("input"))
        return tuple(one for one in found if isinstance(one, dict)) if isinstance(found, list) else ()

    def message(self, position: int) -> JsonObject:
        """One message of `prompt`, as `messages` has it; pictures make it large, so it is not kept.

        Raises:
            JournalError: An artifact is missing or damaged.
        """
        return read_message(self.prompt[position], self.kept.artifacts)

    @cached_property
    def body(self) -> JsonObject:
        """What an agent's own process sent, or what was sent beside the messages (`model`, `temperature`, tools).

        Raises:
            JournalError: An artifact is missing or damaged.
        """
        if self.kept.body is not None:
            return _object(self.kept.artifacts.read(self.kept.body))
        return kept_of(self._frame)[1] if self._frame else {}

    @cached_property
    def answer(self) -> bytes:
        """The endpoint's answer as it came; b"" where a run did not keep it.

        Raises:
            JournalError: The artifact is missing or damaged.
        """
        return b"" if self.kept.response is None else self.kept.artifacts.read(self.kept.response)

    @cached_property
    def tokens(self) -> tuple[Tokens, ...]:
        """Token ids and log probabilities (`llm.token_ids`) of each answer, in order: of `answer`, and before it those
        of answers that the agent could not use and asked again; () where none were kept.

        Raises:
            JournalError: An artifact is missing or damaged.
        """
        return tuple(found for found in self.tokens_by_answer if found is not None)

    @cached_property
    def tokens_by_answer(self) -> tuple[Tokens | None, ...]:
        """As `tokens`, with None for an answer that has none: a position is the number of an answer.

        Raises:
            JournalError: An artifact is missing or damaged.
        """
        api = self.kept.interface or (kept_of(self._frame)[0] if self._frame else "chat")
        answers = (*map(self.kept.artifacts.read, self.kept.earlier), self.answer)
        return tuple(tokens_of(api, answer) for answer in answers)

    @cached_property
    def tools(self) -> tuple[JsonObject, ...]:
        """Functions that were offered, in the shape of chat completions; () of an agent's own process, see `body`."""
        return tuple(tools_of(self._frame))

    @cached_property
    def calls(self) -> tuple[ToolCall, ...]:
        """Function calls of the answer; () of an agent's own process, see `answer`.

        Raises:
            JournalError: An artifact is missing or damaged.
        """
        if self.kept.body is not None or self.kept.response is None:
            return ()
        calls = (_call(call, self.step, index) for index, call in enumerate(calls_of(self._frame, self.answer)))
        return tuple(call for call in calls if call is not None)

    @property
    def finish_reason(self) -> str:
        """`stop`, `tool_calls`, `length`, `content_filter` or `refusal`; "" for one of an agent's own process."""
        if self.kept.body is not None:
            return ""
        return self.kept.cut_short or ("tool_calls" if self.calls else "stop")

    @cached_property
    def _frame(self) -> bytes:
        return self.kept.artifacts.read(self.kept.frame) if self.kept.frame else b""


def own_request(decided: Decided, number: int, artifacts: ArtifactStore) -> Request:
    """The request that a decision was read from."""
    return Request(
        number=number,
        step=decided.step,
        model=decided.model,
        prompt=decided.prompt,
        reply=decided.reply,
        usage=decided.usage,
        request_id=decided.request_id,
        is_cached=decided.is_cached,
        began=decided.at - decided.elapsed_ms / 1000,
        ended=decided.at,
        kept=_Kept(
            artifacts=artifacts,
            frame=decided.request,
            response=decided.response,
            earlier=decided.earlier_responses,
            cut_short=decided.finish_reason,
        ),
    )


def process_request(asked: Asked, answered: Answered, number: int, artifacts: ArtifactStore) -> Request:
    """A request of the agent's own process."""
    return Request(
        number=number,
        step=asked.step,
        model=answered.model,
        prompt=(),
        reply="",
        usage=answered.usage,
        request_id=answered.request_id,
        is_cached=answered.usage.from_cache > 0,
        began=answered.at - answered.elapsed_ms / 1000,
        ended=answered.at,
        kept=_Kept(artifacts=artifacts, body=asked.request, interface=asked.interface, response=answered.response),
    )


def _call(call: JsonObject, step: int, index: int) -> ToolCall | None:
    match call:
        case {"function": {"name": str(name), "arguments": str(arguments)}}:
            found: Any = call.get("id")
            return ToolCall(id=found if isinstance(found, str) else f"{step}-{index}", name=name, arguments=arguments)
    return None


def _object(data: bytes) -> JsonObject:
    try:
        found = loads(data)
    except CodecError:
        return {}
    return found if isinstance(found, dict) else {}
