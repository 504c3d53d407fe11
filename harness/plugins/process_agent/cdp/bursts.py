"""Commands of an agent's process that may change something become steps of the episode.

A step begins with the first such command, which waits until the decision is durable. It ends when all commands were
answered, and the process asks its model, does something else (see `gesture`), or sends no other for a while; then the
page is observed, and what comes meanwhile waits for the next step. Each command is durable before it is passed on;
commands that come while the journal is written share the next write.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from harness.api.actions import Cdp
from harness.api.agent_kinds import SharedBrowser
from harness.api.records import BrowserCommand, Commanded, Landed, SeenElement
from harness.api.text import cut
from harness.plugins.process_agent.cdp.gesture import Gesture
from harness.plugins.process_agent.cdp.input_events import InputEvent, Kind
from harness.plugins.process_agent.deps import SessionDeps
from harness.plugins.process_agent.events import Called, SessionOver

QUIET_S = 0.15
"""Seconds without a further command after which a step is over."""
HELD_S = 1.0
"""The same time while a button or a key is down."""
_PARTS_WITHIN_S = 2.0
"""A step whose commands are not answered by then goes on with what is something else."""
LONGEST_S = 20.0
"""A step that is not over by then is cut there: what comes after is the next one."""
_LOOKS_EVERY_S = 0.1
_MOST_ERRORS = 100
_LONGEST_TITLE = 10_000
_SCRIPT = "run a script that changed the page"
_LONGEST_ERROR = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A command as it is to be let through."""

    command: BrowserCommand
    event: InputEvent
    target: str = ""
    """Id of the target that it works on; "" = none."""
    node: int = 0
    """backendDOMNodeId of the element that it names; 0 = none."""


@dataclass(slots=True, eq=False)
class Ticket:
    """A command that was let through."""

    burst: "_Burst | None"
    """None = it was recorded before, and is only sent again."""
    position: int
    """Position in the step, from 1."""
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
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """No further command is part of it."""
    under_way: int = 0
    count: int = 0
    last: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    target: str = ""
    """The target of the last command."""
    errors: dict[str, str] = field(default_factory=dict)
    gestures: list[Gesture] = field(default_factory=list)
    """Mostly one."""

    def part_of(self, event: InputEvent) -> Gesture | None:
        """The gesture that a command belongs to; None = it begins another one."""
        return self.gestures[-1] if self.gestures and self.gestures[-1].takes(event) else None

    def is_about(self, node: int) -> bool:
        """Whether the newest gesture is about writing into this element."""
        return bool(self.gestures) and self.gestures[-1].writes_into(node)

    @property
    def is_under_way(self) -> bool:
        """Whether its newest gesture has only begun."""
        return bool(self.gestures) and self.gestures[-1].is_under_way

    @property
    def quiet_s(self) -> float:
        return HELD_S if self.gestures and self.gestures[-1].is_held else QUIET_S


class Bursts:
    """The steps of one episode, from where its recording ends."""

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
        self._by_script = ""
        self._seen = browser.state()

    def go_on(self) -> None:
        """The recording is used up: what comes from here on is new."""
        episode = self._journal.episode
        self._is_marked = any(one.step == len(episode.steps) + 1 for one in episode.commanded)
        self._seen = self._browser.state()

    async def admit(self, sent: Sent, *, is_recorded: bool = False) -> Ticket:
        """Let a command through once it is durable.

        Args:
            is_recorded: The step that is pending holds it already.
        Raises:
            SessionOver: The episode cannot go on.
        """
        burst = await self._joined(sent, is_recorded=is_recorded)
        ticket = self._count(burst)
        with ExitStack() as undo:
            undo.callback(self.landed, ticket, "it was not recorded")
            if (
                sent.target and sent.target != burst.target
            ):  # before it is sent: a tab that it opens becomes current then
                burst.target = sent.target
                await self._browser.focus(sent.target)
            if (gesture := burst.part_of(sent.event)) is None:
                burst.gestures.append(gesture := Gesture())
            looking = asyncio.create_task(self._look(sent, gesture)) if gesture.looks(sent.event, sent.node) else None
            undo.callback(looking.cancel if looking is not None else bool)
            if not is_recorded:
                await self._record(sent.command)
            gesture.add(sent.event, None if looking is None else await looking)
            undo.pop_all()
        return ticket

    async def make_way(self, node: int) -> None:
        """Wait until a script of the process may change what is seen: between steps, or as part of one.

        Args:
            node: The field that it may change; a step about that goes on.

        Raises:
            SessionOver: The episode cannot go on.
        """
        while (burst := self._burst) is not None and not self._is_over:
            if burst.closed.is_set():
                await burst.over.wait()
            elif burst.is_about(node) or burst.is_under_way or not await self._parted(burst):
                return

    async def changed(self, sent: Sent, words: str, element: SeenElement, *, is_recorded: bool = False) -> None:
        """Make a script that has changed a field part of the step about it, or a step.

        Args:
            words: What it did.
            element: The field after that.
            is_recorded: The step that is pending holds it already.
        Raises:
            SessionOver: The episode cannot go on.
        """
        burst = await self._joined(sent, is_recorded=is_recorded)
        ticket = self._count(burst)
        try:
            if sent.target and sent.target != burst.target:
                burst.target = sent.target
                await self._browser.focus(sent.target)
            if not is_recorded:
                await self._record(sent.command)
            if not burst.is_about(sent.node):
                burst.gestures.append(Gesture())
            burst.gestures[-1].add_script(words, element)
        finally:
            self.landed(ticket)

    def clicked(self, words: str) -> None:
        """A script has clicked on an element, which may lead to another page."""
        self._by_script = words

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
        burst.closed.set()
        if self._is_interrupted:
            raise SessionOver("the attempt cannot go on")
        if self._batch is not None and self._batch.written is not None:
            await asyncio.shield(self._batch.written)
        title = await self._title(burst)
        async with self._writing:
            await self._journal.keep(lambda: self._landed(burst, title))

    def delivered(self) -> None:
        """The step is recorded: the next may begin."""
        burst, self._burst = self._burst, None
        self._is_marked, self._by_script = False, ""
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

    async def _joined(self, sent: Sent, *, is_recorded: bool) -> _Burst:
        """The step that a command is part of, once it may be."""
        while not self._is_over:
            burst = self._burst or self._begin(sent.command.text)
            if burst.closed.is_set():
                await burst.over.wait()
                continue
            try:
                await burst.begun.wait()
            except asyncio.CancelledError:  # the client hung up before its command was passed on
                burst.is_script = True
                raise
            is_script = sent.event.kind is Kind.SCRIPT and burst.is_about(sent.node)
            is_part = is_recorded or not burst.gestures or is_script or burst.part_of(sent.event) is not None
            if not is_part and not burst.closed.is_set() and await self._parted(burst):
                continue
            if not burst.closed.is_set() and not self._is_over:
                return burst
        raise SessionOver("the episode is over")

    async def _parted(self, burst: _Burst) -> bool:
        """End a step, as what comes is something else; False = its commands are not answered."""
        burst.is_complete = True
        self._happened.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(_PARTS_WITHIN_S):
                await burst.closed.wait()
        burst.is_complete = burst.closed.is_set()
        return burst.is_complete

    def _count(self, burst: _Burst) -> Ticket:
        burst.count += 1
        burst.under_way += 1
        burst.last = asyncio.get_running_loop().time()
        return Ticket(burst, burst.count)

    async def _look(self, sent: Sent, gesture: Gesture) -> SeenElement | None:
        """The element that a command is aimed at."""
        where = sent.event.point if gesture.wants_point(sent.event) else sent.node or None
        return await self._browser.element(sent.target, where)

    async def _title(self, burst: _Burst) -> str:
        """What the step was, in words."""
        for gesture in burst.gestures:
            if (point := gesture.hovers_at) is not None:
                gesture.element = await self._browser.element(burst.target, point)
        said = [self._by_script if burst.is_script else "", *(gesture.title for gesture in burst.gestures)]
        return cut(self._browser.canonical("; ".join(filter(None, said)) or _SCRIPT), _LONGEST_TITLE)

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
        return 0.0 if burst.is_complete else min(whole, burst.last + burst.quiet_s - now)

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

    def _landed(self, burst: _Burst, title: str) -> Landed:
        step = len(self._journal.episode.steps) + 1
        return Landed(step=step, count=burst.count, errors=burst.errors, title=title, at=self._journal.now())


@dataclass(slots=True, eq=False)
class _Batch:
    """Commands that are written together."""

    commands: list[BrowserCommand] = field(default_factory=list)
    written: "asyncio.Task[None] | None" = None
