"""Checks the decision of an agent before it is recorded: the agent may be a class from a plug-in."""

from dataclasses import replace
from typing import Any

from harness.actions import Action
from harness.api import MAX_MEMORY_BYTES, Decision, Message, Reply
from harness.codec import CodecError, build, dumps, loads
from harness.errors import PluginFailed


def checked_decision(given: object) -> Decision:
    """The decision, if it can be recorded as it is.

    Raises:
        PluginFailed: It cannot: a part has the wrong type, or the memory is not a JSON value of at most
            `MAX_MEMORY_BYTES`.
    """
    if not isinstance(given, Decision):
        raise PluginFailed(f"the agent returned {type(given).__name__}, not a Decision")
    if not isinstance(given.action, Action):
        raise PluginFailed(f"the agent's Decision.action is of type {type(given.action).__name__}, not an action")
    if not isinstance(given.reply, Reply):
        raise PluginFailed(f"the agent's Decision.reply is of type {type(given.reply).__name__}, not Reply")
    if not all(isinstance(raw, bytes) for raw in (given.reply.raw, given.reply.request, *given.reply.earlier)):
        raise PluginFailed("the agent's Reply.raw, Reply.request and Reply.earlier are not bytes")
    if not isinstance(given.messages, tuple) or not all(isinstance(one, Message) for one in given.messages):
        raise PluginFailed("the agent's Decision.messages is not a tuple of Message")
    return replace(given, memory=_stored(given.memory))


def _stored(memory: object) -> Any:
    """A copy, as the agent may change its own."""
    try:
        data = dumps(memory)
        if len(data) > MAX_MEMORY_BYTES:
            raise PluginFailed(f"the agent's memory has {len(data):,} bytes as JSON; {MAX_MEMORY_BYTES:,} are stored")
        stored = build(Any, loads(data))
    except CodecError as error:
        raise PluginFailed(f"the agent's memory is not a JSON value: {error}") from error
    if stored != memory:
        raise PluginFailed(
            "the agent's memory would come back from JSON as another value; use lists, dicts with text keys, texts,"
            " numbers, true, false and null only"
        )
    return stored
