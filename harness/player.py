"""One worker as a process of its own: `python -m harness.player`, started and spoken to by its supervisor.

It ends by itself, with its browser, as soon as its standard input ends: no supervisor, no worker.
"""

import asyncio
import logging
import os
import sys
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from harness.codec import loads
from harness.compose.crew import Crew, crew
from harness.compose.deployment import load_tasks
from harness.compose.game import Game
from harness.compose.services import Services
from harness.compose.settings import secrets
from harness.config import Config, register
from harness.errors import HarnessError, JournalError, UsageError
from harness.journal.log import Durability
from harness.journal.redaction import RedactingFormatter, Redactor, secrets_in
from harness.journal.store import RunFolder
from harness.protocols import News
from harness.records import Task
from harness.runner.episode import Job
from harness.runner.executors.wire import LINE_LIMIT, line, messages, news_values
from harness.runner.family import kill_children
from harness.runner.stopping import Stopping

BEAT_S = 1.0


class Wire:
    """Speaks to the supervisor; fits `Jobs` and `Progress`."""

    def __init__(self, reader: asyncio.StreamReader, stopping: Stopping, tasks: dict[str, Task]) -> None:
        self._reader = reader
        self._stopping = stopping
        self._tasks = tasks
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}

    async def take(self, lane: int) -> Job | None:
        answer = self._answers[lane] = asyncio.get_running_loop().create_future()
        say(line("take", lane=lane))
        message = await answer
        if message["task_id"] is None:
            return None
        return Job(task=self._tasks[message["task_id"]], trial=message["trial"], reopen=message["reopen"])

    async def settle(self, lane: int, job: Job, *, over: bool) -> None:
        say(line("settle", lane=lane, over=over))

    def tell(self, news: News) -> None:
        say(line("news", **news_values(news)))

    async def listen(self) -> None:
        """Hear the supervisor until it is gone; then nothing of this process may stay."""
        async for message in messages(self._reader):
            match message["kind"]:
                case "job":
                    self._answers.pop(message["lane"]).set_result(message)
                case "stop":
                    self._stopping.ask()
        kill_children()
        os._exit(0)


def say(data: bytes) -> None:
    """One line, at once; a supervisor that is gone is noticed by `Wire.listen`."""
    try:
        os.write(1, data)
    except BrokenPipeError:
        return


async def play() -> None:
    """Do what the supervisor's first line says."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LINE_LIMIT)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    told = loads(await reader.readline())
    config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Config), told["config"]))
    assert isinstance(config, Config)
    folder = Path(told["folder"])
    redactor = Redactor({**secrets_in(os.environ), **secrets(config)})
    _log_to(folder / "worker.log", redactor)
    stopping = Stopping()
    tasks = load_tasks(config)
    run = RunFolder.open(folder, durability=Durability(config.journal.durability.value), redactor=redactor, held=False)
    game = Game(config=config, run=run, tasks=tasks, config_digest=told["config_digest"], stopping=stopping)
    wire = Wire(reader, stopping, {task.task_id: task for task in tasks})
    where = Services(sites_port=told["sites_port"], base_url=told["base_url"])
    async with asyncio.TaskGroup() as group:
        listening = group.create_task(wire.listen())
        async with crew(game, where, wire, range(told["number"], told["number"] + 1)) as players:
            beating = group.create_task(_beat(players))
            await _play_lanes(players, config, told["number"], wire)
            beating.cancel()
        _count(players)
        listening.cancel()


async def _play_lanes(players: Crew, config: Config, number: int, wire: Wire) -> None:
    async with asyncio.TaskGroup() as lanes:
        for lane in range(number * config.executor.lanes, (number + 1) * config.executor.lanes):
            lanes.create_task(players.workers[0].run_lane(lane, wire))


async def _beat(players: Crew) -> None:
    while True:
        _count(players)
        await asyncio.sleep(BEAT_S)


def _count(players: Crew) -> None:
    say(line("counts", requests=players.requests.made, starts=sum(browser.starts for browser in players.browsers)))


def _log_to(path: Path, redactor: Redactor) -> None:
    handler = logging.FileHandler(path, delay=True)
    handler.setFormatter(
        RedactingFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"), redactor)
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for chatty in ("httpx2", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def main() -> int:
    register()
    try:
        asyncio.run(play())
    except* HarnessError as group:
        error = _first(group)
        if not isinstance(error, UsageError | JournalError):
            raise
        say(line("refused", sentence=str(error), journal=isinstance(error, JournalError)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
