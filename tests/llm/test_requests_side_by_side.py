"""Requests of one episode that are sent side by side: each record names those that were answered, and no other."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from harness.api import Message, Reply
from harness.codec import JsonObject
from harness.errors import ModelUnavailable
from harness.llm.cached_model import CachedModel
from harness.llm.request_digest import RequestDigest
from harness.llm.request_scope import RequestScope, requests_of
from harness.protocols import StoredReply


class Held:
    """A model whose replies come when they are let go; what is to fail gets no answer."""

    def __init__(self, *texts: str) -> None:
        self.gates = {text: asyncio.Event() for text in texts}
        self.asked = {text: asyncio.Event() for text in texts}

    async def ask(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> Reply:
        text = str(messages[0].content)
        self.asked[text].set()
        await self.gates[text].wait()
        if text == "fails":
            raise ModelUnavailable("no answer")
        return Reply(text=text)


class Wire:
    """Stands for `EndpointModel`."""

    def request(self, messages: Sequence[Message], tools: Sequence[Any] = ()) -> JsonObject:
        return {"messages": [str(message.content) for message in messages]}


class Empty:
    """Stands for a `ReplyStore` without replies."""

    def read(self, key: str) -> StoredReply | None:
        return None

    def write(self, key: str, reply: StoredReply) -> None: ...


async def test_a_record_names_what_was_answered_and_one_that_fails_later_is_withdrawn() -> None:
    scope, held = RequestScope("1", 0), Held("answered", "fails", "later")
    wire: Any = Wire()
    model = CachedModel(held, wire, Empty(), RequestDigest(wire, address={}, redact=bytes))

    async def ask(text: str) -> tuple[str, ...]:
        await model.ask([Message(role="user", content=text)])
        return scope.recorded()

    with requests_of(scope):
        asking = {text: asyncio.create_task(ask(text)) for text in held.gates}
        for asked in held.asked.values():
            await asked.wait()
        for text in ("answered", "fails", "later"):
            held.gates[text].set()
            await asyncio.wait([asking[text]])
        with pytest.raises(ModelUnavailable):
            await asking["fails"]
        recorded = [asking[text].result() for text in ("answered", "later")]
    assert [len(names) for names in recorded] == [1, 1] and recorded[0] != recorded[1]
    assert scope.recorded() == () and sorted(scope.earlier.elements()) == sorted(recorded[0] + recorded[1])


async def test_equal_requests_side_by_side_are_different_occurrences() -> None:
    scope, held = RequestScope("1", 0), Held("same")
    keys = [scope.key("same"), scope.key("same")]
    scope.withdraw("same")
    assert len({*keys, *held.gates}) == 3 and scope.key("same") == keys[1], "the next one takes its place"
