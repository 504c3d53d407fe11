"""One worker as a process of its own: `python -m harness.evaluation.worker_main`, started and spoken to by its
supervisor.

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
from harness.config import Config, ConfigSchema, register
from harness.config.config_tree import build_redactor
from harness.errors import ConfigError, HarnessError, JournalError, UsageError
from harness.evaluation.embedded import EmbeddedServers, check_reach
from harness.evaluation.run_context import WorkerContext
from harness.evaluation.worker_pool import WorkerPool, build_workers
from harness.internal_error import InternalErrorGuard, flatten_group, without_secrets
from harness.journal.redacting_stream import redact_output
from harness.journal.redaction import RedactingFormatter, Redactor
from harness.journal.store import RunFolder, lock_token
from harness.llm.permits import RemoteRateLimiter
from harness.protocols import ProgressEvent
from harness.reports.escape import VisibleFormatter
from harness.runner.executors.ipc import check_data, encode_message, job_of, news_values, read_messages_async
from harness.runner.executors.remote_store import RemoteStore, Store
from harness.runner.job import Job
from harness.runner.process_tree import kill_children
from harness.runner.shutdown import ShutdownSignal
from harness.runner.working_time import working_s

BEAT_S = 1.0
_speaking = Lock()


class Wire:
    """Speaks to the supervisor; fits `JobSource`, `Progress` and `RpcClient`."""

    def __init__(self, stopping: ShutdownSignal) -> None:
        self._stopping = stopping
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._replies: dict[int, Future[dict[str, Any]]] = {}
        self._asked = 0
        self.turns = RemoteRateLimiter(lambda message: say(encode_message("turn", **message)), working_s)

    async def take(self, lane: int) -> Job | None:
        answer = self._answers[lane] = asyncio.get_running_loop().create_future()
        say(encode_message("take", lane=lane))
        return job_of(await answer)

    async def settle(self, lane: int, job: Job, *, over: bool) -> None:
        say(encode_message("settle", lane=lane, over=over, alone=job.alone))

    def tell(self, news: ProgressEvent) -> None:
        say(encode_message("news", **news_values(news)))

    def __call__(self, kind: str, data: bytes | None = None, **values: Any) -> dict[str, Any]:
        check_data(kind, data)
        with _speaking:
            self._asked += 1
            number = self._asked
        reply = self._replies[number] = Future()
        say(encode_message(kind, data, id=number, **values))
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


async def play(said: Iterator[dict[str, Any]], fault: InternalErrorGuard) -> None:
    """Do what the supervisor says first."""
    if (told := next(said, None)) is None:
        return
    if told["harness"] != __version__:
        raise ConfigError(
            f"{socket.gethostname()} has harness {__version__}, the run was started with {told['harness']}: install the"
            " same there"
        )
    composed = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(ConfigSchema), told["config"]))
    assert isinstance(composed, ConfigSchema)
    config = Config.of(composed)
    redactor = build_redactor(config.tree(), told["secrets"])
    fault.redact = redactor.said
    _log(redactor)
    stopping = ShutdownSignal()
    wire = Wire(stopping)
    Thread(target=wire.listen, args=(said, asyncio.get_running_loop()), daemon=True).start()
    where = EmbeddedServers(sites_port=told["sites_port"], base_url=told["base_url"])
    check_reach(where)
    store: Store = RemoteStore(wire)
    if _is_near(config.executor.shared_fs, Path(told["folder"]), told["hold"]):
        store = RunFolder.open(
            Path(told["folder"]), durability=config.journal.durability, redactor=redactor, held=False
        )
    context = WorkerContext(
        config=config, run=store, config_digest=told["config_digest"], stopping=stopping, turns=wire.turns
    )
    number, lanes = told["number"], told["lanes"]
    async with build_workers(context, where, wire, range(number, number + 1), lanes=lanes) as players:
        async with asyncio.TaskGroup() as group:
            beating = group.create_task(_beat(players))
            async with asyncio.TaskGroup() as playing:
                for lane in range(number * lanes, (number + 1) * lanes):
                    playing.create_task(players.workers[0].run_lane(lane, wire))
            beating.cancel()
    _count(players)
    say(encode_message("done"))


def _is_near(shared_fs: bool | None, folder: Path, hold: str | None) -> bool:
    """Whether the run folder can be written to from here."""
    near = bool(hold) and lock_token(folder) == hold if shared_fs is None else shared_fs
    logging.getLogger(__name__).info("records go %s", f"into {folder}" if near else "through the supervisor")
    return near


async def _beat(players: WorkerPool) -> None:
    while True:
        _count(players)
        await asyncio.sleep(BEAT_S)


def _count(players: WorkerPool) -> None:
    say(
        encode_message(
            "counts", requests=players.requests.made, starts=sum(browser.starts for browser in players.browsers)
        )
    )


def _log(redactor: Redactor) -> None:
    """To stderr, which the supervisor keeps; a traceback of the interpreter's own goes there, too."""
    redact_output(redactor)
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s")
    handler.setFormatter(VisibleFormatter(RedactingFormatter(plain, redactor)))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for chatty in ("httpx2", "httpx"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def main() -> int:
    register()
    said = read_messages_async(open(0, "rb", closefd=False))  # a file of its own: `sys.stdin` is closed at exit
    with InternalErrorGuard("worker", redact=lambda text: without_secrets(text, ()), keeps=False) as fault:
        return _main(said, fault)
    return fault.code


def _main(said: Iterator[dict[str, Any]], fault: InternalErrorGuard) -> int:
    try:
        asyncio.run(play(said, fault))
    except* HarnessError as group:
        error = flatten_group(group)[0]
        if not isinstance(error, UsageError | JournalError):
            raise
        say(encode_message("refused", sentence=str(error), journal=isinstance(error, JournalError)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
