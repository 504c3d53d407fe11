"""Trajectories as training samples: the chat JSONL that fine-tuning endpoints and trainers read.

One sample per answer if the model saw only part of the conversation (`Trajectory.seen`), otherwise one per trajectory.
`weight` says which answers are learned: 1 of those that are this sample's, 0 of examples, of answers that are no
choices or that another sample teaches, and of those that were cut short. Content is written as it was logged; what has
nothing to learn is left out.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from harness.api import JsonObject, dumps, loads
from harness.api.files import write_atomic
from harness.plugins.tracking.inputs import entries
from harness.plugins.tracking.message_columns import Flat, are_text, field_of, flat, plain
from harness.plugins.tracking.trajectory import RolloutError


class SampleMessage(TypedDict):
    role: str | None
    content: Any
    """Text, null beside calls, or content parts where there are pictures."""
    name: NotRequired[str]
    """Tells examples of a prompt from its instructions."""
    tool_calls: NotRequired[list[JsonObject]]
    tool_call_id: NotRequired[str]
    weight: NotRequired[int]
    """Of an assistant's message: whether it is learned, 1 or 0."""


class Sample(TypedDict):
    """One line of a training file."""

    messages: list[SampleMessage]
    tools: NotRequired[list[Any]]


def samples(groups: Iterable[Any], *, min_reward: float) -> Iterator[Sample]:
    """The samples of each trajectory whose reward is at least `min_reward`."""
    for entry in entries(groups):
        item = entry.item
        if item is None or isinstance(item, RolloutError) or not item.reward >= min_reward:  # NaN is not enough either
            continue
        messages = [flat(message, position, "a sample") for position, message in enumerate(item.messages_and_choices)]
        whole = {position for position, logged in enumerate(item.messages_and_choices) if not _is_cut_short(logged)}
        for chosen, taught in _conversations(messages, getattr(item, "seen", None)):
            if not taught & whole:
                continue
            spoken = [_message(messages[position], item.messages_and_choices[position]) for position in chosen]
            for position, message in zip(chosen, spoken, strict=True):
                if message["role"] == "assistant":
                    message["weight"] = int(position in taught & whole)
            yield {"messages": spoken, "tools": list(item.tools)} if item.tools else {"messages": spoken}


def write_samples(path: Path, groups: Iterable[Any], *, min_reward: float) -> tuple[int, str]:
    """Write them as JSONL; returns their number and the file's sha256. Equal groups give equal bytes."""
    lines = [dumps(sample) + b"\n" for sample in samples(groups, min_reward=min_reward)]
    data = b"".join(lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)
    return len(lines), sha256(data).hexdigest()


def _conversations(messages: list[Flat], seen: Any) -> Iterator[tuple[list[int], set[int]]]:
    """The messages of each sample, and those of them that it is to teach."""
    answers = [position for position, (*_, trainable) in enumerate(messages) if trainable]
    if seen is None:
        # Trajectories without choices (plain dicts) are taught by their assistant's messages.
        answers = answers or [position for position, (role, *_) in enumerate(messages) if role == "assistant"]
        if answers:
            yield list(range(answers[-1] + 1)), set(answers)
        return
    for answer, positions in zip(answers, seen, strict=False):
        yield [*positions, answer], {answer}


def _is_cut_short(logged: Any) -> bool:
    """A choice whose answer is not whole, or was withheld."""
    return field_of(logged, "finish_reason") in ("length", "content_filter")


def _message(message: Flat, logged: Any) -> SampleMessage:
    role, content, tool_calls, tool_call_id, _ = message
    sample: SampleMessage = {"role": role, "content": _with_pictures(logged, content)}
    if name := field_of(logged, "name"):
        sample["name"] = name
    if tool_calls:
        sample["tool_calls"] = loads(tool_calls)
    if tool_call_id:
        sample["tool_call_id"] = tool_call_id
    return sample


def _with_pictures(logged: Any, text: str | None) -> Any:
    """The content as it was logged if a part of it is not text."""
    content = field_of(logged, "content")
    parts = plain(content) if isinstance(content, list | tuple) else []
    return text if are_text(parts) else parts
