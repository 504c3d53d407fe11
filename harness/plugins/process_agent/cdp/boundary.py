"""The browser boundary of an agent's process that drives the browser itself: what may pass, and how it is recorded."""

import asyncio
from contextlib import suppress

from harness.api.agent_kinds import RestoreResult, SharedBrowser
from harness.api.records import Guarded, SeenElement
from harness.errors import BrowserCrashed, HarnessError
from harness.plugins.process_agent.cdp.bursts import Bursts, Sent, Ticket
from harness.plugins.process_agent.cdp.gesture import changed_by_script, clicked_by_script
from harness.plugins.process_agent.cdp.replay import Deliver, Replay
from harness.plugins.process_agent.deps import SessionDeps
from harness.plugins.process_agent.events import Broken, SessionOver

MOST_REFUSALS = 200
"""That are kept; all are counted."""


class DrivenBrowser:
    """Of one episode."""

    def __init__(self, deps: SessionDeps, browser: SharedBrowser, deliver: Deliver) -> None:
        """
        Args:
            deliver: Shows a step to the process, where it looks by other means.
        """
        self.browser = browser
        self.refusals: list[str] = []
        """Commands that were not passed on, and why; the first ones."""
        self.refused = 0
        self.intake = deps.intake
        self._volatile = deps.plan.volatile
        self._inbox = deps.inbox
        self._violations = deps.violations
        self._bursts = Bursts(deps, browser)
        self._inbox.on_broken = self._bursts.interrupt
        self._replay = Replay(deps, browser, deliver)
        self._watching: asyncio.Task[None] | None = None
        self._is_lost = False

    def canonical(self, text: str) -> str:
        """As it is recorded: without what differs from one deployment, or one start of the process, to the next."""
        return self._volatile.text(self.browser.canonical(text))

    async def admit(self, sent: Sent) -> Ticket:
        """Let a command through that may change something: it is recorded, or was before.

        Raises:
            SessionOver: The episode cannot go on.
        """
        self._check_here()
        if await self._replay.admit(sent.command, sent.target):
            return Ticket(None, 0)
        is_recorded = await self._replay.is_pending(sent.command)
        return await self._bursts.admit(sent, is_recorded=is_recorded)

    async def disturbing(self, target: str, node: int) -> SeenElement | None:
        """Wait until a script may run that may change what is seen of a page: the step before it is over then.

        Args:
            node: The field that it may change; 0 = none is known.
        Returns:
            That field before it runs.
        Raises:
            SessionOver: The episode cannot go on.
        """
        self._check_here()
        await self._replay.scripting()
        if self._replay.is_over:
            await self._bursts.make_way(node)
        return await self.browser.element(target, node) if node else None

    async def written(self, sent: Sent, before: SeenElement, *, clicks: bool) -> None:
        """Make that script part of a step, or a step, if it has changed the field.

        Args:
            clicks: It may have clicked on the element instead.
        Raises:
            SessionOver: The episode cannot go on.
        """
        now = await self.browser.element(sent.target, sent.node)
        words = "" if now is None else changed_by_script(before, now)
        if now is None or not words:
            return self._bursts.clicked(clicked_by_script(before)) if clicks else None
        if not self._replay.is_over:
            return self._replay.changed(sent.command)
        is_recorded = await self._replay.is_pending(sent.command)
        await self._bursts.changed(sent, words, now, is_recorded=is_recorded)

    def _check_here(self) -> None:
        """Raises: SessionOver: The browser is gone."""
        try:
            self.check()
        except BrowserCrashed as error:
            self.lose(error)
            raise SessionOver(str(error)) from error

    def landed(self, ticket: Ticket, error: str = "") -> None:
        """It was answered; `error` if it was not performed."""
        if ticket.has_landed:
            return
        ticket.has_landed = True
        if ticket.burst is None:
            self._replay.landed()
        else:
            self._bursts.landed(ticket, error)

    async def script(self) -> None:
        """Let scripts run. Raises SessionOver: The episode cannot go on."""
        if self._replay.is_over:
            await self._bursts.script()

    def refuse(self, what: str) -> None:
        """Note a command that is not passed on, and record it."""
        self._violations.found(Guarded.BROWSER, what)
        self.refused += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append(what)

    @property
    def has_caught_up(self) -> bool:
        """Whether the process has done again all recorded steps."""
        return self._replay.is_over

    def give_up(self) -> None:
        """Go on without the rest of the recording."""
        self._replay.end()

    async def resume(self, restored: RestoreResult) -> RestoreResult:
        """Follow the process to where the recording ends.

        Raises:
            HarnessError: It does not lead there, and the attempt does not go on.
        """
        if self._replay.is_over:
            return restored
        try:
            return await self._replay.play(restored)
        except SessionOver:
            raise await self._why_broken() from None

    def go_on(self) -> None:
        """What comes from here on is new."""
        self._bursts.go_on()
        self._watching = asyncio.create_task(self._bursts.watch())

    async def performed(self) -> None:
        """Wait until the commands of the step are over.

        Raises:
            HarnessError: They are not those of the recording, and the attempt does not go on.
        """
        try:
            await self._bursts.performed(self._replay.expects)
            await self._replay.check_complete()
        except SessionOver:
            raise await self._why_broken() from None

    def delivered(self) -> None:
        """The step is recorded: the next may begin."""
        self._bursts.delivered()

    def asking(self) -> None:
        """The process asks its model something new. Raises BrowserCrashed: See `check`."""
        self.check()
        self._bursts.complete()

    def check(self) -> None:
        """See that the process still has a browser: what it does without one is not a decision of its own.

        Raises:
            BrowserCrashed: It has none.
        """
        if self._is_lost:
            raise BrowserCrashed("the browser is gone")
        self.browser.check()

    def lose(self, error: BrowserCrashed | None = None) -> None:
        """The browser is gone: the attempt ends before the process learns of it and goes on without a browser."""
        if self._is_lost:
            return
        self._is_lost = True
        self._inbox.put(Broken(error or BrowserCrashed("the browser is gone")))

    def exited(self) -> None:
        """The process has ended."""
        self._bursts.exited()

    async def end(self) -> None:
        """Let nothing through any more."""
        self._replay.end()
        self._bursts.end()
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching

    async def _why_broken(self) -> HarnessError:
        while not isinstance(event := await self._inbox.events.get(), Broken):
            pass
        return event.error
