"""A hostile agent that drives a browser whose pages may reach any host: none of its ways leads to this machine, its
files or another episode, and what it tries is counted.
"""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.actions import Goto
from harness.browser.network import outbound
from harness.browser.session.chromium import ChromiumPool
from harness.choices import Sandbox
from harness.plugins.process_agent.violations import Violations
from harness.records import Episode, Site
from harness.sandbox.bubblewrap import choose_sandbox
from harness.testing import MemoryJournal
from tests.browser.conftest import QUICK, Asked, Web, a_task, html
from tests.hostile import page_agent
from tests.plugins.process_agent.driven import driving, play_driven

pytestmark = [pytest.mark.integration, pytest.mark.browser]
SANDBOX, _ = choose_sandbox(Sandbox.auto)
SCRIPT = Path(page_agent.__file__).read_text()
SECRET = "hunter2-of-this-machine"
NAMES = {
    "loop.test": ("127.0.0.1",),
    "link.test": ("169.254.169.254",),
    "mapped.test": ("::ffff:127.0.0.1",),
    "mixed.test": ("192.0.2.1", "127.0.0.1"),
    "metadata.test": ("100.100.100.200",),
}
"""What the names of the agent stand for."""
EVERY = 19
"""In the gate one way of so many is tried; it has no divisor in common with the number of hosts and channels."""


@dataclass
class Machine:
    """A server for each way that the agent tries, and who got through to it."""

    ports: dict[str, int] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)
    _closing: AsyncExitStack = field(default_factory=AsyncExitStack)

    @asynccontextmanager
    async def serving(self, ways: Sequence[str]) -> AsyncIterator["Machine"]:
        async with self._closing:
            for way in ways:
                await self._serve(way)
            yield self

    async def _serve(self, way: str) -> None:
        both = socket.has_dualstack_ipv6()
        where = ("::", 0) if both else ("", 0)
        family = socket.AF_INET6 if both else socket.AF_INET
        listener = socket.create_server(where, family=family, dualstack_ipv6=both)
        self.ports[way] = listener.getsockname()[1]
        await self._closing.enter_async_context(await asyncio.start_server(partial(self._answer, way), sock=listener))
        heard = self._closing.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        heard.bind(("127.0.0.1", self.ports[way]))
        heard.setblocking(False)
        asyncio.get_running_loop().add_reader(heard, self._hear, way, heard)
        self._closing.callback(asyncio.get_running_loop().remove_reader, heard)

    def _hear(self, way: str, heard: socket.socket) -> None:
        self._note(way, heard.recvfrom(1)[1][1])

    def _note(self, way: str, port: int) -> None:
        """Somebody who has this port came: not those beside this test, whose own servers had the port before."""
        found = psutil.net_connections("inet")
        owners = {one.pid for one in found if one.pid and one.laddr and one.laddr.port == port}
        ours = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
        if not owners or owners & ours:
            self.reached.add(way)

    async def _answer(self, way: str, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._note(way, writer.get_extra_info("peername")[1])
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(SECRET)}\r\naccess-control-allow-origin: *\r\n\r\n"
        writer.write((head + SECRET).encode())
        writer.close()


def site_of(web: Web) -> Site:
    """Its real address is the canonical one: what the agent is told is what its pages see."""
    url = f"http://shop.localhost:{web.port}"
    return Site(name="shop", url=url, canonical=url)


def serve(web: Web) -> None:
    async def to(asked: Asked) -> Any:
        status, _, where = asked.query.partition("&")
        return int(status), {"location": where, "access-control-allow-origin": "*"}, ""

    async def reports(asked: Asked) -> Any:
        return html(
            "<script>1</script>", headers={"content-security-policy": f"default-src 'none'; report-uri {asked.query}"}
        )

    web.page("/", "<p>A site</p>", title="Site")
    web.page("/more", "<p>More of it</p>", title="More")
    web.pages |= {"/to": to, "/reports": reports}


@dataclass(frozen=True)
class Found:
    got: dict[str, str]
    """What the agent says that each way gave it."""
    reached: set[str]
    counted: list[str]
    """The violations, in words."""
    ports: dict[str, int]
    listening: set[str]
    """Ports of this machine on which a process of the browser was seen to listen."""

    def is_counted(self, way: str) -> bool:
        return any(str(self.ports[way]) in what for what in self.counted)


async def tried(ways: Sequence[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    counted: list[str] = []

    async def look_up(host: str) -> Sequence[str]:
        if host not in NAMES:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return NAMES[host]

    def found(self: Violations, guarded: Any, what: str) -> None:
        counted.append(what)
        kept(self, guarded, what)

    kept = Violations.found
    monkeypatch.setattr(Violations, "found", found)
    monkeypatch.setattr(outbound, "_system_addresses", look_up)
    web, machine = Web(), Machine()
    server = await asyncio.start_server(web.serve, "127.0.0.1", 0)
    web.port = server.sockets[0].getsockname()[1]
    serve(web)
    settings = replace(QUICK, allowed="any", step_deadline_s=120.0, action_timeout_s=10.0)
    site = site_of(web)
    task = replace(a_task(web), start_urls=(site.url + "/",))
    async with (
        server,
        machine.serving(ways),
        ChromiumPool(settings, shared=True, sites=lambda _: (site,)) as pool,
        pool.open(task, 1) as other,
        listeners() as listening,
    ):
        await other.restore(task, Episode())
        its = other._window.tabs.current.cdp
        whose = (await its.send("Target.getTargetInfo"))["targetInfo"]
        await its.send("Network.setCookie", {"name": "of-another", "value": SECRET, "url": site.url})
        known = {
            "site": site.url + "/",
            "ports": machine.ports,
            "other": whose["targetId"],
            "context": whose.get("browserContextId", ""),
            "devtools": f"devtools://devtools/bundled/inspector.html?ws=127.0.0.1/devtools/page/{whose['targetId']}",
            "free": machine.ports[ways[0]],
            "hostname": socket.gethostname(),
            "own": own_address(),
        }
        (folder / "known.json").write_text(json.dumps(known))
        command = (sys.executable, str(folder / "agent.py"), str(folder / "known.json"))
        journal = MemoryJournal()
        how: dict[str, Any] = {"command": command, "cwd": str(folder), "sandbox": SANDBOX, "timeout_s": 3000.0}
        async with driving(SCRIPT, folder, **how) as agent:
            await play_driven(agent, pool, journal, url=site.url + "/", max_steps=100_000)
        page = (await other.act(Goto(url=site.url + "/more"))).view
        assert "More of it" in page.observation.text, "the other episode goes on"
    exited = journal.episode.exited[0]
    said = b"" if exited.stdout is None else journal.artifacts.read(exited.stdout)
    assert said, (exited, counted[-3:])
    got = json.loads(json.loads(said.splitlines()[-1])["answer"])
    got = {way: json.dumps(one) if one else "" for way, one in got.items()}
    return Found(got, machine.reached, counted, machine.ports, listening)


@asynccontextmanager
async def listeners() -> AsyncIterator[set[str]]:
    """What processes of browsers listen on, looked at all the time."""
    found: set[str] = set()

    async def watch() -> None:
        while True:
            for process in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if "chrom" in process.name():
                        found.update(
                            str(one.laddr) for one in process.net_connections("inet") if one.status == "LISTEN"
                        )
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    try:
        yield found
    finally:
        watching.cancel()


def own_address() -> str:
    """One of this machine that is not loopback, if it has one."""
    addresses = (one.address for some in psutil.net_if_addrs().values() for one in some if one.family == socket.AF_INET)
    return next((address for address in addresses if not address.startswith("127.")), "127.0.0.2")


def all_ways() -> list[str]:
    return list(page_agent.ways())


def check(found: Found, ways: Sequence[str]) -> None:
    assert found.got.keys() == set(ways)
    quiet = {*page_agent.SILENT, *(f"file, {name}" for name in (*page_agent.FILES, *page_agent.REFUSED_BY_CHROMIUM))}
    wrong = {
        "were not tried": [way for way, got in found.got.items() if "FAILED" in got],
        "reached a server of this machine": sorted(found.reached),
        "gave what is on this machine": [way for way, got in found.got.items() if SECRET in got or "root:" in got],
        "gave something of others": [way for way, got in found.got.items() if way.startswith("others, ") and got],
        "were not counted": [
            way for way in ways if not way.startswith("others, ") and way not in quiet and not found.is_counted(way)
        ],
        "listened": sorted(found.listening),
    }
    found_wrong = [f"{what}: {way}" for what, ways in wrong.items() for way in ways]
    assert not found_wrong, "\n".join(found_wrong)


@pytest.mark.hostile
async def test_a_page_that_an_agent_drives_reaches_nothing_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = all_ways()[::EVERY]
    check(await tried(ways, tmp_path, monkeypatch), ways)


@pytest.mark.hostile
async def test_no_way_out_of_the_browser_leads_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ways = all_ways()
    assert len(ways) >= 200
    check(await tried(ways, tmp_path, monkeypatch), ways)
