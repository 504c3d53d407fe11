"""A site of one's own for a chaos run: it counts every effect on its own side, and its pages are not alike at every
visit.

It is served in the driver's process, so that its log outlives every kill. A place is one instance of a site (a host
name) with a state of its own; `POST /__reset__` puts a place back to its seed and begins its next epoch. Every path
begins with the task it belongs to (`/t17/order`), so every effect is attributed without a guess. An effect is a request
for `do`, whatever its
method: it tells the accessible name of the element that causes it, so the log says which element was really used.
"""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from urllib.parse import parse_qs

from chaos_pages import Visit, render
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from harness.loopback_server import serving

Place = str
"""Host name of an instance."""
_TASK = re.compile(r"t\d+")
SOFT = ("Send in 300 ms", "Send in 900 ms", "Send in 1000 ms", "Send in 1500 ms", "Send in 2500 ms", "Leave", "Draft")
"""Labels of effects that a page's memory causes. A page that a checkpoint opens anew has none, so where a site cannot
be reset, one that is missing is no difference.
"""
NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One request that changes the site, as it arrived."""

    at: float
    """Seconds since the epoch, by the clock journals are written by."""
    place: Place
    epoch: int
    """Resets of the place so far."""
    task: str
    label: str
    """Accessible name of the element that causes it."""
    value: str
    method: str

    @property
    def key(self) -> str:
        """What was done, as the state says it."""
        return f"{self.label} {self.value}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    at: float
    place: Place


def told(counts: Mapping[str, int], *, hooked: bool) -> str:
    """What a task did, in one line; without a hook, a page's own late effects only when they came more than once."""
    shown = sorted(f"{key}={count}" for key, count in counts.items() if count > _hidden(key, hooked=hooked))
    return "; ".join(shown) or NOTHING


def _hidden(key: str, *, hooked: bool) -> int:
    """How often an effect may come without being told."""
    return int(not hooked and key.startswith(SOFT))


class SiteServer:
    """Serves a site at a port; it may refuse connections for a while."""

    def __init__(self, site: "Site") -> None:
        self.site = site
        self.port = 0
        self._serving: AbstractAsyncContextManager[int] | None = None

    async def __aenter__(self) -> "SiteServer":
        self._serving = serving(self.site, port=self.port)
        self.port = await self._serving.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._serving is not None
        await self._serving.__aexit__(None, None, None)

    async def refuse(self, seconds: float) -> None:
        """Finish the answers that are being given, and listen no more for so long."""
        await self.__aexit__()
        await asyncio.sleep(seconds)
        await self.__aenter__()


class Site:
    """The application, for all places."""

    def __init__(self, *, seed: int, longest_reset_s: float = 0.0) -> None:
        """`longest_reset_s`: a reset takes a seeded time up to this."""
        self.effects: list[Effect] = []
        self.resets: list[Reset] = []
        self.ports: dict[str, int] = {}
        """Task to the port its newest request came from: whose socket that is says which browser plays it."""
        self.arrived: Callable[[Effect], Awaitable[None]] | None = None
        """Told of each effect before it is answered."""
        self.met: Callable[[int], None] | None = None
        """Told of a port when a task's requests begin to come from it."""
        self.resetting: Callable[[Place], Awaitable[None]] | None = None
        """Told of each reset before it is answered."""
        self._seed = seed
        self._chance = random.Random(seed)
        self._longest_reset_s = longest_reset_s
        self._counts: dict[tuple[Place, str], Counter[str]] = {}
        self._baskets: dict[Place, set[str]] = {}
        self._epochs: Counter[Place] = Counter()
        self._opened: dict[str, tuple[str, float]] = {}
        """Task to its newest page, and when that was opened."""
        self._visits: Counter[tuple[Place, str]] = Counter()

    async def __call__(self, scope: object, receive: object, send: object) -> None:
        request = Request(scope, receive)  # type: ignore[arg-type]
        response = await self._answer(request)
        await response(scope, receive, send)  # type: ignore[arg-type]

    def is_awaited(self, task: str, page: str, label: str) -> bool:
        """Whether a task is on a page which has not sent an effect of this label since it was opened."""
        there, opened = self._opened.get(task, ("", 0.0))
        return there == page and not any(
            effect.task == task and effect.label == label and effect.at > opened for effect in self.effects
        )

    async def _answer(self, request: Request) -> Response:
        place = request.url.hostname or ""
        parts = request.url.path.strip("/").split("/")
        if parts == [""]:
            return HTMLResponse(render("hall", Visit(task="t0", number=0, seed=0)))
        if parts == ["__reset__"] and request.method == "POST":
            return await self._reset(place)
        if len(parts) != 2 or not _TASK.fullmatch(parts[0]):
            return Response("no such page", status_code=404)
        task, page = parts
        if request.client is not None and self.ports.get(task) != request.client.port:
            self.ports[task] = request.client.port
            if self.met is not None:
                self.met(request.client.port)
        if page == "do":
            return await self._do(request, place, task)
        if page == "state":
            return HTMLResponse(self._state(place, task, whole="whole" in request.query_params))
        return self._show(request, place, task, page)

    async def _do(self, request: Request, place: Place, task: str) -> Response:
        asked = request.query_params
        form = parse_qs((await request.body()).decode()) if request.method == "POST" else {}
        effect = Effect(
            at=time.time(),
            place=place,
            epoch=self._epochs[place],
            task=task,
            label=asked.get("label", ""),
            value=form.get("value", [asked.get("value", "")])[0],
            method=request.method,
        )
        self.effects.append(effect)
        self._counts.setdefault((place, task), Counter())[effect.key] += 1
        if self.arrived is not None:
            await self.arrived(effect)
        if "show" in asked:
            return self._show(request, place, task, asked["show"])
        if "file" in asked:
            disposition = f'attachment; filename="{task}.txt"'
            return Response("a file\n", media_type="text/plain", headers={"content-disposition": disposition})
        if "next" not in asked:
            return Response("done", media_type="text/plain")
        response = RedirectResponse(f"/{task}/{asked['next']}", status_code=303)
        if "basket" in asked:
            token = f"{task}-{len(self.effects)}"
            self._baskets.setdefault(place, set()).add(token)
            response.set_cookie("basket", token, httponly=True)
        return response

    async def _reset(self, place: Place) -> Response:
        """The state is the seed's at once: what a restore that was given up does later is nobody's business here."""
        self.resets.append(Reset(at=time.time(), place=place))
        self._epochs[place] += 1
        self._baskets.pop(place, None)
        for key in [key for key in self._counts if key[0] == place]:
            del self._counts[key]
        if self.resetting is not None:
            await self.resetting(place)
        if self._longest_reset_s:
            await asyncio.sleep(self._chance.uniform(0, self._longest_reset_s))  # the slowness that was asked for
        return Response("reset")

    def _state(self, place: Place, task: str, *, whole: bool) -> str:
        text = told(self._counts.get((place, task), {}), hooked=whole)
        if whole:
            others = sorted(
                f"{other} {key}" for (at, other), counts in self._counts.items() for key in counts
                if at == place and other != task
            )  # fmt: skip
            text = f"{text} | others: {', '.join(others) or NOTHING}"
        return f'<!doctype html><title>State</title><p id="state">{text}</p>'

    def _show(self, request: Request, place: Place, task: str, page: str) -> Response:
        self._visits[place, task] += 1
        self._opened[task] = page, time.time()
        visit = Visit(
            task=task,
            number=self._visits[place, task],
            seed=self._seed,
            has_basket=request.cookies.get("basket") in self._baskets.get(place, ()),
        )
        try:
            return HTMLResponse(render(page, visit), headers={"cache-control": "no-store"})
        except KeyError:
            return Response("no such page", status_code=404)
