"""Commands of an agent's process that may change something become steps of the episode.

A step begins with the first such command, which waits until the decision is durable. It ends when all commands were
answered, and the process asks its model or sends no other for a while; then the page is observed, and what comes
meanwhile waits for the next step. Each command is durable before it is passed on; commands that come while the journal
is written share the next write.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from harness.actions import Cdp
from harness.gateway.deps import SessionDeps
from harness.gateway.events import Called, SessionOver
from harness.protocols import SharedBrowser
from harness.records import BrowserCommand, Commanded, Landed

QUIET_S = 0.15
"""Without a further command: the step is over."""
LONGEST_S = 20.0
"""A step that is not over by then is cut there: what comes after is the next one."""
_LOOKS_EVERY_S = 0.1
_MOST_ERRORS = 100
_LONGEST_ERROR = 300


@dataclass(slots=True, eq=False)
class Ticket:
    """A command that was let through."""

    burst: "_Burst | None"
    """None = it was recorded before, and is only sent again."""
    position: int
    """In the step, from 1."""
    has_landed: bool = False


@dataclass(slots=True, eq=False)
class _Burst:
    """The commands of one step."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """The decision is durable."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """The page was observed."""
    is_script: bool = False
    """It began with what scripts led to; any other has a first command."""
    is_complete: bool = False
    """The process has gone on to something else: it is over once all commands are answered."""
    is_closed: bool = False
    under_way: int = 0
    count: int = 0
    last: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    target: str = ""
    """That the last command works on."""
    errors: dict[str, str] = field(default_factory=dict)


class Bursts:
    """Of one episode, from where its recording ends."""

    def __init__(self, deps: SessionDeps, browser: SharedBrowser) -> None:
        self._journal = deps.journal
        self._inbox = deps.inbox
        self._browser = browser
        self._burst: _Burst | None = None
        self._happened = asyncio.Event()
        self._batch: _Batch | None = None
        self._writing = asyncio.Lock()
        self._marking = asyncio.Lock()
        self._is_marked = False
        self._is_over = False
        self._is_interrupted = False
        self._has_exited = False
        self._seen = browser.state()

    def go_on(self) -> None:
        """The recording is used up: what comes from here on is new."""
        episode = self._journal.episode
        self._is_marked = any(one.step == len(episode.steps) + 1 for one in episode.commanded)
        self._seen = self._browser.state()

    async def admit(self, command: BrowserCommand, target: str, *, is_recorded: bool = False) -> Ticket:
        """Let a command through once it is durable.

        Args:
            is_recorded: The step that is pending holds it already.
        Raises:
            SessionOver: The episode cannot go on.
        """
        burst = await self._joined(command)
        burst.count += 1
        burst.under_way += 1
        burst.last = asyncio.get_running_loop().time()
        ticket = Ticket(burst, burst.count)
        with ExitStack() as undo:
            undo.callback(self.landed, ticket, "it was not recorded")
            if target and target != burst.target:  # before it is sent: a tab that it opens becomes current after that
                burst.target = target
                await self._browser.focus(target)
            if not is_recorded:
                await self._record(command)
            undo.pop_all()
        return ticket

    def landed(self, ticket: Ticket, error: str = "") -> None:
        """It was answered; `error` if it was not performed."""
        if (burst := ticket.burst) is None:
            return
        burst.under_way -= 1
        burst.last = asyncio.get_running_loop().time()
        if error and len(burst.errors) < _MOST_ERRORS:
            burst.errors[str(ticket.position)] = error[:_LONGEST_ERROR]
        self._happened.set()

    async def script(self) -> None:
        """Make durable that scripts run between this step and the next; once is enough.

        Raises:
            SessionOver: The episode cannot go on.
        """
        if self._is_marked or self._burst is not None:
            return
        async with self._marking:
            if self._is_marked or self._burst is not None:
                return
            await self._inbox.work(self._journal.keep(lambda: self._commanded(())))
            self._is_marked = True

    async def performed(self, expects: Callable[[], bool]) -> None:
        """Wait until the commands of the step are over.

        Args:
            expects: Whether a command must still come that was recorded as part of the step.
        Raises:
            SessionOver: The attempt cannot go on.
        """
        burst = self._burst
        if burst is None:  # the step was pending when the process was started
            pending = self._journal.episode.pending
            assert pending is not None and isinstance(pending.action, Cdp)
            burst = self._burst = _Burst(is_script=not pending.action.first)
        burst.begun.set()
        begun = burst.last = asyncio.get_running_loop().time()
        while not self._is_over and (left_s := self._left_s(burst, begun, expects=expects())) > 0:
            self._happened.clear()
            try:
                async with asyncio.timeout(left_s):
                    await self._happened.wait()
            except TimeoutError:
                pass
        burst.is_closed = True
        if self._is_interrupted:
            raise SessionOver("the attempt cannot go on")
        if self._batch is not None and self._batch.written is not None:
            await asyncio.shield(self._batch.written)
        async with self._writing:
            await self._journal.keep(lambda: self._landed(burst))

    def delivered(self) -> None:
        """The step is recorded: the next may begin."""
        burst, self._burst = self._burst, None
        self._is_marked = False
        self._seen = self._browser.state()
        if burst is not None:
            burst.over.set()

    async def watch(self) -> None:
        """Make a step of what scripts have led to: another document, or another tab."""
        while True:
            await asyncio.sleep(_LOOKS_EVERY_S)
            if self._burst is None and self._is_marked and self._browser.state() != self._seen:
                self._begin("")

    def complete(self) -> None:
        """The process asks its model: what it sends after that is another step."""
        if self._burst is not None and self._burst.count:
            self._burst.is_complete = True
            self._happened.set()

    def exited(self) -> None:
        """The process has ended: nothing more will come."""
        self._has_exited = True
        self._happened.set()

    def end(self) -> None:
        """Let nothing through any more."""
        self._is_over = True
        self._happened.set()
        if self._burst is not None:
            self._burst.begun.set()
            self._burst.over.set()

    def interrupt(self) -> None:
        """The attempt cannot go on: the step does not end."""
        self._is_interrupted = True
        self.end()

    async def _joined(self, command: BrowserCommand) -> _Burst:
        """The step that the command is part of, once it may be."""
        while not self._is_over:
            burst = self._burst or self._begin(command.text)
            if burst.is_closed:
                await burst.over.wait()
                continue
            try:
                await burst.begun.wait()
            except asyncio.CancelledError:  # the client hung up before its command was passed on
                burst.is_script = True
                raise
            if not burst.is_closed and not self._is_over:
                return burst
        raise SessionOver("the episode is over")

    def _begin(self, first: str) -> _Burst:
        self._burst = _Burst(is_script=not first)
        step = len(self._journal.episode.steps) + 1
        self._inbox.put(Called(Cdp(number=step, first=first), first))
        return self._burst

    def _left_s(self, burst: _Burst, begun: float, *, expects: bool) -> float:
        now = asyncio.get_running_loop().time()
        whole = begun + LONGEST_S - now
        is_busy = burst.under_way or expects or not (burst.count or burst.is_script)
        if is_busy and not self._has_exited:
            return whole
        return 0.0 if burst.is_complete else min(whole, burst.last + QUIET_S - now)

    async def _record(self, command: BrowserCommand) -> None:
        if self._batch is None:
            self._batch = _Batch()
            self._batch.written = asyncio.create_task(self._write(self._batch))
        self._batch.commands.append(command)
        assert self._batch.written is not None
        await asyncio.shield(self._batch.written)

    async def _write(self, batch: "_Batch") -> None:
        async with self._writing:
            self._batch = None
            await self._inbox.work(self._journal.keep(lambda: self._commanded(batch.commands)))

    def _commanded(self, commands: Sequence[BrowserCommand]) -> Commanded:
        step = len(self._journal.episode.steps) + 1
        return Commanded(step=step, commands=tuple(commands), at=self._journal.now())

    def _landed(self, burst: _Burst) -> Landed:
        step = len(self._journal.episode.steps) + 1
        return Landed(step=step, count=burst.count, errors=burst.errors, at=self._journal.now())


@dataclass(slots=True, eq=False)
class _Batch:
    """Commands that are written together."""

    commands: list[BrowserCommand] = field(default_factory=list)
    written: "asyncio.Task[None] | None" = None
