"""What an agent's process waits longer for a CDP command, as it reaches its browser through the relay of its episode.

Run: `python -m benchmarks.relay [--turns 200]`. A real process sends each command directly to the browser's DevTools,
through the relay, and through a bare relay that passes messages on unread, in turn, in sessions of the same page.
`ours` is what a command takes longer through the relay than the direct one beside it, the reference is the same of the
bare relay. Journal and artifacts are on disk, and every record is fsynced. Reads and scripts are passed on; input is
durable before it is, so that row holds a write of the journal.
"""

import asyncio
import json
import sys
import tempfile
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from benchmarks.debugging_port import reachable_pool
from benchmarks.gateway import added, record, with_settings
from benchmarks.results import Rows, parser, tell
from benchmarks.step_overhead import HOME, task
from harness.browser.driver.devtools_pipe import MOST_BYTES
from harness.embedded_server import start_servers
from harness.plugins.process_agent.scripted import scripted_process
from harness.records import Site

CLIENT = """
import json, os, time
from websockets.sync.client import connect

class Page:
    def __init__(self, address):
        self.socket, self.number = connect(address, max_size=None, compression=None), 0
    def attach(self, url):
        infos = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in infos if one["type"] == "page" and one["url"] == url)
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        self.socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                return answer["result"]

def seconds(call):
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun

def in_turn(calls, turns):
    times = [], [], []
    for turn in range(turns + 5):
        for side in (turn % 3, (turn + 1) % 3, (turn + 2) % 3):
            took = seconds(calls[side])
            if turn >= 5:
                times[side].append(took)
    return times

turns = int(os.environ["TURNS"])
relay = Page("ws" + os.environ["CAIRN_CDP_URL"][4:] + "/devtools/browser")
pages = Page(os.environ["DEVTOOLS"]), relay, Page(os.environ["BARE"])
for page in pages:
    page.attach(os.environ["HOME_PAGE"])
found = {}
for name, method, params in (
    ("a small read", "Runtime.getIsolateId", {}),
    ("a script", "Runtime.evaluate", {"expression": "document.title", "returnByValue": True}),
    ("the document", "DOM.getDocument", {"depth": -1}),
    ("a screenshot", "Page.captureScreenshot", {}),
    ("a reply of 1 MB", "Runtime.evaluate", {"expression": "'x'.repeat(1000000)", "returnByValue": True}),
    ("input, durable first", "Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 5, "y": 5}),
):
    calls = [lambda page=page: page.call(method, page.session, **params) for page in pages]
    found[name] = in_turn(calls, turns // 4 if "screenshot" in name else turns)
json.dump(found, open(os.environ["FOUND"], "w"))
open(os.environ["CAIRN_ANSWER"], "w").write("done")
"""
"""The process; it needs nothing of ours."""


class BareRelay:
    """Passes messages on as they are, in both directions, by the same package and with the same settings."""

    def __init__(self, devtools: str) -> None:
        self._devtools = devtools

    async def serve(self, client: ServerConnection) -> None:
        async with await connect(self._devtools, max_size=MOST_BYTES, compression=None, ping_interval=None) as browser:
            ways = [asyncio.create_task(_pass(client, browser)), asyncio.create_task(_pass(browser, client))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()


async def _pass(source: Connection, to: Connection) -> None:
    with suppress(ConnectionClosed):
        while True:
            await to.send(await source.recv(decode=False), text=True)


async def measure(*, turns: int = 200) -> Rows:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = await stack.enter_async_context(start_servers("harness.plugins.demo", log=folder / "log"))
        home = f"http://t0.shop.localhost:{port}/"
        site = Site(name="shop", url=home.rstrip("/"), canonical=HOME.rstrip("/"))
        pool, devtools = await stack.enter_async_context(reachable_pool(site))
        bare = await stack.enter_async_context(
            serve(BareRelay(devtools).serve, "127.0.0.1", 0, compression=None, ping_interval=None)
        )
        client = folder / "client.py"
        client.write_text(CLIENT)
        agent = await stack.enter_async_context(
            scripted_process([sys.executable, str(client)], "said", timeout_s=600.0)
        )
        environment = {
            "TURNS": str(turns),
            "DEVTOOLS": devtools,
            "BARE": f"ws://127.0.0.1:{next(iter(bare.sockets)).getsockname()[1]}",
            "HOME_PAGE": home,
            "FOUND": str(folder / "found.json"),
        }
        await record(with_settings(agent, browser="cdp", env=environment), pool.open(task(), 0), folder / "run")
        found = json.loads((folder / "found.json").read_text())
    return {f"relay, {name}: added": added(*times) for name, times in found.items()}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--turns", type=int, default=200)
    tell(asyncio.run(measure(turns=options.parse_args().turns)))


if __name__ == "__main__":
    main()
