"""What an agent's process waits longer for, as its browser and its model are reached through the run.

Run: `python -m benchmarks.relay [--turns 200]`. A real process measures, in turn: each CDP command directly at the
browser's DevTools and through the relay of its episode, in sessions of the same page; and requests of a model that
answers at once, directly and through the gateway. Journal and artifacts are on disk, and every record is fsynced.
Reads and scripts are passed on; input is durable before it is, so that row holds a write of the journal.
"""

import asyncio
import json
import sys
import tempfile
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.journal_append import SECRETS
from benchmarks.results import Rows, parser, tell, timed
from benchmarks.step_overhead import HOME, task
from harness.browser.browser_settings import BrowserSettings
from harness.browser.session.chromium import ChromiumPool
from harness.demo.launcher import start_servers
from harness.gateway.scripted import ScriptedEndpoint, scripted_process
from harness.gateway.session import ProcessAgent
from harness.journal.log import Journal
from harness.journal.redaction import Redactor
from harness.journal.store import ArtifactStore
from harness.loopback_server import serving
from harness.protocols import ProgressEvent
from harness.records import EpisodeLimits, Site
from harness.runner.episode import EpisodeRunner
from harness.runner.job import Job
from harness.runner.recorder import EpisodeDeps

CLIENT = """
import http.client, json, os, sys, time, urllib.parse
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

def in_turn(ours, reference, turns):
    times = [], []
    for turn in range(turns + 5):
        sides = [(times[0], ours), (times[1], reference)]
        for kept, call in sides if turn % 2 else sides[::-1]:
            took = seconds(call)
            if turn >= 5:
                kept.append(took)
    return times

turns = int(os.environ["TURNS"])
relay = Page("ws" + os.environ["CAIRN_CDP_URL"][4:] + "/devtools/browser")
direct = Page(os.environ["DEVTOOLS"])
for page in (relay, direct):
    page.attach(os.environ["HOME_PAGE"])
found = {}
for name, method, params in (
    ("a small read", "Runtime.getIsolateId", {}),
    ("a script", "Runtime.evaluate", {"expression": "document.title", "returnByValue": True}),
    ("the document", "DOM.getDocument", {"depth": -1}),
    ("a screenshot", "Page.captureScreenshot", {}),
    ("input, durable first", "Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 5, "y": 5}),
):
    many = turns // 8 if "screenshot" in name else turns
    found["relay, " + name] = in_turn(
        lambda: relay.call(method, relay.session, **params), lambda: direct.call(method, direct.session, **params), many
    )

def asker(address, path, token):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc)
    number = iter(range(10**9))
    def ask():
        body = {"model": "m", "messages": [{"role": "user", "content": "x" * 4000 + str(next(number))}]}
        head = {"authorization": "Bearer " + token, "content-type": "application/json"}
        connection.request("POST", path, json.dumps(body), head)
        connection.getresponse().read()
    return ask
token = os.environ["CAIRN_TOKEN"]
gateway = asker(os.environ["CAIRN_URL"], "/v1/chat/completions", token)
endpoint = asker(os.environ["ENDPOINT"], "/v1/chat/completions", token)
found["gateway, a request"] = in_turn(gateway, endpoint, turns // 4)
json.dump(found, open(os.environ["FOUND"], "w"))
open(os.environ["CAIRN_ANSWER"], "w").write("done")
"""
"""The process; it needs nothing of ours."""


class _Silent:
    def tell(self, news: ProgressEvent) -> None:
        pass


async def measure(*, turns: int = 200) -> Rows:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = await stack.enter_async_context(start_servers("harness.demo", log=folder / "log"))
        home = f"http://t0.shop.localhost:{port}/"
        site = Site(name="shop", url=home.rstrip("/"), canonical=HOME.rstrip("/"))
        settings = BrowserSettings(shared=True)
        pool = await stack.enter_async_context(ChromiumPool(settings, sites=lambda _: (site,)))
        endpoint = await stack.enter_async_context(serving(ScriptedEndpoint("said")))
        client = folder / "client.py"
        client.write_text(CLIENT)
        agent = await stack.enter_async_context(
            scripted_process([sys.executable, str(client)], "said", timeout_s=600.0)
        )
        environment = {
            "TURNS": str(turns),
            "DEVTOOLS": await pool.devtools(),
            "HOME_PAGE": home,
            "ENDPOINT": f"http://127.0.0.1:{endpoint}",
            "FOUND": str(folder / "found.json"),
        }
        driving = replace(agent.settings, browser=False, cdp=True, environment=environment)
        await play(replace(agent, settings=driving), pool, folder)
        found = json.loads((folder / "found.json").read_text())
    return {name: timed(ours, reference) for name, (ours, reference) in found.items()}


async def play(agent: ProcessAgent, pool: ChromiumPool, folder: Path) -> None:
    """One episode of the process, recorded as in a run."""
    artifacts = ArtifactStore(folder / "artifacts")
    with Journal.open(folder / "0.traj.jsonl", redactor=Redactor(SECRETS)) as journal:
        deps = EpisodeDeps(
            agent=agent,
            evaluators={},
            artifacts=artifacts,
            checkpoints=ArtifactStore(folder / "checkpoints"),
            limits=EpisodeLimits(max_steps=1000),
            config_digest="",
            seed=0,
            progress=_Silent(),
            stopping=lambda: False,
        )
        await EpisodeRunner(deps, Job(task=task()), journal).play(pool.open(task(), 0))
        if journal.episode.closed is None or journal.episode.closed.answer != "done":
            raise SystemExit("the process did not end as it should")


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--turns", type=int, default=200)
    tell(asyncio.run(measure(turns=options.parse_args().turns)))


if __name__ == "__main__":
    main()
