"""When a run on a site of one's own is struck: at an effect's arrival, between decision and act, while the model
thinks, in a reset.

A strike waits for an event, never for a time alone: what it aims at has happened when it falls, and how long after is
drawn from the seed. Site and endpoint are in the driver's process, so an event is known before whoever caused it has an
answer.
"""

import asyncio
import contextlib
import json
import os
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaos_site import Effect, Site
from chaos_tasks import Posed
from chaos_victims import PARENT, VICTIMS

from harness.plugins.demo.model.model_server import endpoint_app
from harness.plugins.demo.model.scripted_policy import reply
from harness.plugins.demo.model.scripts import Scripts

EFFECT, DECIDED, THINKING, RESET = "effect", "decided", "thinking", "reset"
AIMS = (EFFECT, DECIDED, THINKING, RESET)
_WEIGHTS = (6, 3, 2, 1)
_VICTIM_WEIGHTS = (4, 4, 4, 2, 2)
WITHIN_S: Mapping[str, float] = {EFFECT: 0.5, DECIDED: 0.02, THINKING: 0.12, RESET: 0.4}
"""By aim: the longest time between event and strike."""
WATCH_S = 0.005
HELD_S = 5.0
"""An answer that is kept back until the strike is given after this long anyway."""
SITE = "site"
"""A victim of strikes while the model thinks: it refuses connections for a while, and the model goes on."""
OUTAGES = 0.3
"""Of the strikes while the model thinks, those that are for the site."""
FREEZE = "freeze"
"""A victim of strikes between decision and act: the run's processes are stopped for a while, and then go on."""
FREEZES = 0.15
"""Of the strikes between decision and act, those that stop and do not kill."""
PATIENCE_S = 1.0
"""A page's own late effect that is this late will not come: the page that would send it is gone."""
_DECISIONS = (b'"kind":"decided"', b'"kind":"commanded"')
"""The latter of an agent that drives the browser itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    aim: str
    skip: int
    """Events of this kind that are let go first."""
    delay_s: float
    at_once: bool
    """Before the answer to the request that is the event; it has no `delay_s` then."""
    victim: str
    which: float
    """In [0, 1): which of several."""


def strikes(seed: str, count: int, *, hook: bool, aim: str = "", victim: str = "") -> tuple[Strike, ...]:
    """The same for the same seed; `aim` and `victim`: of all of them, "" = any."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        drawn = chance.choices(AIMS, _WEIGHTS if hook else (*_WEIGHTS[:-1], 0))[0]
        at = aim or drawn
        at_once = at in (EFFECT, RESET) and chance.random() < 0.3
        struck = chance.choices(VICTIMS, _VICTIM_WEIGHTS)[0]
        if at == THINKING and chance.random() < OUTAGES:
            struck = SITE
        elif at == DECIDED and chance.random() < FREEZES:
            struck = FREEZE
        made.append(
            Strike(
                aim=at,
                skip=chance.randrange({EFFECT: 2, DECIDED: 5, THINKING: 5, RESET: 2}[at]),
                delay_s=0.0 if at_once else chance.uniform(0, WITHIN_S[at]),
                at_once=at_once,
                victim=victim or struck,
                which=chance.random(),
            )
        )
    return tuple(made)


def at_arrival(victim: str, delay_s: float) -> Strike:
    """That long after the next effect has arrived."""
    return Strike(aim=EFFECT, skip=0, delay_s=delay_s, at_once=False, victim=victim, which=0.0)


@dataclass(slots=True, kw_only=True)
class Event:
    """What a strike was waiting for."""

    task: str
    """"" = of no certain task."""
    at: float
    """By the loop's clock."""
    struck: asyncio.Event = field(default_factory=asyncio.Event)


class Watch:
    """Tells the one strike that waits of the event it waits for."""

    def __init__(self) -> None:
        self._strike: Strike | None = None
        self._left = 0
        self._spared: set[str] = set()
        self._found: asyncio.Future[Event] | None = None

    def arm(self, strike: Strike) -> asyncio.Future[Event]:
        self._strike, self._left = strike, strike.skip
        self._found = asyncio.get_running_loop().create_future()
        return self._found

    def disarm(self) -> None:
        self._strike = None

    def spare(self, task: str) -> None:
        """Nothing that this task does is an event any more."""
        self._spared.add(task)

    async def happened(self, aim: str, task: str = "") -> None:
        """Returns when whoever caused it may have its answer."""
        if self._strike is None or self._strike.aim != aim or self._found is None or (task and task in self._spared):
            return
        if self._left:
            self._left -= 1
            return
        strike, self._strike = self._strike, None
        event = Event(task=task, at=asyncio.get_running_loop().time())
        self._found.set_result(event)
        if strike.at_once:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HELD_S):
                    await event.struck.wait()

    async def watch_journals(self, folder: Path) -> None:
        """Look for new decisions until cancelled."""
        sizes: dict[str, int] | None = None
        while True:
            now = _sizes(folder)
            for path, size in now.items() if sizes is not None else ():
                known = sizes.get(path, 0)
                written = _written(path, known) if size > known else b""
                if any(decision in written for decision in _DECISIONS):
                    await self.happened(DECIDED, f"t{Path(path).name.partition('.')[0]}")
            sizes = now
            await asyncio.sleep(WATCH_S)


def _sizes(folder: Path) -> dict[str, int]:
    try:
        with os.scandir(folder) as entries:
            return {one.path: one.stat().st_size for one in entries if one.name.endswith(".traj.jsonl")}
    except FileNotFoundError:
        return {}


def _written(path: str, known: int) -> bytes:
    with Path(path).open("rb") as journal:
        journal.seek(known)
        return journal.read()


def watched(site: Site, watch: Watch) -> None:
    """Let the site tell of effects and resets."""

    async def arrived(effect: Effect) -> None:
        await watch.happened(EFFECT, effect.task)

    async def resetting(_place: str) -> None:
        await watch.happened(RESET)

    site.arrived, site.resetting = arrived, resetting


Serve = Callable[[Any, Any, Any], Awaitable[None]]


class Endpoint:
    """The scripted endpoint; it tells of every question, and thinks long where a task's late effect is to arrive
    first.
    """

    def __init__(self, plans: Scripts, tasks: Sequence[Posed], *, site: Site, watch: Watch, latency_s: float) -> None:
        self._plans = plans
        self._app: Serve = endpoint_app(plans, latency_ms=latency_s * 1000)
        self._tasks = {task.name: task for task in tasks}
        self._site = site
        self._watch = watch

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return  # whoever asked was killed in the middle of it
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"].endswith("/chat/completions"):
            answer = reply(json.loads(body)["messages"], self._plans)
            name = f"t{answer.task_id}"
            if (task := self._tasks.get(name)) is not None:
                await self._watch.happened(THINKING, name)
                if answer.step == task.kind.awaits_at:
                    await self._await_effect(task)
        told = False

        async def again() -> dict[str, Any]:
            nonlocal told
            if told:
                return await receive()  # type: ignore[no-any-return]
            told = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, again, send)

    async def _await_effect(self, task: Posed) -> None:
        """Wait for what the start page sends, while the task is there; only the page knows whether it still will."""
        loop, kind = asyncio.get_running_loop(), task.kind
        until = loop.time() + kind.awaits_s + PATIENCE_S
        while self._site.is_awaited(task.name, kind.start, kind.awaits) and loop.time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


__all__ = [
    "AIMS",
    "FREEZE",
    "PARENT",
    "SITE",
    "Endpoint",
    "Event",
    "Strike",
    "Watch",
    "at_arrival",
    "strikes",
    "watched",
]
