"""An episode that is played for a client, and the session that holds it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.plugins.environments.hub import Waiting
from harness.plugins.environments.ledger import Entry
from harness.plugins.environments.problem import Problem
from harness.plugins.environments.turn import Turn
from harness.plugins.environments.wire import Order


@dataclass(eq=False)
class Play:
    """An episode that holds a slot."""

    entry: Entry
    holder: "Session | None"
    waiting: Waiting | None = None
    """The agent, while it is the client's turn."""
    order: tuple[int, Order] | None = None
    """The step that is being performed, and what was ordered."""
    attempt: int = 0
    """0 = not known yet."""
    steps: int = 0
    """Those before the newest page."""
    failure: Problem | None = None
    """Why it cannot go on."""
    over: bool = False
    """Its lane has left it."""
    leaving: str = ""
    """Why it is given back."""
    known: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Request id to the digest of its action and its step."""
    final: Turn | Problem | None = None
    """What the episode came to, once it is known: asked for again, it is the same."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    lease: asyncio.TimerHandle | None = None

    def tell(self) -> None:
        """Wake who waits for the episode."""
        self.changed.set()


@dataclass(eq=False)
class Session:
    """A client, for as long as it is connected."""

    ends: Callable[[Problem], None] = lambda problem: None
    """Is called when the server ends the session."""
    play: Play | None = None
