"""One worker as a process: `python -m harness.evaluation.worker_main`, started and controlled by its supervisor.

It exits with its browser as soon as its standard input ends, so no worker outlives its supervisor. If it can reach the
run folder, it writes there; otherwise its supervisor writes for it and confirms each write.
"""

from harness.collector import collect_rarely

if __name__ == "__main__":
    collect_rarely()  # what is imported below is most of what there will be

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Lock, Thread

from harness import __version__
from harness.browser.driver.driver_start import begin_driver, end_driver
from harness.codec import CodecError
from harness.config import Config
from harness.config.config_tree import build_redactor
from harness.episode.job import Job
from harness.errors import ConfigError, HarnessError, JournalError, UsageError, error_line
from harness.escape import VisibleFormatter
from harness.evaluation.embedded import EmbeddedServers, check_reach
from harness.evaluation.run_context import WorkerContext
from harness.evaluation.worker_pool import MODEL_CLIENT, WorkerPool, build_workers
from harness.internal_error import InternalErrorGuard, flatten_group, without_secrets
from harness.journal.index import EpisodeResult
from harness.journal.store import RunFolder, lock_token
from harness.llm.permits import OutageNoted, PermitGranted, RejectionNoted, RemoteRateLimiter
from harness.protocols import ProgressEvent
from harness.runner.executors.ipc import MOST_SAID, check_data, encode_message, read_messages_blocking
from harness.runner.executors.prestart import FLAG, be_introduced
from harness.runner.executors.remote_host import RemoteHost
from harness.runner.executors.remote_store import RemoteStore, Store, StoreReceived
from harness.runner.executors.worker_messages import (
    ErrorInfo,
    GiveJob,
    Heartbeat,
    Hello,
    HostAnswer,
    Progressed,
    Received,
    SettleJob,
    StopWorker,
    StoreReply,
    StoreRequest,
    TakeJob,
    WorkerDone,
    WorkerFailed,
    WorkerSetup,
)
from harness.runner.process_tree import kill_children
from harness.runner.shutdown import ShutdownSignal, stop_signals
from harness.secrets.redacting_stream import redact_output
from harness.secrets.redaction import RedactingFormatter, Redactor
from harness.working_time import run_in_working_time, working_s

logger = logging.getLogger(__name__)

BEAT_S = 1.0
_speaking = Lock()
_to_supervisor = 1
"""Where messages go, see `_keep_pipes`."""


class Wire:
    """The connection to the supervisor; implements `JobSource`, `Progress` and `RpcClient`."""

    def __init__(self, stopping: ShutdownSignal) -> None:
        self._stopping = stopping
        self._jobs: dict[int, asyncio.Future[Job | None]] = {}
        self._replies: dict[int, Future[StoreReceived]] = {}
        self._asked = 0
        self.host = RemoteHost(say)
        self.rate_limiter = RemoteRateLimiter(lambda call: say(encode_message(call)), working_s)

    async def take(self, lane: int) -> Job | None:
        answer: asyncio.Future[Job | None] = asyncio.get_running_loop().create_future()
        self._jobs[lane] = answer
        say(encode_message(TakeJob(lane=lane)))
        return await answer

    async def settle(
        self, lane: int, job: Job, *, over: bool, site_down: bool = False, outcome: EpisodeResult | None = None
    ) -> None:
        settled = SettleJob(lane=lane, over=over, alone=job.alone, site_down=site_down, outcome=outcome)
        said = encode_message(settled)
        # Addresses that a page has sent to may be many and long; the supervisor reads the journal instead.
        say(said if len(said) <= MOST_SAID else encode_message(replace(settled, outcome=None)))

    def tell(self, event: ProgressEvent) -> None:
        say(encode_message(Progressed(event=event)))

    def __call__(self, request: Callable[[int], StoreRequest], data: bytes | None = None) -> StoreReceived:
        with _speaking:
            self._asked += 1
            number = self._asked
        check_data(message := request(number), data)
        reply = self._replies[number] = Future()
        say(encode_message(message, data))
        return reply.result()

    def listen(self, said: Iterator[Received], loop: asyncio.AbstractEventLoop) -> None:
        """Receive messages until the supervisor is gone; then end this process, whatever its event loop is doing."""
        code = 0
        try:
            for message, data in said:
                match message:
                    case GiveJob(lane=lane, job=job):
                        loop.call_soon_threadsafe(self._jobs.pop(lane).set_result, job)
                    case PermitGranted() | OutageNoted() | RejectionNoted():
                        loop.call_soon_threadsafe(self.rate_limiter.hear, message)
                    case HostAnswer():
                        loop.call_soon_threadsafe(self.host.hear, message, data)
                    case StopWorker():
                        loop.call_soon_threadsafe(self._stopping.ask)
                    case StoreReply(id=number):
                        self._replies.pop(number).set_result(StoreReceived(message, data))
        except RuntimeError:  # of a loop that has closed: the process is about to end
            return
        except (CodecError, LookupError, OSError) as error:
            # A worker that hears nothing any more would keep its lanes waiting for ever.
            logger.error("this worker ends, as it does not understand its supervisor: %s", error_line(error))
            code = 1
        # At once: an orderly end would wait for the event loop, which may be what hangs.
        kill_children()
        os._exit(code)


def say(data: bytes) -> None:
    """Send one message; `Wire.listen` notices a lost supervisor."""
    with _speaking, suppress(BrokenPipeError):
        while data:  # a pipe may take a part of it
            data = data[os.write(_to_supervisor, data) :]


async def play(said: Iterator[Received], fault: InternalErrorGuard) -> None:
    """Run the worker as the first message of the supervisor says."""
    if FLAG in sys.argv:  # else it is about to be told
        begin_driver()
    if (setup := await asyncio.to_thread(_setup, said)) is None:
        await end_driver()
        return
    config = Config.of_tree(setup.config)
    redactor = build_redactor(config.tree(), setup.secrets, setup.readable)
    fault.redact = redactor.said
    _log(redactor)
    stopping = ShutdownSignal()
    wire = Wire(stopping)
    loop = asyncio.get_running_loop()
    Thread(target=wire.listen, args=(said, loop), daemon=True).start()
    # Slurm and systemd send it to every process of a run. It ends nothing that is under way here, and that the browser
    # dies of it costs no attempt. If only this worker was meant, its supervisor starts another one.
    for one in stop_signals():
        loop.add_signal_handler(one, stopping.ask)
    where = EmbeddedServers(sites_port=setup.sites_port, base_url=setup.base_url)
    check_reach(where)
    store: Store = RemoteStore(wire, redactor)
    if _is_near(config.executor.shared_fs, Path(setup.folder), setup.lock_token):
        store = RunFolder.open(Path(setup.folder), durability=config.journal.durability, redactor=redactor, held=False)
    context = WorkerContext(
        config=config,
        run=store,
        config_digest=setup.config_digest,
        prices=setup.prices,
        stopping=stopping,
        rate_limiter=wire.rate_limiter,
        ask_host=wire.host.ask,
    )
    number, lanes = setup.number, setup.lanes
    async with build_workers(context, where, wire, range(number, number + 1), lanes=lanes) as pool:
        # Two groups, as the heartbeat goes on until every lane has ended, and a group waits for all that is in it.
        async with asyncio.TaskGroup() as group:
            beating = group.create_task(_beat(pool))
            async with asyncio.TaskGroup() as playing:
                for lane in range(number * lanes, (number + 1) * lanes):
                    playing.create_task(pool.workers[0].run_lane(lane, wire))
            beating.cancel()
    _count(pool)
    say(encode_message(WorkerDone()))


def _setup(said: Iterator[Received]) -> WorkerSetup | None:
    """The setup message; None if the supervisor is gone already.

    Raises:
        ConfigError: The supervisor is of another version.
    """
    match next(said, None):
        case Received(message=Hello(harness=version)) if version != __version__:
            raise ConfigError(
                f"{socket.gethostname()} has harness {__version__}, but the run was started with {version}:"
                " install the same version there"
            )
    match next(said, None):
        case Received(message=WorkerSetup() as setup):
            return setup
    return None


def _is_near(shared_fs: bool | None, folder: Path, hold: str | None) -> bool:
    """Whether this process can write to the run folder."""
    # Lock files with the same content at the same path are in one folder, so the person need not say it.
    near = bool(hold) and lock_token(folder) == hold if shared_fs is None else shared_fs
    logging.getLogger(__name__).info("records are written %s", f"into {folder}" if near else "through the supervisor")
    return near


async def _beat(pool: WorkerPool) -> None:
    while True:
        _count(pool)
        await asyncio.sleep(BEAT_S)


def _count(pool: WorkerPool) -> None:
    starts = sum(browser.starts for browser in pool.browsers)
    say(encode_message(Heartbeat(browser_starts=starts)))


def _log(redactor: Redactor) -> None:
    """Log to stderr, which the supervisor stores; tracebacks of the interpreter go there, too."""
    redact_output(redactor)
    logging.raiseExceptions = False  # as in the supervisor
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s")
    handler.setFormatter(VisibleFormatter(RedactingFormatter(plain, redactor)))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for chatty in ("httpx2", "httpx"):  # they log every request
        logging.getLogger(chatty).setLevel(logging.WARNING)


def main() -> int:
    pipe = open(os.dup(0), "rb", closefd=False)  # a separate file: `sys.stdin` is closed at exit
    said = read_messages_blocking(pipe)
    with InternalErrorGuard("worker", redact=lambda text: without_secrets(text, ()), keeps=False) as fault:
        if FLAG in sys.argv:
            # Most runs ask a model, and while this one is composed there is a core for it.
            Thread(target=import_module, args=(MODEL_CLIENT,), daemon=True).start()
            if not be_introduced(pipe):
                return 0
        _keep_pipes()
        return _main(said, fault)
    return fault.code


def _keep_pipes() -> None:
    """Keep the pipes of the supervisor to messages: an agent may print, and start what reads; its output is logged."""
    global _to_supervisor
    _to_supervisor = os.dup(1)
    os.dup2(2, 1)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)


def _main(said: Iterator[Received], fault: InternalErrorGuard) -> int:
    try:
        run_in_working_time(play(said, fault))
    except* HarnessError as group:
        error = flatten_group(group)[0]
        # Any other error ends this worker only: its jobs go on in another one.
        if not isinstance(error, UsageError | JournalError):
            raise
        say(encode_message(WorkerFailed(error=ErrorInfo.of(error))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
