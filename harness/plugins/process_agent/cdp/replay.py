"""What a process that was started again sends to the browser, compared with what is recorded.

Its commands are performed again, in the recorded steps: after the last command of a step the page is observed and
compared, and only then is the first command of the next one let through.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from harness.api import Step
from harness.api.actions import Cdp
from harness.api.agent_kinds import RestoreResult, SharedBrowser
from harness.api.records import Boundary, BrowserCommand
from harness.errors import EnvironmentDiverged
from harness.plugins.process_agent.deps import SessionDeps

_CHANGES_WITHIN_S = 10.0
"""What scripts of the process led to when it was recorded must happen within so long."""
_LOOKS_EVERY_S = 0.05
_SHOWN = 200

Deliver = Callable[[Step], Awaitable[None]]
"""Gives the process a step that it has done again."""


class Replay:
    """Compares the commands of one start of a process with the recorded ones."""

    def __init__(self, deps: SessionDeps, browser: SharedBrowser, deliver: Deliver) -> None:
        """
        Args:
            deps: Their recording holds the steps that are done again.
            deliver: Called with each of them.
        """
        self._deliver = deliver
        episode = deps.journal.episode
        self._recording = deps.recording
        self._divergence = deps.divergence
        self._browser = browser
        self._steps: deque[tuple[Step, deque[BrowserCommand]]] = deque(
            (step, deque(episode.commands_of(number))) for number, step in enumerate(episode.steps, start=1)
        )
        pending = () if episode.pending is None else episode.commands_of(episode.pending.step)
        self._pending = deque(pending)
        self._turn = asyncio.Lock()
        self._under_way = 0
        self._happened = asyncio.Event()
        self._target = ""
        self._is_settling = False
        self.is_over = not self._steps
        self._recording.compared = self._past

    async def admit(self, command: BrowserCommand, target: str) -> bool:
        """Wait for the turn of a command; whether it is one of a whole recorded step.

        False = it belongs to the pending step, or is new: see `is_pending`.

        Raises:
            SessionOver: It is not what is recorded, and the attempt does not go on.
        """
        async with self._turn:
            await self._compared()
            while not self.is_over and self._skips_scripts(command):
                await self._compared()
            if self.is_over:
                return False
            expected = self._steps[0][1][0]
            if command.key != expected.key:
                await self._diverge(f"it sent {command.text[:_SHOWN]}, and recorded is {expected.text[:_SHOWN]}")
                return False
            self._steps[0][1].popleft()
            self._under_way += 1
            if target and target != self._target:  # as when it was recorded, see `Bursts.admit`
                self._target = target
                await self._browser.focus(target)
            self._tell()
            return True

    async def scripting(self) -> None:
        """Wait until a script of the process may change what is seen: not while a step is compared."""
        while not self.is_over and (self._is_settling or self._is_sent(self._steps[0])):
            await self._wait()

    def changed(self, command: BrowserCommand) -> None:
        """A script of the process has changed a field."""
        if self.is_over or not (commands := self._steps[0][1]) or commands[0].key != command.key:
            return  # those of older recordings are not compared
        commands.popleft()
        self._tell()

    def expects(self) -> bool:
        """Whether commands of the pending step are still to be sent again."""
        return not all(map(_is_script, self._pending))

    async def is_pending(self, command: BrowserCommand) -> bool:
        """Whether a command is the next that is recorded of the pending step.

        Raises:
            SessionOver: Another one is recorded, and the attempt does not go on.
        """
        while self._pending and _is_script(self._pending[0]) and command.key != self._pending[0].key:
            self._pending.popleft()
        if not self._pending or (_is_script(command) and command.key != self._pending[0].key):
            return False
        expected = self._pending.popleft()
        if command.key == expected.key:
            return True
        self._pending.clear()
        what = f"it sent {command.text[:_SHOWN]}, and recorded is {expected.text[:_SHOWN]}"
        await self._divergence.found(Boundary.BROWSER, what)
        return False

    async def check_complete(self) -> None:
        """See that the pending step has all its recorded commands, now that it is over.

        Raises:
            SessionOver: It has not, and the attempt does not go on.
        """
        if self.expects():
            missing = self._pending[0].text[:_SHOWN]
            self._pending.clear()
            await self._divergence.found(Boundary.BROWSER, f"it did not send {missing}, which is recorded")

    def landed(self) -> None:
        """A command that was let through has been answered."""
        self._under_way -= 1
        self._tell()

    async def play(self, start: RestoreResult) -> RestoreResult:
        """Follow the process through all recorded steps; where they lead.

        Raises:
            SessionOver: They lead elsewhere, and the attempt does not go on.
        """
        reached, alike = start, list(start.similarity)
        before = self._browser.state()
        while not self.is_over:
            step, commands = self._steps[0]
            action = step.decided.action
            if commands or self._under_way:
                await self._until_sent(commands)
            elif isinstance(action, Cdp) and not action.first and not await self._until_changed(before):
                await self._diverge(f"its scripts did not lead to {step.acted.observation.url[:_SHOWN]}")
            if self.is_over:
                break
            self._is_settling = True
            reached = await self._followed(step, reached)
            alike += reached.similarity[-1:]
            before = self._browser.state()
            if not self.is_over:
                await self._next()
            self._is_settling = False
            self._tell()
        return RestoreResult(view=reached.view, strategy="replay", similarity=tuple(alike))

    def end(self) -> None:
        """Nothing more is compared."""
        self.is_over = True
        self._tell()

    async def _followed(self, step: Step, reached: RestoreResult) -> RestoreResult:
        try:
            return await self._browser.follow(step.acted, is_last=len(self._steps) == 1)
        except EnvironmentDiverged as error:
            await self._diverge(str(error))
            return reached

    async def _next(self) -> None:
        step, _ = self._steps.popleft()
        self._target = ""
        self._recording.take_step()
        await self._deliver(step)
        self.is_over = not self._steps

    async def _diverge(self, what: str) -> None:
        try:
            await self._divergence.found(Boundary.BROWSER, what)
        finally:
            self._steps.clear()
            self._pending.clear()
            self.end()

    async def _until_sent(self, commands: Sequence[BrowserCommand]) -> None:
        while (commands or self._under_way) and not self.is_over:
            await self._wait()

    async def _until_changed(self, before: object) -> bool:
        deadline = asyncio.get_running_loop().time() + _CHANGES_WITHIN_S
        while self._browser.state() == before and not self.is_over:
            if asyncio.get_running_loop().time() >= deadline:
                return False
            await asyncio.sleep(_LOOKS_EVERY_S)
        return True

    async def _compared(self) -> None:
        while not self.is_over and (self._is_settling or not self._steps[0][1]):
            await self._wait()

    async def _past(self) -> None:
        """Wait until all is compared, as the process does something else than to send commands.

        A script that changed a field when it was recorded may find it changed already.
        """
        while not self.is_over and self._is_settling:  # the step may be taken from the rest already
            await self._wait()
        if not self.is_over and (commands := self._steps[0][1]) and all(map(_is_script, commands)):
            commands.clear()
            self._tell()
        await self._compared()

    def _skips_scripts(self, command: BrowserCommand) -> bool:
        """Pass over recorded scripts that change nothing this time; whether none of the step's commands is left."""
        commands = self._steps[0][1]
        while commands and _is_script(commands[0]) and commands[0].key != command.key:
            commands.popleft()
        if not commands:
            self._tell()
        return not commands

    def _is_sent(self, part: "tuple[Step, deque[BrowserCommand]]") -> bool:
        """Whether all commands of a step were sent, of one that has some."""
        step, commands = part
        action = step.decided.action
        return not commands and isinstance(action, Cdp) and bool(action.first)

    async def _wait(self) -> None:
        self._happened.clear()
        await self._happened.wait()

    def _tell(self) -> None:
        self._happened.set()


def _is_script(command: BrowserCommand) -> bool:
    return command.method.startswith("Runtime.")
