"""A chat model that asks only what was not asked before.

It is the outermost part of a model: a request whose reply is kept takes no permit, meets no circuit breaker, and costs
nothing. The reply is read from the kept bytes as from the network, so everything in it but cost and time is the same.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from harness.api import ChatModel, ComputerTool, Message, Reply, Tool
from harness.llm.endpoint_model import EndpointModel
from harness.llm.request_digest import RequestDigest
from harness.llm.request_scope import current_scope
from harness.protocols import ReplyStore, StoredReply


@dataclass(frozen=True, slots=True)
class CachedModel:
    """A `ChatModel`."""

    model: ChatModel
    """Asks `endpoint`, with all that is around it."""
    endpoint: EndpointModel
    """Reads its replies."""
    replies: ReplyStore
    """Where they are kept."""
    digest: RequestDigest
    """Of its requests."""

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """See `ChatModel.ask`; outside of an episode nothing is kept."""
        if (scope := current_scope()) is None:
            return await self.model.ask(messages, tools)
        request = self.digest(messages, tools)
        key = scope.key(request)
        reply: Reply | None = None
        try:
            reply = await self._kept(key) or await self._asked(key, messages, tools)
        finally:
            if reply is None:
                scope.withdraw(request)
        scope.answer(request)
        return reply

    async def _kept(self, key: str) -> Reply | None:
        kept = await asyncio.to_thread(self.replies.read, key)
        return None if kept is None else self.endpoint.kept_reply(kept)

    async def _asked(self, key: str, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool]) -> Reply:
        reply = await self.model.ask(messages, tools)
        if reply.raw:
            kept = StoredReply(raw=reply.raw, request_id=reply.request_id, request=reply.request)
            # In a thread, as other lanes go on meanwhile: it waits up to ten seconds for the lock of the folder.
            await asyncio.to_thread(self.replies.write, key, kept)
        return reply
