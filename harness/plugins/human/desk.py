"""The episodes that a person plays, and the step at which each waits for the person.

Nothing is kept here that must not be lost: what was done is in the journals, and an episode that is gone on with asks
again. All of it is used in the event loop of the run.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from harness.api import Action, Episode, LiveObservation, Refused, Task, Unknown
from harness.api.actions import Screen
from harness.plugins.human.stopwatch import Stopwatch

Glance = Callable[[], Awaitable[bytes | None]]
"""Gives a JPEG of the browser as it is now; None = there is none."""
_MOST_ELEMENTS = 300
_LOOKS_EVERY_S = 0.1
"""At the browser, while a page shows it; less often if a picture takes longer than that."""
_SILENT = frozenset("RootWebArea StaticText generic paragraph LineBreak InlineTextBox none".split())
"""Roles of elements that are not clicked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the person decided."""

    action: Action
    note: str = ""
    gave_up: bool = False


@dataclass(eq=False, kw_only=True)
class Turn:
    """A step that waits for the person."""

    place: str
    """See `place_of`."""
    task: Task
    episode: Episode
    view: LiveObservation
    id: str = field(default_factory=lambda: token_hex(8))
    """A decision names it, so that none is taken for another step than the one that was seen."""
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    said: "asyncio.Future[Said]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def number(self) -> int:
        """Of the step, from 1."""
        return len(self.episode.steps) + 1

    @property
    def earlier_s(self) -> float:
        """What the person took for the steps before it; those that a fork inherited were another's."""
        return sum(step.decided.elapsed_ms for step in self.episode.own_steps) / 1000


@dataclass(kw_only=True)
class Desk:
    """What is shown to the person, and taken."""

    screen: Screen
    """The size of the pictures."""
    legend: bool
    """Whether elements are listed beside them."""
    version: int = 0
    """Another one whenever something has changed."""
    _open: dict[str, Turn | None] = field(default_factory=dict)
    """Episodes that are played, by place; None = the browser does what was said, or opens the pages."""
    _going: set[str] = field(default_factory=set)
    """Those that the person has begun, and not paused."""
    _known: set[str] = field(default_factory=set)
    """Those that were begun at some time."""
    _looking: Counter[str] = field(default_factory=Counter)
    """How many pages show each."""
    _glances: dict[str, Glance] = field(default_factory=dict)
    """How to look at the browser of each."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def ask(self, task: Task, episode: Episode, view: LiveObservation, glance: Glance | None = None) -> Turn:
        """Let an episode wait for the person."""
        turn = Turn(place=place_of(task, episode), task=task, episode=episode, view=view)
        if glance is not None:
            self._glances[turn.place] = glance
        self._open[turn.place] = turn
        if turn.number > 1:
            self._known.add(turn.place)
        self._count(turn.place)
        return turn

    def answered(self, turn: Turn) -> None:
        """It is decided, or is not waited for any more."""
        turn.stopwatch.let(False)
        if self._open.get(turn.place) is turn:
            self._open[turn.place] = None
        self._tell()

    def close(self, place: str) -> None:
        """The episode is played no more."""
        self._open.pop(place, None)
        self._glances.pop(place, None)
        self._going.discard(place)
        self._tell()

    def turn(self, id: str) -> Turn | None:
        """The step with this id, if it waits and is not paused."""
        found = next((one for one in self._open.values() if one is not None and one.id == id), None)
        return found if found is not None and found.place in self._going and not found.said.done() else None

    def let(self, place: str, goes: bool) -> bool:
        """Begin, pause, or go on; False = there is no such episode."""
        if place not in self._open:
            return False
        if goes:
            self._going.add(place)
            self._known.add(place)
        else:
            self._going.discard(place)
        self._count(place)
        return True

    @contextmanager
    def looked_at(self, place: str) -> Iterator[None]:
        """A page shows the episode; its time counts."""
        self._looking[place] += 1
        self._count(place, tells=False)
        try:
            yield
        finally:
            self._looking[place] -= 1
            self._count(place, tells=False)

    async def pictures(self, place: str) -> AsyncIterator[bytes | None]:
        """The browser of an episode, each time that it looks otherwise, until the episode is played no more; None
        each time that there is nothing new. In a pause nothing is seen."""
        shown: bytes | None = None
        clock = asyncio.get_running_loop().time
        while (glance := self._glances.get(place)) is not None:
            begun = clock()
            image = await glance() if place in self._going else None
            is_new = image is not None and image != shown and place in self._going
            shown = image if is_new else shown
            yield image if is_new else None
            await asyncio.sleep(max(_LOOKS_EVERY_S, clock() - begun))

    def chosen(self, place: str) -> str:
        """The episode to show: the one that is asked for, else the first that waits, else any; "" = there is none."""
        waiting = (one for one, turn in self._open.items() if turn is not None)
        return place if place in self._open else next(waiting, next(iter(self._open), ""))

    async def news(self, seen: int, within_s: float) -> None:
        """Wait until there is another version than this one, but not longer."""
        if self.version != seen:
            return
        try:
            async with asyncio.timeout(within_s):
                await self._changed.wait()
        except TimeoutError:
            pass

    def state(self, place: str) -> dict[str, Any]:
        """All that the page shows of an episode, as JSON."""
        episodes = [
            {"place": one, "label": _label(one), "waits": turn is not None, "goes": one in self._going}
            for one, turn in self._open.items()
        ]
        label = _label(place) if place else ""
        said: dict[str, Any] = {
            "version": self.version,
            "place": place,
            "label": label,
            "phase": "none",
            "episodes": episodes,
        }
        if place not in self._open:
            return said
        turn = self._open[place]
        if place not in self._going:
            return said | {"phase": "paused", "begun": place in self._known}
        return said | ({"phase": "busy"} if turn is None else {"phase": "turn", **self._shown(turn)})

    def _shown(self, turn: Turn) -> dict[str, Any]:
        seen = turn.view.observation
        return {
            "turn": turn.id,
            "step": turn.number,
            "objective": turn.task.intent,
            "pictures": len(turn.view.task_images),
            "asks": turn.task.user is not None,
            "url": seen.url,
            "title": seen.title,
            "tabs": [{"title": tab.title or tab.url, "current": tab.current} for tab in seen.tabs],
            "notices": [*seen.notices, *_refusal(turn.episode)],
            "width": self.screen.width,
            "height": self.screen.height,
            "seen": turn.view.image is not None,
            "spent_s": turn.earlier_s + turn.stopwatch.read(),
            "elements": list(_elements(turn.view, self.screen)) if self.legend else [],
        }

    def _count(self, place: str, *, tells: bool = True) -> None:
        turn = self._open.get(place)
        if turn is not None and not turn.said.done():
            turn.stopwatch.let(place in self._going and self._looking[place] > 0)
        if tells:
            self._tell()

    def _tell(self) -> None:
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()


def place_of(task: Task, episode: Episode) -> str:
    """Trial and task, by which an episode is known here."""
    return f"{episode.opened.trial if episode.opened else 0} {task.task_id}"


def _label(place: str) -> str:
    trial, _, task = place.partition(" ")
    return f"Task {task}" + (f", trial {trial}" if trial != "0" else "")


def _refusal(episode: Episode) -> Iterator[str]:
    acted = episode.steps[-1].acted if episode.steps else None
    if acted is not None and isinstance(acted.outcome, Refused | Unknown):
        yield f"Your last action was not performed: {acted.outcome.why}"


def _elements(view: LiveObservation, screen: Screen) -> Iterator[dict[str, Any]]:
    """The elements in sight, with the points at their middles."""
    found = 0
    for node in view.nodes.values():
        if node.role in _SILENT or node.box is None:
            continue
        left, top, width, height = node.box
        x, y = int(left + width / 2), int(top + height / 2)
        if width > 0 and height > 0 and 0 <= x < screen.width and 0 <= y < screen.height and found < _MOST_ELEMENTS:
            found += 1
            yield {"x": x, "y": y, "role": node.role, "name": node.name[:200]}


def element_at(view: LiveObservation, x: float, y: float) -> dict[str, Any] | None:
    """The smallest element at a point, and where in it the point is, as fractions of its box; None = there is none."""
    found: tuple[float, dict[str, Any]] | None = None
    for node in view.nodes.values():
        if node.role in _SILENT or node.box is None:
            continue
        left, top, width, height = node.box
        if not (width > 0 and height > 0 and left <= x <= left + width and top <= y <= top + height):
            continue
        if found is None or width * height <= found[0]:
            place = {"x": (x - left) / width, "y": (y - top) / height}
            found = width * height, {"role": node.role, "name": node.name[:200], "nth": node.nth, **place}
    return None if found is None else found[1]
