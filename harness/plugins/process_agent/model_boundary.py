"""The model boundary of an agent's process: each request is recorded, answered from the journal, or passed on.

A request is durable before it is sent, and its answer before the process sees the first byte. A process that is started
again is given the same bytes from the artifact, secrets put back into them, and nothing is paid for twice but a request
that was pending when its process was killed.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.api import CodecError, dumps, loads
from harness.api.agent_kinds import StagedArtifact, working_s
from harness.api.gateway import ForeignAnswer, ForeignRequest, Passthrough
from harness.api.records import Answered, Asked, Boundary
from harness.errors import JournalError
from harness.plugins.process_agent.deps import SessionDeps
from harness.plugins.process_agent.events import OverBudget, SessionOver
from harness.plugins.process_agent.request_difference import first_difference

_LONGEST_NAME = 200


class ModelBoundary:
    """The requests to the model that the process of one episode sends."""

    def __init__(self, deps: SessionDeps, passthrough: Passthrough | None) -> None:
        self._volatile = deps.plan.volatile
        self._journal = deps.journal
        self._inbox = deps.inbox
        self._recording = deps.recording
        self._divergence = deps.divergence
        self._passthrough = passthrough
        self._canonical = deps.canonical
        self.asking: Callable[[], None] = _nothing
        """Called when the process asks something that is not recorded."""
        self._pending: set[asyncio.Task[Any]] = set()
        self.waited_s = 0.0
        """For the right to ask, so far."""
        self.answered_by = ""
        """The model that answered last."""

    async def ask(self, request: ForeignRequest) -> ForeignAnswer:
        """Answer a request of the process.

        Raises:
            NotARequest: The body is not a JSON object.
            SessionOver: The episode cannot go on.
        """
        model = str(request.tree.get("model") or "")[:_LONGEST_NAME]
        if self._canonical is not str:
            request = replace(request, body=self._canonical(request.body.decode("utf-8", "replace")).encode())
        if self._recording.is_used_up:
            self.asking()
            await self._recording.compared()
        elif (known := await self._known(request)) is not None:
            return known
        async with self._journal.paying() as why_over:
            self._inbox.check()
            if why_over is not None:
                self._inbox.put(OverBudget())
                raise SessionOver(why_over)
            task = asyncio.current_task()
            assert task is not None
            self._pending.add(task)
            try:
                return await self._live(request, model)
            finally:
                self._pending.discard(task)

    async def settled(self) -> None:
        """Wait until the pending requests are answered, and the answers are recorded."""
        if self._pending:
            await asyncio.wait(self._pending)

    async def _known(self, request: ForeignRequest) -> ForeignAnswer | None:
        """The recorded answer; None = this is for the model.

        Raises:
            SessionOver: It is none of the recorded requests, and the attempt does not go on.
        """
        stored, key = await self._journal.write(lambda: self._stored(request))
        if (answered := self._recording.answer(key)) is not None:
            body = await self._journal.write(lambda: self._journal.artifacts.read(answered.response))
            return self._given(answered, body)
        self.asking()
        await self._recording.compared()
        if not self._recording.is_used_up and not self._recording.was_cut_off(key):
            await self._journal.write(stored.settle)
            differs = await self._journal.write(lambda: self._difference(request.interface, stored.data))
            why = f"a request to the {request.interface} interface is none of those recorded{differs}"
            await self._divergence.found(Boundary.MODEL, why, request=stored.digest)
        return None

    def _stored(self, request: ForeignRequest) -> tuple[StagedArtifact, str]:
        """The body as it is stored, and its key, which must not depend on what was redacted."""
        stored, volatile = self._journal.artifacts.stage(request.body), self._volatile
        if stored.data == request.body:
            return stored, volatile.key_of(request.interface, request.tree)
        return stored, volatile.key(request.interface, stored.data)

    def _difference(self, interface: str, body: bytes) -> str:
        """The difference from the request that would be next; both as they are stored, without secrets."""
        if (expected := self._recording.next_request(interface)) is None:
            return ""
        volatile = self._volatile
        try:
            # What is read has its secrets again, and a difference is cut: half a secret would not be recognised in it.
            recorded = self._journal.artifacts.stage(self._journal.artifacts.read(expected.request)).data
            found = first_difference(volatile.without(loads(recorded)), volatile.without(loads(body)))
        # The body was lost in a power cut, cannot be read without its secrets, or is nested deeper than Python's stack.
        except (JournalError, CodecError, RecursionError):
            return ""
        return f": {found}" if found else ""

    async def _live(self, request: ForeignRequest, model: str) -> ForeignAnswer:
        """Ask the model. The record of the request is durable before it is sent, the body of it with the answer."""
        asked: list[tuple[StagedArtifact, Asked]] = []
        await self._journal.keep(lambda: self._asked(request, model, asked))
        ((stored, record),) = asked
        settling = asyncio.ensure_future(self._journal.write(stored.settle))
        begun = working_s()
        try:
            answer = await self._send(request)
        finally:
            await settling
        self.waited_s += answer.waited_s
        elapsed_ms = max(0.0, working_s() - begun - answer.waited_s) * 1000
        await self._journal.keep(lambda: self._answered(record.number, answer, elapsed_ms))
        return self._given(self._journal.episode.answered[record.number], answer.body)

    def _asked(self, request: ForeignRequest, model: str, made: list[tuple[StagedArtifact, Asked]]) -> Asked:
        stored, key = self._stored(request)
        episode = self._journal.episode
        record = Asked(
            number=len(episode.asked) + 1,
            step=len(episode.steps) + 1,
            key=key,
            interface=request.interface,
            model=model,
            request=stored.digest,
            at=self._journal.now(),
        )
        made.append((stored, record))
        return record

    async def _send(self, request: ForeignRequest) -> ForeignAnswer:
        if self._passthrough is None:
            said = "llm.kind is none: this run has no model"
            body = dumps({"error": {"message": said, "type": "invalid_request_error"}})
            return ForeignAnswer(status=404, body=body, headers={"content-type": "application/json"})
        return await self._passthrough.send(request)

    def _answered(self, number: int, answer: ForeignAnswer, elapsed_ms: float) -> Answered:
        return Answered(
            number=number,
            status=answer.status,
            headers=answer.headers,
            response=self._journal.artifacts.put(answer.body),
            model=answer.model[:_LONGEST_NAME],
            usage=answer.usage,
            request_id=answer.request_id,
            elapsed_ms=elapsed_ms,
            at=self._journal.now(),
        )

    def _given(self, answered: Answered, body: bytes) -> ForeignAnswer:
        """What the process sees; `body`: is durable."""
        self.answered_by = answered.model or self.answered_by
        return ForeignAnswer(status=answered.status, body=body, headers=answered.headers)


def _nothing() -> None:
    """Most boundaries have nothing to do with it."""
