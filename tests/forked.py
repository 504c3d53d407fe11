"""Starts of the command without the time that Python takes to import it, which is a third of a short run.

A process imports the package once and forks for each start. What the start is given (arguments, environment, folder) and
what it leaves (output, exit code) are those of a new process. Tests of signals and kills start the command itself.
"""

import gc
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock

PROJECT = Path(__file__).resolve().parents[1]
PRELOADED = ("openai", "playwright.async_api", "harness.evaluation.orchestrator", "harness.evaluation.worker_pool")


class Forks:
    """The process that forks, from outside."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel, self._one_at_a_time = channel, Lock()

    def run(
        self, module: str, *arguments: str, cwd: Path, env: Mapping[str, str], timeout_s: float = 1200
    ) -> subprocess.CompletedProcess[str]:
        """`python run.py ARGUMENTS`, or `python -m harness.main ARGUMENTS`.

        Raises:
            TimeoutExpired: It took longer, and was killed.
        """
        with self._one_at_a_time, TemporaryFile() as out, TemporaryFile() as err:
            asked = {"module": module, "arguments": arguments, "cwd": str(cwd), "env": dict(env)}
            data = json.dumps(asked).encode()
            socket.send_fds(self._channel, [len(data).to_bytes(4, "big")], [out.fileno(), err.fileno()])
            self._channel.sendall(data)
            process = int.from_bytes(_exactly(self._channel, 4), "big")
            self._channel.settimeout(timeout_s)
            try:
                code = int.from_bytes(_exactly(self._channel, 4), "big", signed=True)
            except TimeoutError as error:
                os.kill(process, 9)
                self._channel.settimeout(None)
                _exactly(self._channel, 4)
                raise subprocess.TimeoutExpired([module, *arguments], timeout_s) from error
            self._channel.settimeout(None)
            said = [_text(file) for file in (out, err)]
        return subprocess.CompletedProcess([module, *arguments], code, *said)


def _text(file: object) -> str:
    file.seek(0)  # type: ignore[attr-defined]
    return file.read().decode().replace("\r\n", "\n")  # type: ignore[attr-defined,no-any-return]


def _exactly(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise EOFError("the other end is gone")
        data += part
    return data


@contextmanager
def forks() -> Iterator[Forks]:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.forked", str(theirs.fileno())], pass_fds=[theirs.fileno()], cwd=PROJECT
            )
        try:
            yield Forks(ours)
        finally:
            ours.close()
            process.wait()


def serve(channel: socket.socket) -> int | None:
    """Fork for each request; in a child, what the command came to, and None when there are no more requests."""
    while True:
        head, files, _, _ = socket.recv_fds(channel, 4, 2)
        if not head:
            return None
        asked = json.loads(_exactly(channel, int.from_bytes(head, "big")))
        if (process := os.fork()) == 0:
            channel.close()
            return _begin(asked, files)
        for file in files:
            os.close(file)
        channel.sendall(process.to_bytes(4, "big"))
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        channel.sendall(code.to_bytes(4, "big", signed=True))


def _begin(asked: dict[str, object], files: Sequence[int]) -> int:
    """Become the process that was asked for."""
    from harness.cli import run
    from harness.main import main

    for place, file in enumerate(files, start=1):
        os.dup2(file, place)
        os.close(file)
    os.chdir(str(asked["cwd"]))
    os.environ.clear()
    os.environ.update(asked["env"])  # type: ignore[call-overload]
    is_script = asked["module"] == "run.py"
    more = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[0:1] = [
        str(PROJECT) if is_script else str(Path.cwd()),
        *(one for one in more if one and one not in sys.path),
    ]
    sys.argv[:] = [str(asked["module"]), *asked["arguments"]]  # type: ignore[misc]
    return run(sys.argv[1:]) if is_script else main(sys.argv[1:])


if __name__ == "__main__":
    for name in PRELOADED:
        __import__(name)
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as own:
        sys.exit(serve(own))
