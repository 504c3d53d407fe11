"""A chat model that asks only what was not asked before.

It is the outermost part of a model: a request whose reply is kept takes no permit, meets no circuit breaker, and costs
nothing. The reply is read from the kept bytes as from the network, so everything in it but cost and time is the same.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.api import ChatModel, ComputerTool, Message, Reply, Tool
from harness.llm.endpoint_model import EndpointModel
from harness.llm.request_digest import RequestDigest
from harness.llm.request_scope import current_scope
from harness.protocols import ReplyStore, StoredReply


class CachedModel:
    """A `ChatModel`."""

    def __init__(
        self,
        model: ChatModel,
        endpoint: EndpointModel,
        replies: ReplyStore,
        *,
        address: Mapping[str, Any],
        redact: Callable[[bytes], bytes],
    ) -> None:
        """
        Args:
            model: Asks `endpoint`, with all that is around it.
            endpoint: Says how a request looks, and reads its reply.
            replies: Where replies are kept.
            address: As of `RequestDigest`; so is `redact`.
        """
        self._model = model
        self._endpoint = endpoint
        self._replies = replies
        self._digest = RequestDigest(endpoint, address=address, redact=redact)

    async def ask(self, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool] = ()) -> Reply:
        """See `ChatModel.ask`; outside of an episode nothing is kept."""
        if (scope := current_scope()) is None:
            return await self._model.ask(messages, tools)
        request = self._digest(messages, tools)
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
        kept = await asyncio.to_thread(self._replies.read, key)
        return None if kept is None else self._endpoint.kept_reply(kept)

    async def _asked(self, key: str, messages: Sequence[Message], tools: Sequence[Tool | ComputerTool]) -> Reply:
        reply = await self._model.ask(messages, tools)
        if reply.raw:
            kept = StoredReply(raw=reply.raw, request_id=reply.request_id, request=reply.request)
            # In a thread, as other lanes go on meanwhile: it waits up to ten seconds for the lock of the folder.
            await asyncio.to_thread(self._replies.write, key, kept)
        return reply
