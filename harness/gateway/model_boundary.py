"""The model boundary of an agent's process: each request is recorded, answered from the journal, or passed on.

A request is durable before it is sent, and its answer before the process sees the first byte: what the process is given
is read from the artifact. So a process that is started again is given the same bytes, and nothing is paid for twice but
a request that was under way when its process was killed.
"""

from collections.abc import Callable
from dataclasses import replace

from harness.codec import dumps
from harness.gateway.deps import SessionDeps
from harness.gateway.events import OverBudget, SessionOver
from harness.llm.passthrough import ForeignAnswer, ForeignRequest, Passthrough
from harness.records import Answered, Asked, Boundary
from harness.runner.termination import overspent
from harness.runner.working_time import working_s

_LONGEST_NAME = 200


class ModelBoundary:
    """Of one episode."""

    def __init__(self, deps: SessionDeps, passthrough: Passthrough | None) -> None:
        self._settings = deps.settings
        self._journal = deps.journal
        self._inbox = deps.inbox
        self._recording = deps.recording
        self._divergence = deps.divergence
        self._passthrough = passthrough
        self._canonical = deps.canonical
        self.asking: Callable[[], None] = _nothing
        """Called when the process asks something that is not recorded."""
        self.waited_s = 0.0
        """For the right to ask, so far."""
        self.answered_by = ""
        """The model that answered last."""

    async def ask(self, request: ForeignRequest) -> ForeignAnswer:
        """Answer a request of the process.

        Raises:
            NotARequest: The body is no JSON object.
            SessionOver: The episode cannot go on.
        """
        model = str(request.read().get("model") or "")[:_LONGEST_NAME]
        if self._canonical is not str:
            request = replace(request, body=self._canonical(request.body.decode("utf-8", "replace")).encode())
        digest, key = await self._journal.write(lambda: self._stored(request))
        if (known := self._recording.answer(key)) is not None:
            return await self._journal.write(lambda: self._given(known))
        self.asking()
        await self._recording.compared()
        if not self._recording.is_used_up and not self._recording.was_cut_off(key):
            why = f"a request to the {request.interface} interface is none of those recorded"
            await self._divergence.found(Boundary.MODEL, why, request=digest)
        if (why_over := overspent(self._settings.limits, self._journal.episode)) is not None:
            self._inbox.put(OverBudget())
            raise SessionOver(why_over)
        return await self._live(request, digest, key, model)

    def _stored(self, request: ForeignRequest) -> tuple[str, str]:
        """Hash and key of the body as it is stored: the key must not depend on what was redacted."""
        digest = self._journal.artifacts.put(request.body)
        stored = self._journal.artifacts.read(digest)
        return digest, self._settings.volatile.key(request.interface, stored)

    async def _live(self, request: ForeignRequest, digest: str, key: str, model: str) -> ForeignAnswer:
        number = 0

        def asked() -> Asked:
            nonlocal number
            episode = self._journal.episode
            number, step = len(episode.asked) + 1, len(episode.steps) + 1
            return Asked(
                number=number,
                step=step,
                key=key,
                interface=request.interface,
                model=model,
                request=digest,
                at=self._journal.now(),
            )

        await self._journal.keep(asked)
        begun = working_s()
        answer = await self._send(request)
        self.waited_s += answer.waited_s
        elapsed_ms = max(0.0, working_s() - begun - answer.waited_s) * 1000
        await self._journal.keep(lambda: self._answered(number, answer, elapsed_ms))
        return await self._journal.write(lambda: self._given(self._journal.episode.answered[number]))

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

    def _given(self, answered: Answered) -> ForeignAnswer:
        """What the process sees: the durable copy."""
        body = self._journal.artifacts.read(answered.response)
        self.answered_by = answered.model or self.answered_by
        return ForeignAnswer(status=answered.status, body=body, headers=answered.headers)


def _nothing() -> None:
    """Most boundaries have nothing to do with it."""
