"""Questions of a worker's agents to what hosts the run, on the wire to the supervisor."""

import asyncio
from collections.abc import Callable
from itertools import count

from harness.runner.executors.ipc import check_data, encode_message
from harness.runner.executors.worker_messages import DropQuestion, HostAnswer, HostQuestion


# On the wire that is there: to listen for agents on other machines would take a key that reaches each of them.
class RemoteHost:
    """The side of the worker."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        """`send` may take as long as the supervisor is busy."""
        self._send = send
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[bytes]] = {}

    async def ask(self, question: bytes) -> bytes:
        """See `harness.api.AskHost`."""
        number = next(self._numbers)
        check_data(message := HostQuestion(id=number), question)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        # In a thread: a page with its picture is larger than a pipe holds, and other lanes go on meanwhile.
        sending = asyncio.ensure_future(asyncio.to_thread(self._send, encode_message(message, question)))
        try:
            await asyncio.shield(sending)
            return await answer
        finally:
            del self._answers[number]
            if not answer.done() or answer.cancelled():  # after the question, also where that is still being sent
                sending.add_done_callback(lambda _: self._send(encode_message(DropQuestion(id=number))))

    def hear(self, message: HostAnswer, data: bytes | None) -> None:
        """Take an answer; one that nobody waits for any more is dropped."""
        if (answer := self._answers.get(message.id)) is None or answer.done():
            return
        if message.error is None:
            answer.set_result(data or b"")
        else:
            answer.set_exception(message.error.error())
