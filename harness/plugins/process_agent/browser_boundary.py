"""The browser boundary of an agent's process: its calls become steps of the episode, one after the other.

A call of a process that was started again is compared with the recorded decision in its place, and given the recorded
result: the browser is where the recording ends already.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.api import Episode, LiveObservation, Observation, Step, Tool, ToolCall, dumps
from harness.api.agent_kinds import ToolBox
from harness.api.records import Boundary
from harness.plugins.process_agent.call_result import OVER, CallResult, look, result_of
from harness.plugins.process_agent.deps import SessionDeps
from harness.plugins.process_agent.events import Called

OBSERVE = Tool(
    name="observe",
    description="Return the current page. This does not count as a step.",
    parameters={"type": "object", "properties": {}, "additionalProperties": False},
)
_STOP = "stop"
_SHOWN_CALL = 300


class BrowserBoundary:
    """The actions that the process of one episode performs."""

    def __init__(self, deps: SessionDeps, box: ToolBox) -> None:
        self._plan = deps.plan
        self._settings = deps.plan.settings
        # What is not offered is not performed, either: who drives the browser is not led back to such a step.
        stops = tuple(action for action in box.actions if action.kind == _STOP)
        self._box = box if self._settings.browser == "mcp" else replace(box, actions=stops)
        self._journal = deps.journal
        self._inbox = deps.inbox
        self._recording = deps.recording
        self._divergence = deps.divergence
        self._turn = asyncio.Lock()
        self._current: Called | None = None
        self._live: tuple[Observation, bytes | None] | None = None
        self._seen: Observation | None = None
        self._image: bytes | None = None

    @property
    def tools(self) -> Sequence[Tool]:
        """What may be called."""
        return (OBSERVE, *self._box.tools) if self._settings.browser == "mcp" else self._box.tools

    async def begin(self, episode: Episode, view: LiveObservation) -> CallResult:
        """The start page, as the process is given it with its task.

        Args:
            episode: What is recorded so far.
            view: The page where the recording ends.
        """
        # A model may have been asked about the recorded page already: then it goes on with this page, of which a
        # restore has seen that it offers the same elements.
        next_step = len(episode.steps) + 1
        asked_about = any(one.step == next_step and one.number in episode.answered for one in episode.asked)
        if not asked_about:
            self._live = (view.observation, view.image)
        assert episode.arrival is not None
        await self._show(episode.arrival.observation, is_last=not episode.steps)
        return self.look()

    async def call(self, name: str, arguments: object) -> CallResult:
        """Perform a call of the process, or give what is recorded of it.

        Raises:
            SessionOver: The episode cannot go on.
        """
        if name == OBSERVE.name and self._settings.browser == "mcp":
            return self.look()
        said = _said(name, arguments)
        async with self._turn:
            await self._recording.compared()
            if not self._recording.is_used_up:
                step = self._recording.next_step()
                if step is not None and self._same(step.decided.reply, said):
                    self._recording.take_step()
                    return await self._given(step, is_last=self._recording.next_step() is None)
                recorded = "requests, and no further call" if step is None else step.decided.reply[:_SHOWN_CALL]
                what = f"it called {said[:_SHOWN_CALL]}, and recorded is {recorded}"
                await self._divergence.found(Boundary.BROWSER, what)
            read = self._box.read(ToolCall(id="", name=name, arguments=dumps(arguments).decode()))
            called = self._current = Called(read, said)
            self._inbox.put(called)
            return await called.result

    def look(self) -> CallResult:
        """The page that the process was shown last."""
        assert self._seen is not None
        return look(self._seen, self._image, max_tokens=self._settings.max_observation_tokens)

    async def deliver(self, step: Step) -> None:
        """Give the waiting call its result."""
        called, self._current = self._current, None
        result = await self._given(step, is_last=False)
        if called is not None and not called.result.done():
            called.result.set_result(result)

    def end(self) -> None:
        """The episode is over: a call that waits was the last."""
        if self._current is not None and not self._current.result.done():
            self._current.result.set_result(CallResult(text=OVER))

    def _same(self, recorded: str, said: str) -> bool:
        return recorded == said or self._plan.volatile.text(recorded) == self._plan.volatile.text(said)

    async def _given(self, step: Step, *, is_last: bool) -> CallResult:
        self._divergence.delivered += 1
        await self._show(step.acted.observation, is_last=is_last)
        assert self._seen is not None
        tokens = self._settings.max_observation_tokens
        return result_of(step, self._seen, self._image, max_tokens=tokens)

    async def _show(self, recorded: Observation, *, is_last: bool) -> None:
        """What the process sees from here on: as recorded, but for the page where the recording ends."""
        if is_last and self._live is not None:
            self._seen, image = self._live
            self._image = image if self._plan.pictures else None
            return
        self._seen, self._image = recorded, None
        if self._plan.pictures and (digest := recorded.screenshot) is not None:
            self._image = await self._journal.write(lambda: self._journal.artifacts.read(digest))


def _said(name: str, arguments: object) -> str:
    """A call on one line, in one way of writing it."""
    ordered: Any = dict(sorted(arguments.items())) if isinstance(arguments, Mapping) else arguments
    return dumps({"name": name, "arguments": ordered}).decode()
