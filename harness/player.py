"""One worker as a process of its own: `python -m harness.player`, started and spoken to by its supervisor.

It ends by itself, with its browser, as soon as its standard input ends: no supervisor, no worker. Where it can see the
run folder it writes there itself; where not, its supervisor does, and says when it is done.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from omegaconf import OmegaConf

from harness import __version__
from harness.compose.crew import Crew, crew
from harness.compose.game import Seat
from harness.compose.services import Services, check_reach
from harness.compose.settings import redacting
from harness.compose.size import lanes_of
from harness.compose.unforeseen import Unforeseen, leaves, without_secrets
from harness.config import Config, register
from harness.errors import ConfigError, HarnessError, JournalError, UsageError
from harness.journal.log import Durability
from harness.journal.redaction import RedactingFormatter, Redactor
from harness.journal.speaking import speak_through
from harness.journal.store import RunFolder, hold_of
from harness.llm.turns import RemoteTurns
from harness.protocols import News
from harness.reports.visible import VisibleFormatter
from harness.runner.executors.desk import FarStore, Store
from harness.runner.executors.wire import check_data, heard, job_of, line, news_values
from harness.runner.family import kill_children
from harness.runner.job import Job
from harness.runner.stopping import Stopping
from harness.runner.working_time import working_s

BEAT_S = 1.0
_speaking = Lock()


class Wire:
    """Speaks to the supervisor; fits `Jobs`, `Progress` and `Ask`."""

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._replies: dict[int, Future[dict[str, Any]]] = {}
        self._asked = 0
        self.turns = RemoteTurns(lambda message: say(line("turn", **message)), working_s)

    async def take(self, lane: int) -> Job | None:
        answer = self._answers[lane] = asyncio.get_running_loop().create_future()
        say(line("take", lane=lane))
        return job_of(await answer)

    async def settle(self, lane: int, job: Job, *, over: bool) -> None:
        say(line("settle", lane=lane, over=over, alone=job.alone))

    def tell(self, news: News) -> None:
        say(line("news", **news_values(news)))

    def __call__(self, kind: str, data: bytes | None = None, **values: Any) -> dict[str, Any]:
        check_data(kind, data)
        with _speaking:
            self._asked += 1
            number = self._asked
        reply = self._replies[number] = Future()
        say(line(kind, data, id=number, **values))
        return reply.result()

    def listen(self, said: Iterator[dict[str, Any]], loop: asyncio.AbstractEventLoop) -> None:
        """Hear the supervisor until it is gone; then nothing of this process may stay, whatever its loop is doing."""
        with suppress(RuntimeError):  # of a loop that has closed: the process is about to end by itself
            for message in said:
                match message["kind"]:
                    case "job":
                        loop.call_soon_threadsafe(self._answers.pop(message["lane"]).set_result, message)
                    case "turn":
                        loop.call_soon_threadsafe(self.turns.hear, message)
                    case "stop":
                        loop.call_soon_threadsafe(self._stopping.ask)
                    case "reply":
                        self._replies.pop(message["id"]).set_result(message)
            kill_children()
            os._exit(0)


def say(data: bytes) -> None:
    """One message, at once; a supervisor that is gone is noticed by `Wire.listen`."""
    with _speaking, suppress(BrokenPipeError):
        while data:
            data = data[os.write(1, data) :]


async def play(said: Iterator[dict[str, Any]], fault: Unforeseen) -> None:
    """Do what the supervisor says first."""
    if (told := next(said, None)) is None:
        return
    if told["harness"] != __version__:
        raise ConfigError(
            f"{socket.gethostname()} has harness {__version__}, the run was started with {told['harness']}: install the same there"
        )
    config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Config), told["config"]))
    assert isinstance(config, Config)
    redactor = redacting(config, told["secrets"])
    fault.redact = redactor.said
    _log(redactor)
    stopping = Stopping()
    wire = Wire(stopping)
    Thread(target=wire.listen, args=(said, asyncio.get_running_loop()), daemon=True).start()
    where = Services(sites_port=told["sites_port"], base_url=told["base_url"])
    check_reach(where)
    run = _store(config, told, wire, redactor)
    seat = Seat(config=config, run=run, config_digest=told["config_digest"], stopping=stopping, turns=wire.turns)
    async with crew(seat, where, wire, range(told["number"], told["number"] + 1)) as players:
        async with asyncio.TaskGroup() as group:
            beating = group.create_task(_beat(players))
            await _play_lanes(players, config, told["number"], wire)
            beating.cancel()
    _count(players)
    say(line("done"))


def _store(config: Config, told: dict[str, Any], wire: Wire, redactor: Redactor) -> Store:
    """The run folder, from here if it is here."""
    folder = Path(told["folder"])
    near = config.executor.shared_fs
    if near is None:
        near = bool(told["hold"]) and hold_of(folder) == told["hold"]
    logging.getLogger(__name__).info("records go %s", f"into {folder}" if near else "through the supervisor")
    if not near:
        return FarStore(wire)
    return RunFolder.open(folder, durability=Durability(config.journal.durability.value), redactor=redactor, held=False)


async def _play_lanes(players: Crew, config: Config, number: int, wire: Wire) -> None:
    async with asyncio.TaskGroup() as lanes:
        for lane in range(number * lanes_of(config), (number + 1) * lanes_of(config)):
            lanes.create_task(players.workers[0].run_lane(lane, wire))


async def _beat(players: Crew) -> None:
    while True:
        _count(players)
        await asyncio.sleep(BEAT_S)


def _count(players: Crew) -> None:
    say(line("counts", requests=players.requests.made, starts=sum(browser.starts for browser in players.browsers)))


def _log(redactor: Redactor) -> None:
    """To stderr, which the supervisor keeps; a traceback of the interpreter's own goes there, too."""
    speak_through(redactor)
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s")
    handler.setFormatter(VisibleFormatter(RedactingFormatter(plain, redactor)))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for chatty in ("httpx2", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def main() -> int:
    register()
    said = heard(open(0, "rb", closefd=False))  # a file of its own: `sys.stdin` is closed at exit
    with Unforeseen("worker", redact=lambda text: without_secrets(text, ()), keeps=False) as fault:
        return _main(said, fault)
    return fault.code


def _main(said: Iterator[dict[str, Any]], fault: Unforeseen) -> int:
    try:
        asyncio.run(play(said, fault))
    except* HarnessError as group:
        error = leaves(group)[0]
        if not isinstance(error, UsageError | JournalError):
            raise
        say(line("refused", sentence=str(error), journal=isinstance(error, JournalError)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
