"""The server's routes over real sockets, before lanes that play nothing: a test says when they ask, and when they end."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from harness.actions import ActionSet, CairnActionSet
from harness.api import EpisodeNews
from harness.api.http_server import Clients, WebSockets, serving
from harness.plugins.environments.app import MAX_BODY, EnvironmentServer, Shape
from harness.plugins.environments.hub import Waiting
from harness.plugins.environments.ledger import Ledger
from harness.plugins.environments.server import address_of, listen
from harness.plugins.environments.sessions import Environments
from harness.plugins.environments.slots import Patience
from harness.plugins.environments.wire import Page, Question
from harness.records import Task
from harness.settings.observation import ObservationSettings
from tests.plugins.environments.conftest import Client
from tests.reports.runs import task

Place = tuple[str, int]


@dataclass(eq=False)
class Lanes:
    """A `HostedRun` of which each episode that is asked for waits in a lane, or in the queue while `held`."""

    folder: Path
    ids: Sequence[str] = ("0", "1")
    pictured: bool = False
    """Whether tasks have a picture in their objective."""
    held: bool = False
    attempt: int = 1
    """Of the episodes."""
    refusal: Exception | None = None
    """What the next episode that is asked for is refused with."""
    in_the_way: str = ""
    """Who has the sites of the episodes in the queue."""
    served: Environments = field(init=False)
    queued: list[Place] = field(default_factory=list)
    orders: list[dict[str, Any]] = field(default_factory=list)
    """What was said to lanes, in order: orders, and that they are to leave."""
    action_set: ActionSet = field(default_factory=CairnActionSet)
    observation: ObservationSettings = ObservationSettings()  # noqa: RUF009 (immutable)

    @property
    def tasks(self) -> Mapping[str, Task]:
        images = ("http://shop.test/mug.png",) if self.pictured else ()
        return {one: replace(task(one), images=images) for one in self.ids}

    async def play(self, task_id: str, trial: int, seed: int | None) -> None:
        place = (self.tasks[task_id].task_id, trial)
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            raise refusal
        if self.held:
            self.queued.append(place)
        else:
            await self.ask(place, steps=0)

    async def ask(self, place: Place, *, steps: int) -> None:
        """A lane asks for the next step of an episode, goes on asking, and leaves when it is told so."""
        page = Page(text=f"page {steps}", url="http://shop.test/", title="", tabs=(), notices=())
        question = Question(
            task_id=place[0],
            trial=place[1],
            attempt=self.attempt,
            goal="",
            steps=steps,
            page=page,
            image=None,
            reward=None,
            refused="",
            doubts=(),
        )
        waiting = Waiting(question=question)
        self.served.asked(waiting)
        told = json.loads(await waiting.answered())
        self.orders.append(told)
        if "leave" in told:
            self.served.told(EpisodeNews(task_id=place[0], trial=place[1], is_over=True))
        elif not self.held:
            await self.ask(place, steps=steps + 1)

    def withdraw(self, task_id: str, trial: int) -> bool:
        if (task_id, trial) not in self.queued:
            return False
        self.queued.remove((task_id, trial))
        return True

    def held_up(self, task_id: str, trial: int) -> str:
        return self.in_the_way if (task_id, trial) in self.queued else ""

    async def fork(self, task_id: str, trial: int, step: int, trials: Sequence[int]) -> None:
        """Nothing is played, so there are no journals to write."""

    def stopping(self) -> bool:
        return False

    async def stopped(self) -> None:
        raise AssertionError("nobody waits for the end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A server in this process."""

    url: str
    lanes: Lanes
    served: Environments

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        """A connected client."""
        async with connect(f"{self.url.replace('http', 'ws')}/ws", max_size=100 << 20) as socket:
            yield Client(socket)


@asynccontextmanager
async def stand(
    folder: Path,
    *,
    slots: int = 1,
    patience: Patience | None = None,
    host: str = "127.0.0.1",
    ping_every_s: float = 60,
) -> AsyncIterator[Stand]:
    """Serve two tasks."""
    folder.mkdir(exist_ok=True)  # noqa: ASYNC240
    lanes = Lanes(folder)
    with Ledger(folder) as ledger:
        served = Environments(lanes, ledger, slots=slots, patience=patience or Patience(queue_s=60, grace_s=0))
        lanes.served = served
        app = EnvironmentServer(served, Shape(version="0", typed=False, browsergym=False)).app(None, host=host)
        sockets = WebSockets(max_bytes=MAX_BODY, ping_every_s=ping_every_s)
        async with serving(app, listener=listen(host, 0), clients=Clients(most=64), sockets=sockets) as port:
            yield Stand(url=address_of(host, port), lanes=lanes, served=served)
