"""Two tasks that change the same record are never on one instance at once: 200 random schedules, told by the sites' own
logs.

Lanes play by the real schedule, against the embedded sites over HTTP, but for the browser: a task that changes a site
reads a record of it, adds one, and writes it back, several times over. Lanes are lost on the way, jobs come back. Then
the log of writes of every instance must be one task's after the other's, each number following the one before.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import groupby
from random import Random

import httpx
import pytest

from harness.episode.job import Job
from harness.loopback_server import serving
from harness.plugins.demo.registry import SITES
from harness.plugins.demo.tenants import SitesApp
from harness.runner.scheduler import Scheduler
from tests.plugins.demo.conftest import sign_in
from tests.runner.sites import Journals, a_job

pytestmark = pytest.mark.integration

INSTANCES = {
    "shop": tuple(f"http://t{number}.shop.localhost" for number in range(3)),
    "forum": tuple(f"http://t{number}.forum.localhost" for number in range(2)),
}
TIMES = 2


@dataclass(frozen=True)
class Record:
    """A line of text on a site that its owner may change."""

    path: str
    field: str
    pattern: str
    others: Mapping[str, str]
    """What else its form wants."""


RECORDS = {
    "shop": Record(
        "/account", "phone", r'name="phone"[^>]* value="([^"]*)"', {"street": "x", "city": "x", "postcode": "1"}
    ),
    "forum": Record("/settings", "bio", r"<textarea[^>]*>([^<]*)</textarea>", {}),
}


class Visitor:
    """Somebody signed in on one instance."""

    def __init__(self, client: httpx.AsyncClient, site: str) -> None:
        self._client = client
        self._record = RECORDS[site]

    async def read(self) -> tuple[int, str]:
        """The number in the record, and the token of its form."""
        page = (await self._client.get(self._record.path)).text
        value, token = re.search(self._record.pattern, page), re.search(r'name="csrf" value="([^"]+)"', page)
        assert value and token
        number = value[1].split()[0] if value[1].split() else ""
        return int(number) if number.isdigit() else 0, token[1]

    async def add_one(self, who: str) -> None:
        number, token = await self.read()
        values = {"csrf": token, self._record.field: f"{number + 1} {who}", **self._record.others}
        answer = await self._client.post(self._record.path, data=values)
        assert answer.status_code == 303

    async def written(self) -> list[tuple[int, str]]:
        """Number and writer of every write so far, in the order the site saw them."""
        log = (await self._client.get("/__writes__")).json()
        texts = [entry["form"][self._record.field][0] for entry in log if entry["path"] == self._record.path]
        return [(int(number), who) for number, who in map(str.split, texts)]


@pytest.fixture
async def visitors() -> AsyncIterator[dict[str, Visitor]]:
    """By address of the instance."""
    async with serving(SitesApp(SITES)) as port, AsyncExitStack() as closing:
        found = {}
        for site, urls in INSTANCES.items():
            for url in urls:
                headers = {"host": f"{url.removeprefix('http://')}:{port}"}
                client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers)
                await closing.enter_async_context(client)
                await sign_in(client)
                found[url] = Visitor(client, site)
        yield found


class Trial:
    """One random schedule, played to its end."""

    def __init__(self, seed: int, visitors: Mapping[str, Visitor], *, minded: bool = True) -> None:
        self._random = Random(seed)
        self._visitors = visitors
        self.instances = {site: urls[: self._random.randint(1, len(urls))] for site, urls in INSTANCES.items()}
        jobs = [self._job(f"{seed}.{number}") for number in range(self._random.randint(3, 7))]
        journals = Journals()
        self.schedule = Scheduler(jobs, journals.sharing(self.instances, lenient=not minded))
        self.changing = sum(job.task.mutates is not False for job in jobs)
        self.read_twice: list[tuple[int, int]] = []

    def _job(self, task_id: str) -> Job:
        sites = self._random.choice((("shop",), ("shop",), ("forum",), ("shop", "forum")))
        mutates = self._random.choice((True, True, None, False, sites[:1]))
        return a_job(task_id, *sites, mutates=mutates)

    async def play(self) -> None:
        async with asyncio.timeout(60), asyncio.TaskGroup() as lanes:
            for lane in range(self._random.randint(2, 5)):
                lanes.create_task(self._lane(lane))

    async def _lane(self, lane: int) -> None:
        while (job := await self.schedule.take(lane)) is not None:
            fate = self._random.random()
            if fate < 0.1:
                self.schedule.reclaim(lane)
                continue
            await self._do(job)
            await self.schedule.settle(lane, job, over=fate >= 0.2)

    async def _do(self, job: Job) -> None:
        mutates = job.task.mutates
        for _ in range(TIMES):
            for site in job.task.sites:
                visitor = self._visitors[job.instances.get(site, self.instances[site][0])]
                if mutates is None or mutates is True or (mutates is not False and site in mutates):
                    await visitor.add_one(job.task.task_id)
                else:
                    self.read_twice.append(((await visitor.read())[0], (await visitor.read())[0]))


async def overlaps(visitors: Mapping[str, Visitor], since: Mapping[str, int]) -> list[str]:
    """What the logs of writes say against the schedule: numbers written twice, and tasks that came in between
    others.
    """
    found = []
    for url, visitor in visitors.items():
        written = (await visitor.written())[since[url] :]
        numbers = [number for number, _ in written]
        if numbers and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            found.append(f"{url}: {numbers}")
        for who, block in groupby(who for _, who in written):
            if len(list(block)) % TIMES:
                found.append(f"{url}: {who} was not alone")
    return found


async def lengths(visitors: Mapping[str, Visitor]) -> dict[str, int]:
    return {url: len(await visitor.written()) for url, visitor in visitors.items()}


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 25) for start in range(0, 200, 25)], ids=str)
async def test_no_two_tasks_change_one_record_at_once(seeds: range, visitors: dict[str, Visitor]) -> None:
    for seed in seeds:
        before = await lengths(visitors)
        trial = Trial(seed, visitors)
        await trial.play()
        assert await overlaps(visitors, before) == [], seed
        assert all(first == second for first, second in trial.read_twice), seed
        grown = sum((await lengths(visitors)).values()) - sum(before.values())
        assert grown >= trial.changing * TIMES


@pytest.mark.slow
async def test_without_locks_the_logs_tell(visitors: dict[str, Visitor]) -> None:
    """What is looked for above is found where nobody minds, so that finding nothing means something."""
    told = 0
    for seed in range(20):
        before = await lengths(visitors)
        await Trial(seed, visitors, minded=False).play()
        told += bool(await overlaps(visitors, before))
    assert told >= 10
