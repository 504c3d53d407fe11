"""A decision that asks its model more than once pays no reply twice.

An agent asks again because it could not read a reply, or asks for several opinions. Until the decision is made, nothing
of that is in its record; so a reply that is not the only one gets a record of its own, before the next request is sent
or as soon as another one is on its way. The reply of a decision that asks once costs no record more.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from harness.api import ChatModel, ComputerTool, Message, Reply, Tool
from harness.codec import digest
from harness.errors import HarnessError, PluginFailed
from harness.llm.endpoint_model import EndpointModel
from harness.llm.request_digest import RequestDigest
from harness.llm.request_scope import current_scope
from harness.protocols import StoredReply
from harness.records import Usage

_Digest = Callable[[], str]
"""Gives the digest of a request."""


class KeptReplies(Protocol):
    """Replies of the decision that are on record, by `Replied.key`."""

    @property
    def is_begun(self) -> bool:
        """Whether there are any."""
        ...

    async def read(self, key: str) -> tuple[StoredReply, Usage] | None:
        """What was answered, and what it cost; None = it is not on record."""
        ...

    async def keep(self, key: str, reply: Reply) -> None:
        """Record it, durably."""
        ...


class DecisionReplies:
    """What one decision asks; `close` when it is made."""

    def __init__(self, kept: KeptReplies) -> None:
        self._kept = kept
        self._is_open = True
        self._requests: list[_Digest] = []
        self._unrecorded: list[tuple[_Digest, Reply]] = []
        self._recorded: list[Reply] = []
        """Of what was given out."""
        self._given = Usage()
        self._on_their_way = 0
        self._recording = asyncio.Lock()
        self._has_failed = False

    async def ask(
        self,
        digest_of: Callable[[], str],
        ask: Callable[[], Awaitable[Reply]],
        read: Callable[[StoredReply], Reply | None],
    ) -> Reply:
        """The reply on record, else that of the model.

        Args:
            digest_of: Gives the digest of the request.
            ask: Sends it.
            read: Reads the body of an answer.
        """
        if not self._is_open:  # by what an agent left running after its decision
            return await ask()
        request = cache(digest_of)  # late: most decisions ask once, and then nobody needs it
        self._requests.append(request)
        if len(self._requests) > 1:
            await self._record()
        reply = await self._found(request, read)
        return await self._sent(request, ask) if reply is None else reply

    async def _found(self, request: _Digest, read: Callable[[StoredReply], Reply | None]) -> Reply | None:
        if not self._kept.is_begun or (found := await self._kept.read(self._key(request))) is None:
            return None
        stored, usage = found
        if (reply := read(stored)) is None:
            return None
        reply = replace(reply, usage=usage)
        self._recorded.append(reply)
        self._given += usage
        return reply

    async def _sent(self, request: _Digest, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        self._on_their_way += 1
        try:
            reply = await ask()
        except HarnessError:
            self._has_failed = True
            raise
        finally:
            self._on_their_way -= 1
        self._given += reply.usage
        if reply.raw:
            self._unrecorded.append((request, reply))
        if self._on_their_way:
            await self._record()
        return reply

    async def fail(self) -> None:
        """The decision was not made: what was answered beside a request that failed is recorded.

        Not where the agent itself failed: the same reply would make it fail again.
        """
        if self._has_failed:
            await self._record()

    async def keep_last(self) -> None:
        """After `close`, where the decision's own record has to wait for something: record what it was made from."""
        last, self._unrecorded = self._unrecorded, []  # what comes later belongs to no decision
        for request, reply in last:
            self._recorded.append(reply)
            await self._kept.keep(self._key(request), reply)

    def close(self) -> None:
        """The decision was made; its own record has what is not recorded yet."""
        self._is_open = False

    def counted(self, reply: Reply) -> Usage:
        """How much of what `reply` says that the decision cost is counted by records of replies."""
        if not self._recorded:
            return Usage()
        if reply.usage.tokens >= self._given.tokens and reply.usage.requests >= self._given.requests:
            return sum((one.usage for one in self._recorded), Usage())
        # An agent that does not add up its requests: only those whose answers it names.
        named, counted = Counter((*reply.earlier, reply.raw)), Usage()
        for one in self._recorded:
            if named[one.raw]:
                named[one.raw] -= 1
                counted += one.usage
        return counted

    async def _record(self) -> None:
        async with self._recording:  # who finds nothing to record must not send before the record of another is there
            while self._unrecorded and self._is_open:
                request, reply = self._unrecorded.pop(0)
                self._recorded.append(reply)
                await self._kept.keep(self._key(request), reply)

    def _key(self, request: _Digest) -> str:
        earlier = self._requests[: self._requests.index(request)]
        occurrence = sum(one() == request() for one in earlier)
        return digest({"request": request(), "occurrence": occurrence})


@dataclass(frozen=True, slots=True)
class JournaledModel:
    """A `ChatModel`, the outermost part of the model under test."""

    model: ChatModel
    """Asks `endpoint`, with all that is around it."""
    endpoint: EndpointModel
    digest: RequestDigest
    """Of its requests."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """See `ChatModel.ask`; outside of a decision nothing is recorded.

        Raises:
            PluginFailed: It is no sequence of messages.
        """
        if wrong := _no_messages(messages):
            raise PluginFailed(
                f"the agent asked its model with {wrong}, and not with a sequence of harness.api.Message, such as"
                ' [Message(role="user", content="…")]'
            )
        scope = current_scope()
        if scope is None or scope.replies is None:
            return await self.model.ask(messages, tools)
        return await scope.replies.ask(
            lambda: self.digest(messages, tools), lambda: self.model.ask(messages, tools), self.endpoint.kept_reply
        )


def _no_messages(asked: object) -> str:
    """What an agent asked with instead of messages: other clients of models take texts or dicts. "" = messages."""
    if isinstance(asked, str) or not isinstance(asked, Sequence):
        return type(asked).__name__
    wrong = next((type(one).__name__ for one in asked if not isinstance(one, Message)), "")
    return f"a sequence that holds {wrong}" if wrong else ""
