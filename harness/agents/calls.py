"""The calls of one reply as an agent's memory keeps them: each becomes a step, and those to come outlive the process.

Ids, names and arguments are a model's: bounded here, and sent back only in a form that any endpoint takes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from harness.actions import Action, InvalidAction, KeepNote
from harness.actions.tool_schema import read_arguments
from harness.codec import CodecError, JsonObject, dumps, loads
from harness.records import Done, Episode, Reply, Step, ToolCall
from harness.records.chat_messages import COMPUTER

MOST_CALLS = 32
"""Limit for one reply; further calls are not read, and the model is notified."""
MOST_ARGUMENTS = 200_000
"""Bytes of one call's arguments."""
MOST_BYTES = 500_000
"""Limit for all calls of a reply, and for what its provider wants back with them: half of what a memory may hold."""
_LONGEST_ID = 200
_NAME = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A reply of the model and the steps that were made of it."""

    start: int
    """Index of its first step."""
    end: int
    """Index behind its last step so far."""
    text: str
    calls: tuple[ToolCall, ...]
    items: tuple[Mapping[str, Any], ...]
    unread: int
    """Further calls that were not kept."""
    by: str = ""
    """Whose `items` are, see `AgentContext.model_key`; "" = not recorded, or there are none."""
    note: str | None = None
    """The agent's own as it was after this reply; None = it keeps none."""

    @property
    def acting(self) -> tuple[int, ...]:
        """Positions of the calls that become steps."""
        return acting(self.calls, keeps_note=self.note is not None)

    @property
    def done(self) -> int:
        """How many of these have become steps."""
        return min(self.end - self.start, len(self.acting))


def acting(calls: Sequence[ToolCall], *, keeps_note: bool) -> tuple[int, ...]:
    """Positions of the calls that become steps: a note beside others takes none, so that keeping one costs nothing."""
    others = tuple(at for at, call in enumerate(calls) if not (keeps_note and call.name == KeepNote.kind))
    return others or tuple(range(len(calls)))[:1]


def memory_of(reply: Reply, *, note: str | None = None, by: str = "") -> JsonObject:
    """What a decision keeps of the reply that it was read from.

    Args:
        note: The agent's; None = it keeps none.
        by: Whose reply it is, see `Turn.by`.
    """
    calls, changed = _kept(reply)
    # They repeat the calls: if one was changed or left out, they would name calls that have no result.
    items = [] if changed else _plain(reply.items)
    if len(dumps(items)) > MOST_BYTES:
        items = []
    memory: JsonObject = {"calls": calls}
    if items:
        memory["items"] = items
        # The settings may change between two steps of an attempt, and a fork of a fork has steps of several models.
        if by:
            memory["by"] = by
    if unread := len(reply.tool_calls) - len(calls):
        memory["unread"] = unread
    return memory if note is None else memory | {"note": note}


def turns(episode: Episode) -> list[Turn]:
    """The turns of this attempt, oldest first; a step whose memory holds no reply belongs to the one before."""
    starts = [at for at, step in enumerate(episode.steps) if isinstance(step.decided.memory, dict)]
    starts = [at for at in starts if isinstance(episode.steps[at].decided.memory.get("calls"), list)]
    ends = [*starts[1:], len(episode.steps)]
    found = [_turn(episode.steps[start], start, end) for start, end in zip(starts, ends, strict=False)]
    fork = episode.opened.fork if episode.opened else None
    if fork is None or fork.same_model:
        return found
    # Nobody knows which of the models before made what says no more; see `Conversation` for the others.
    return [replace(turn, items=()) if turn.start < fork.step and not turn.by else turn for turn in found]


def next_call(episode: Episode) -> ToolCall | None:
    """The call that is to be the next step; None = the model has to be asked."""
    found = turns(episode)
    last = episode.steps[-1] if episode.steps else None
    if last is not None and len(episode.steps) == episode.inherited:
        return None  # what another model still wanted to do is not what this one decides
    if not found or last is None or found[-1].done >= len(found[-1].acting):
        return None
    went_well = isinstance(last.acted.outcome, Done) and not isinstance(last.decided.action, InvalidAction)
    return found[-1].calls[found[-1].acting[found[-1].done]] if went_well else None


def read_call(action: type[Action], call: ToolCall) -> Action:
    """The call as this action; `InvalidAction` when it does not fit."""
    try:
        return read_arguments(action, arguments_of(call))
    except ValueError as error:
        return InvalidAction(why=str(error))


def arguments_of(call: ToolCall) -> object:
    """What the model wrote, decoded.

    Raises:
        ValueError: It is not JSON, or too much of it.
    """
    if (size := len(call.arguments.encode(errors="replace"))) > MOST_ARGUMENTS:
        raise ValueError(f"the arguments of {call.name[:80]} have {size:,} bytes; {MOST_ARGUMENTS:,} are allowed")
    try:
        return loads(call.arguments.encode(errors="replace") or b"{}")
    except CodecError as error:
        raise ValueError(f"the arguments of {call.name[:80]} are not JSON: {str(error)[:200]}") from error


def _kept(reply: Reply) -> tuple[list[JsonObject], bool]:
    """The calls as they are stored, and whether one of them is not what the model wrote."""
    kept: list[JsonObject] = []
    changed, size, ids = False, 0, set[str]()
    for number, call in enumerate(reply.tool_calls[:MOST_CALLS], start=1):
        free = next(f"call_{at}" for at in count(number) if f"call_{at}" not in ids)
        stored = _echoed(call, fallback_id=free, taken=ids)
        size += len(dumps(stored))
        if kept and size > MOST_BYTES:
            break
        ids.add(stored["id"])
        same = (stored["id"], stored["name"], stored["arguments"]) == (call.id, call.name, call.arguments)
        changed = changed or not same
        kept.append(stored)
    return kept, changed or len(kept) < len(reply.tool_calls)


def _echoed(call: ToolCall, *, fallback_id: str, taken: set[str]) -> JsonObject:
    """A call in a form that any endpoint takes back."""
    again = call.id in taken and call.name != COMPUTER  # the actions of one computer call share its id
    usable = 0 < len(call.id) <= _LONGEST_ID and call.id.isprintable() and call.id.isascii() and not again
    try:
        readable = isinstance(arguments_of(call), dict)
    except ValueError:
        readable = False
    stored: JsonObject = {
        "id": call.id if usable else fallback_id,
        "name": _NAME.sub("_", call.name)[:64] or "none",
        "arguments": call.arguments.encode(errors="replace").decode() if readable and call.arguments else "{}",
    }
    checks = _plain(call.safety_checks)
    return stored | ({"safety_checks": checks} if checks and len(dumps(checks)) <= MOST_ARGUMENTS else {})


def _plain(mappings: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The values after a round trip through JSON; [] when JSON cannot hold them."""
    try:
        found = loads(dumps(list(mappings)))
    except CodecError:
        return []
    return found if isinstance(found, list) else []


def _turn(step: Step, start: int, end: int) -> Turn:
    memory = step.decided.memory
    unread, by, note = memory.get("unread"), memory.get("by"), memory.get("note")
    return Turn(
        start=start,
        end=end,
        text=step.decided.reply,
        calls=tuple(_calls(memory["calls"])),
        items=tuple(one for one in memory.get("items") or () if isinstance(one, dict)),
        unread=unread if isinstance(unread, int) else 0,
        by=by if isinstance(by, str) else "",
        note=note if isinstance(note, str) else None,
    )


def _calls(stored: list[Any]) -> Iterator[ToolCall]:
    """Reads calls from a journal, which may have been edited by hand."""
    for one in stored:
        if isinstance(one, dict):
            checks = tuple(check for check in one.get("safety_checks") or () if isinstance(check, dict))
            id, name, arguments = (str(one.get(key, "")) for key in ("id", "name", "arguments"))
            yield ToolCall(id=id, name=name, arguments=arguments, safety_checks=checks)
