"""A worker that cannot reach the run folder writes the very journal it would have written there."""

import asyncio
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import JournalError, JournalLocked
from harness.journal.log import read
from harness.journal.store import RunFolder
from harness.runner.executors.ipc import encode_message, read_messages_blocking
from harness.runner.executors.remote_store import RemoteStore, StoreReceived, StoreServer
from harness.runner.executors.worker_messages import StoreReply, StoreRequest
from harness.secrets.redaction import Redactor
from tests.journal.episodes import decided, folded, whole_episode

pytestmark = pytest.mark.asyncio
SECRET = "thimble.42-of-the-shop"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder.open(tmp_path / "run", redactor=Redactor({"sites.shop.login": SECRET})) as run:
        yield run


class Line:
    """Both ends of the line, every message through its bytes."""

    def __init__(self, desk: StoreServer, loop: asyncio.AbstractEventLoop) -> None:
        self._desk, self._loop = desk, loop
        self.asked: list[str] = []

    def __call__(self, request: Callable[[int], StoreRequest], data: bytes | None = None) -> StoreReceived:
        made = request(len(self.asked) + 1)
        self.asked.append(made.kind)
        ((message, after),) = read_messages_blocking(io.BytesIO(encode_message(made, data)))
        assert message == made
        answer = asyncio.run_coroutine_threadsafe(self._desk.answer(made, after), self._loop).result(10)
        ((reply, kept),) = read_messages_blocking(io.BytesIO(answer))
        assert isinstance(reply, StoreReply)
        return StoreReceived(reply, kept)


async def test_a_far_journal_is_the_near_one(run: RunFolder) -> None:
    records = whole_episode()

    def far(store: RemoteStore, count: int) -> None:
        with store.journal("7") as journal:
            for record in records[:count]:
                assert journal.append(record) == read(run.journal_path("7")), "durable before it returns"

    def further(store: RemoteStore, begun: int) -> None:
        with store.journal("7") as journal:
            assert journal.episode == folded(records[:begun]), "what another left is gone on from"
            for record in records[begun:]:
                journal.append(record)

    async with StoreServer(run) as desk:
        await asyncio.to_thread(far, RemoteStore(Line(desk, asyncio.get_running_loop())), 4)
    async with StoreServer(run) as desk:
        await asyncio.to_thread(further, RemoteStore(Line(desk, asyncio.get_running_loop())), 4)
    with run.journal("8") as near:
        for record in records:
            near.append(record)
    assert run.journal_path("7").read_bytes() == run.journal_path("8").read_bytes()


async def test_a_secret_is_taken_out_on_the_way_to_the_disk_and_put_back_for_the_worker(run: RunFolder) -> None:
    typed = decided(1, reply=f"```type [1] {SECRET}```")
    guessed = "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789"

    def play(store: RemoteStore) -> tuple[str, str, str]:
        with store.journal("7") as journal:
            for record in whole_episode()[:3]:
                journal.append(record)
            pending = journal.append(typed).pending
            assert pending is not None
        with store.journal("7") as journal:
            assert journal.episode.pending == pending
        return pending.reply, store.artifacts.put(SECRET.encode()), store.artifacts.put(guessed.encode())

    async with StoreServer(run) as desk:
        reply, named, found = await asyncio.to_thread(play, RemoteStore(Line(desk, asyncio.get_running_loop())))
    assert reply == typed.reply
    assert SECRET not in run.journal_path("7").read_text()
    assert run.artifacts.path(named).read_bytes() == b"[redacted:sites.shop.login]"
    assert run.artifacts.read(named) == SECRET.encode()
    assert b"abcdefghijkl" not in run.artifacts.read(found)


async def test_what_is_staged_is_shown_as_it_is_stored(run: RunFolder) -> None:
    def stage(store: RemoteStore) -> bytes:
        return store.artifacts.stage(f"type {SECRET}".encode()).data

    async with StoreServer(run) as desk:
        store = RemoteStore(Line(desk, asyncio.get_running_loop()), run.redactor)
        assert await asyncio.to_thread(stage, store) == b"type [redacted:sites.shop.login]"


async def test_what_only_a_pattern_found_is_whole_for_the_worker_and_gone_from_the_disk(run: RunFolder) -> None:
    key = "sk-abcdefghijklmnopqrstuvwxyz0123456789"

    def play(store: RemoteStore) -> str:
        with store.journal("7") as journal:
            for record in whole_episode()[:3]:
                journal.append(record)
            pending = journal.append(decided(1, reply=f"my key is {key}")).pending
            assert pending is not None
            return pending.reply

    async with StoreServer(run) as desk:
        reply = await asyncio.to_thread(play, RemoteStore(Line(desk, asyncio.get_running_loop())))
    pending = read(run.journal_path("7")).pending
    assert reply == f"my key is {key}"
    assert pending is not None and pending.reply == "my key is [redacted:credential~]"


async def test_the_same_bytes_travel_once_and_private_ones_stay_private(run: RunFolder) -> None:
    async with StoreServer(run) as desk:
        wire = Line(desk, asyncio.get_running_loop())
        store = RemoteStore(wire)
        first, again = [await asyncio.to_thread(store.artifacts.put, b"a page") for _ in range(2)]
        kept = await asyncio.to_thread(store.checkpoints.put, SECRET.encode())
        assert first == again and wire.asked == ["put", "put"]
        assert await asyncio.to_thread(store.checkpoints.read, kept) == SECRET.encode()
        assert await asyncio.to_thread(store.artifacts.size, first) == len(b"a page")
        assert await asyncio.to_thread(store.artifacts.size, "0" * 64) == 0
        with pytest.raises(JournalError, match="cannot be read"):
            await asyncio.to_thread(store.artifacts.read, kept)
    assert run.checkpoints.read(kept) == SECRET.encode() and run.artifacts.read(first) == b"a page"


async def test_a_lost_workers_journals_are_let_go_of_and_an_append_it_never_heard_of_is_whole_or_not_there(
    run: RunFolder,
) -> None:
    def begin(store: RemoteStore) -> None:
        journal = store.journal("7")
        journal.append(whole_episode()[0])

    async with StoreServer(run) as desk:
        await asyncio.to_thread(begin, RemoteStore(Line(desk, asyncio.get_running_loop())))
        with pytest.raises(JournalLocked):
            run.journal("7")
    with run.journal("7") as journal:
        assert journal.episode.opened is not None
