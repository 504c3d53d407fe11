"""The pictures and files that tasks need, fetched once, before anything is played, and stored by their hash.

They come from the sites of the run, from hosts that the settings name (`task.hosts`), and from the disk; each is
bounded. A task one of whose files cannot be had is not played: its journal says why, and it stays unscored. An episode
that was begun goes on with what its journal names.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from harness.api import Benchmark
from harness.browser.network import http
from harness.browser.network.addresses import Addresses, host_of
from harness.config.deployment import Deployment
from harness.episode.job import Job
from harness.errors import ConfigError, HarnessError, SiteUnavailable, TaskError, UnsafeFile, plugin_boundary, said_by
from harness.evaluation.builder import build_benchmark
from harness.evaluation.embedded import EmbeddedServers
from harness.evaluation.run_context import RunContext
from harness.files import safe_files
from harness.journal.log import read
from harness.pictures.task_picture import sendable
from harness.records import Site, Task
from harness.runner.scheduler import Scheduler

_AT_ONCE = 8
_TIMEOUT_S = 30.0
_SHOWN = 3


class FileMissing(Exception):
    """A task cannot be played, because a file of it cannot be had or its benchmark refuses it; one sentence."""


async def provide_files(context: RunContext, where: EmbeddedServers, schedule: Scheduler) -> None:
    """Give each pending job the files of its task; a job whose files cannot be had is refused with a message."""
    config = context.config
    sites = Deployment(config.sites, where.sites_port).sites(0)
    fetcher = Fetcher(sites, config.task.hosts)
    images = _Stored(fetcher, lambda data: context.run.artifacts.put(sendable(data, config.agent.image.max_pixels)))
    files = _Stored(fetcher, context.run.artifacts.put)
    benchmark = build_benchmark(config.task)
    refused: list[Job] = []

    async def equipped(job: Job) -> Job:
        try:
            wanted = _files_of(benchmark, job.task)
            if not job.task.images and not wanted:
                return job
            if (begun := _recorded(context, job)) is not None and begun.files.keys() >= set(wanted):
                return begun
            return replace(
                job,
                images=tuple([await images(one) for one in job.task.images]),
                files={one: await files(one) for one in wanted},
            )
        except FileMissing as error:
            refused.append(replace(job, refused=said_by(error)))
            return refused[-1]

    # Before anything is played: fetched later, a task could be scored whose picture its model never saw.
    await schedule.equip(equipped)
    for job in refused[:_SHOWN]:
        context.say(f"task {job.task.task_id} is refused: {job.refused}")
    if len(refused) > _SHOWN:
        context.say(f"{len(refused) - _SHOWN} more tasks are refused for such a reason; their journals name it")


class Fetcher:
    """Reads what tasks refer to."""

    def __init__(self, sites: tuple[Site, ...], hosts: Iterable[str]) -> None:
        """`sites`: as they are reached; `hosts`: further ones that may be asked."""
        self._addresses = Addresses(sites)
        further = {host.lower().removesuffix(":80").removesuffix(":443") for host in hosts}
        self._hosts = {host_of(site.url) for site in sites} | further
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def read(self, place: str) -> bytes:
        """The bytes at a canonical address or in a file.

        Raises:
            FileMissing: They cannot be had.
        """
        async with self._turns:
            return await (self._fetched(place) if "://" in place else asyncio.to_thread(_from_disk, place))

    async def _fetched(self, url: str) -> bytes:
        if not self._may_ask(real := self._addresses.to_real(url)):
            raise FileMissing(
                f"{http.shown(url)} is neither on a site of the run nor on a host of task.hosts; add "
                f"{urlsplit(url).hostname} to task.hosts, or leave the task out"
            )
        try:
            answer = await http.fetch(real, timeout_s=_TIMEOUT_S, allowed=self._may_ask)
        except SiteUnavailable as error:
            raise FileMissing(f"{http.shown(url)} cannot be fetched ({error})") from error
        if answer.status != 200:
            raise FileMissing(f"{http.shown(url)} cannot be fetched (its server answered {answer.status})")
        # `fetch` reads no further, so a body of this length may be a part.
        if len(answer.body) >= http.LARGEST:
            raise FileMissing(f"{http.shown(url)} has {http.LARGEST} bytes or more")
        return answer.body

    def _may_ask(self, url: str) -> bool:
        try:
            return urlsplit(url).scheme in ("http", "https") and host_of(url) in self._hosts
        except ValueError:
            return False


class _Stored:
    """Place to artifact hash; each place is read once, and again only if that failed."""

    def __init__(self, fetcher: Fetcher, put: Callable[[bytes], str]) -> None:
        self._fetcher = fetcher
        self._put = put
        self._found: dict[str, asyncio.Task[str]] = {}

    async def __call__(self, place: str) -> str:
        if place not in self._found:
            # The task and not its result, as jobs that want the same file are equipped at the same time.
            storing = self._found[place] = asyncio.create_task(self._store(place))
            storing.add_done_callback(partial(self._ended, place))
        return await self._found[place]

    def _ended(self, place: str, storing: "asyncio.Task[str]") -> None:
        """A site that did not answer may do so when an episode is played later."""
        if storing.cancelled() or storing.exception() is not None:
            del self._found[place]

    async def _store(self, place: str) -> str:
        data = await self._fetcher.read(place)
        try:
            return await asyncio.to_thread(self._put, data)
        except ValueError as error:
            raise FileMissing(f"{http.shown(place)} {error}") from error


def _from_disk(path: str) -> bytes:
    try:
        return safe_files.read_named(Path(path), most=http.LARGEST)
    except UnsafeFile as error:
        raise FileMissing(f"{path} cannot be read ({error.why})") from error
    except OSError as error:
        raise FileMissing(f"{path} cannot be read ({error.strerror})") from error


def _files_of(benchmark: Benchmark | None, task: Task) -> tuple[str, ...]:
    """Raises: FileMissing: The benchmark refuses the task. ConfigError: It does not say."""
    if benchmark is None:
        return ()

    def failed(error: BaseException) -> ConfigError:
        return ConfigError(
            f"{type(benchmark).__name__}.files raised {type(error).__name__} for task {task.task_id}: {said_by(error)}"
        )

    try:
        with plugin_boundary(failed, passes=(HarnessError,)):
            return tuple(map(str, benchmark.files(task)))
    except TaskError as error:
        raise FileMissing(said_by(error)) from error


def _recorded(context: RunContext, job: Job) -> Job | None:
    """The job with what its journal names; None when it names nothing, or not all pictures."""
    path = context.run.journal_path(job.task.task_id, job.trial)
    opened = read(path).opened if path.exists() else None
    if opened is None or len(opened.images) != len(job.task.images):
        return None
    return replace(job, images=opened.images, files=opened.files)
