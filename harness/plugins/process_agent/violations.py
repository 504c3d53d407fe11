"""What an agent's process was seen to try that it may not do: blocked where it was seen, recorded here, and counted.

A process may try a million times: a thing is recorded once, and only so many different things; the number of all tries
is kept in memory until the process has ended.
"""

import asyncio
from collections import deque

from harness.api.agent_kinds import SessionJournal
from harness.api.records import Guarded, PolicyViolation
from harness.errors import HarnessError
from harness.plugins.process_agent.events import Broken, Inbox

MOST = 50
"""Different things that are recorded of an attempt."""
_LONGEST = 300


class Violations:
    """The policy violations of one episode."""

    def __init__(self, journal: SessionJournal, inbox: Inbox) -> None:
        self._journal = journal
        self._inbox = inbox
        self._known = {(one.guarded, one.what) for one in journal.episode.violations}
        self._waiting: deque[tuple[Guarded, str]] = deque()
        self._writing: asyncio.Task[None] | None = None
        self.tries = 0
        """Tries of this process so far."""

    def found(self, guarded: Guarded, what: str) -> None:
        """Count a try, and record it if it is new; call it from the event loop.

        Args:
            guarded: What the process is kept from.
            what: What it tried, in words.
        """
        self.tries += 1
        new = (guarded, "".join(char if char.isprintable() else "?" for char in what[:_LONGEST]))
        if new in self._known or len(self._known) >= MOST:
            return
        self._known.add(new)
        self._waiting.append(new)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def settled(self) -> None:
        """Wait until what was found so far is recorded."""
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _write(self) -> None:
        while self._waiting:
            guarded, what = self._waiting.popleft()
            try:
                await self._journal.keep(lambda: self._record(guarded, what))  # noqa: B023 (called before the next)
            except HarnessError as error:
                self._inbox.put(Broken(error))
                return

    def _record(self, guarded: Guarded, what: str) -> PolicyViolation:
        step = len(self._journal.episode.steps) + 1
        return PolicyViolation(step=step, guarded=guarded, what=what, at=self._journal.now())
