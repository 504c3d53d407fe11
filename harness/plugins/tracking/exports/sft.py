"""Runs as training data for supervised fine-tuning: chat JSONL, `{"messages": […], "tools": […]}` a line.

A sample is a conversation that the model saw in one request, and what it answered. `weight` says which answers are to
be learned: 1 of those that are this sample's, 0 of examples and of answers that another sample teaches. Of one episode,
`step` gives a sample for each answer, `episode` as few as show the model nothing that it did not see: one for an agent
that has a conversation, one for each answer where each page is shown afresh. Answers that no action was read from, that
were cut short, whose action was refused or that a fork inherited from another run are not taught.

Reads journals and artifacts as they are: what was redacted when it was recorded stays redacted. Memory holds one
episode and one sample.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path
from typing import Any

from harness.api import InvalidAction, JsonObject, dumps
from harness.api.files import prepared, replacing, translate_os_errors
from harness.api.records import Answered, Asked
from harness.errors import ConfigError
from harness.plugins.tracking.episodes import run_at
from harness.plugins.tracking.exports.events import events_of
from harness.plugins.tracking.exports.foreign_chat import (
    KeptElsewhere,
    Unreadable,
    answer_message,
    chat_message,
    exchange_of,
)
from harness.plugins.tracking.exports.sft_rules import fault_of
from harness.runs import Episode, Request, Run, Step
from harness.runs.episode_fields import field_names, field_of

NAME = "sft.jsonl"
STEP, EPISODE = "step", "episode"
_OK = 200
_WHOLE = ("", "stop", "tool_calls")
"""How an answer ends that was not cut short."""
_FIELDS: Mapping[str, Callable[[Episode], Sequence[str]]] = {
    "task": lambda episode: [episode.task_id],
    "site": lambda episode: episode.sites,
    "template": lambda episode: [episode.result.template_id],
    "trial": lambda episode: [str(episode.trial)],
    "closed": lambda episode: [episode.result.closed.value] if episode.result.closed else [],
}
"""What `--where` knows of an episode; of several values one has to fit. Plug-ins know more (`field_names`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SftChoice:
    """Which samples are wanted."""

    dialect: str
    min_score: float = 1.0
    where: tuple[tuple[str, str], ...] = ()
    """Field and pattern, with `*` and `?`; of one field one has to fit, of different ones each."""
    per: str = STEP
    """`step` or `episode`."""

    def of(self, run: Run) -> Callable[[Episode], bool]:
        """Whether an episode of a run is wanted."""
        wanted: dict[str, list[str]] = {}
        for name, pattern in self.where:
            wanted.setdefault(name, []).append(pattern)
        fields = {name: _FIELDS.get(name) or field_of(run, name) for name in wanted}

        def takes(episode: Episode) -> bool:
            value = episode.score_in(self.dialect).value
            return (
                value is not None
                and value >= self.min_score
                and all(
                    any(fnmatchcase(value, pattern) for value in fields[name](episode) for pattern in patterns)
                    for name, patterns in wanted.items()
                )
            )

        return takes


@dataclass(slots=True)
class SftExport:
    """What was written."""

    path: Path
    samples: int = 0
    episodes: int = 0
    """Those that a sample is of."""
    passed_over: int = 0
    """Episodes that were not wanted."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why, to number of samples."""


def where_of(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Conditions as they are typed, `FIELD=PATTERN`.

    Raises:
        ConfigError: There is no such field.
    """
    found, known = [], (*_FIELDS, *field_names()) if texts else ()
    for text in texts:
        name, equals, pattern = text.partition("=")
        if name not in known or not equals or not pattern:
            raise ConfigError(f"--where {text[:100]!r} is not FIELD=PATTERN; the fields are {', '.join(known)}")
        found.append((name, pattern))
    return tuple(found)


def export_sft(folder: Path, into: Path, choice: SftChoice) -> SftExport:
    """Write `sft.jsonl` of a run folder into a folder; it appears when it is complete.

    Args:
        folder: A run folder.
        into: Made if it is missing.
        choice: Which samples.

    Raises:
        TrackingError: There is no run.
        JournalError: A journal or an artifact is damaged.
    """
    found = SftExport(into / NAME)
    with translate_os_errors(into):
        within = prepared(into, folder)
        with replacing(found.path, durable=False, within=within) as file:
            for sample in _samples(run_at(folder), choice, found):
                file.write(dumps(sample) + b"\n")
                found.samples += 1
    return found


def _samples(run: Run, choice: SftChoice, found: SftExport) -> Iterator[JsonObject]:
    """The samples that keep to the rules; the others are counted."""
    takes = choice.of(run)
    for episode in run.episodes():
        if not takes(episode):
            found.passed_over += 1
            continue
        before = found.samples
        for weights, last in _chains(_turns(run, episode, found), choice.per):
            sample = _sample(weights, last)
            if (why := fault_of(sample)) is None:
                yield sample
            else:
                found.left_out[why] += 1
        found.episodes += found.samples > before


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """A request and its answer."""

    keys: tuple[str, ...]
    """A hash of each message: those of two requests are compared by it."""
    message: Callable[[int], JsonObject]
    """The message at a position; pictures make it large, so none is kept."""
    answer: JsonObject
    tools: Sequence[JsonObject]
    is_taught: bool

    def continues(self, other: "_Turn") -> bool:
        """Whether it repeats the other request whole, and then its answer: word for word where that is taught."""
        size = len(other.keys)
        if len(self.keys) <= size or self.keys[:size] != other.keys:
            return False
        told = self.message(size)
        return told.get("role") == "assistant" and (not other.is_taught or _words(told) == _words(other.answer))


def _chains(turns: Iterator[_Turn], per: str) -> Iterator[tuple[dict[int, int], _Turn]]:
    """Of each sample the last turn, which has seen all of it, and the weights of answers by their positions."""
    last: _Turn | None = None
    weights: dict[int, int] = {}
    for turn in turns:
        if last is not None and not (per == EPISODE and turn.continues(last)):
            yield weights, last
            weights = {}
        weights[len(turn.keys)] = int(turn.is_taught)
        last = turn
    if last is not None:
        yield weights, last


def _sample(weights: Mapping[int, int], last: _Turn) -> JsonObject:
    messages = [*map(last.message, range(len(last.keys))), last.answer]
    weighed = [
        {**message, "weight": weights.get(position, 0)} if message.get("role") == "assistant" else message
        for position, message in enumerate(messages)
    ]
    return {"messages": weighed, "tools": list(last.tools)} if last.tools else {"messages": weighed}


def _words(answer: JsonObject) -> tuple[Any, list[Any]]:
    """Text and calls without their ids, which the model does not write."""
    calls = answer.get("tool_calls", [])
    return answer.get("content") or "", [call.get("function") if isinstance(call, dict) else call for call in calls]


def _turns(run: Run, episode: Episode, found: SftExport) -> Iterator[_Turn]:
    record = episode.record
    asked = {one.number: one for one in record.asked}
    failed = _failed_requests(episode)
    for number in sorted(record.answered):
        if number not in asked:
            continue
        turn = _process_turn(run, asked[number], record.answered[number], found)
        if turn is not None:
            is_taught = turn.is_taught and number not in failed and asked[number].step > record.inherited
            yield replace(turn, is_taught=is_taught)
    request, actions = None, list[Step]()
    for move in events_of(episode):
        if isinstance(move, Step):
            actions.append(move)
            continue
        if request is not None:
            yield _own_turn(request, actions)
        request, actions = (move if move.prompt else None), []
    if request is not None:
        yield _own_turn(request, actions)


def _own_turn(request: Request, steps: Sequence[Step]) -> _Turn:
    """A turn of an agent in the worker."""
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in request.calls
    ]
    is_whole = request.finish_reason in _WHOLE
    return _Turn(
        keys=request.prompt,
        message=lambda position: chat_message(request.message(position)),
        answer=answer_message(request.reply, calls),
        tools=request.tools,
        is_taught=is_whole and not request.is_inherited and not any(map(_has_failed, steps)),
    )


def _has_failed(step: Step) -> bool:
    """Whether no action could be read from the answer, or the page refused it."""
    return step.outcome == "refused" or isinstance(step.action, InvalidAction)


def _failed_requests(episode: Episode) -> set[int]:
    """Numbers of a process's requests whose action failed: it was read from the last one that was answered before."""
    record = episode.record
    answered = [one for one in record.asked if one.number in record.answered]
    answered = [one for one in answered if record.answered[one.number].status == _OK]
    steps = [step.number for step in episode.steps if _has_failed(step)]
    before = ([one.number for one in answered if one.step <= step] for step in steps)
    return {numbers[-1] for numbers in before if numbers}


def _process_turn(run: Run, asked: Asked, answered: Answered, found: SftExport) -> _Turn | None:
    """A turn of an agent that is a separate process, as it made it; None = it cannot be a sample."""
    if answered.status != _OK:
        return None  # a failed request, which the process asked again or gave up
    try:
        made = exchange_of(asked.interface, run.artifacts.read(asked.request), run.artifacts.read(answered.response))
    except KeptElsewhere as error:
        found.left_out[str(error)] += 1
        return None
    except Unreadable:
        found.left_out["a request or an answer of the agent's process that cannot be read"] += 1
        return None
    return _Turn(
        keys=tuple(sha256(dumps(one)).hexdigest() for one in made.messages),
        message=made.messages.__getitem__,
        answer=made.answer,
        tools=made.tools,
        is_taught=made.finish_reason in _WHOLE,
    )
