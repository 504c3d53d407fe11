"""Processes that drive a real browser themselves, through the relay of their episode."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.browser.session.chromium import ChromiumPool
from harness.episode.episode import EpisodeRunner
from harness.episode.job import Job
from harness.episode.recorder import EpisodeDeps
from harness.plugins.process_agent.session import ProcessAgent
from harness.records import Episode, EpisodeLimits, Eval, Task
from harness.testing import MemoryJournal
from tests.browser.conftest import QUICK, Asked, Web, html
from tests.plugins.process_agent.processes import HEAD, agent_of

RAW = (
    HEAD
    + """
from websockets.sync.client import connect
def url():
    head = {"Authorization": "Bearer " + os.environ["CAIRN_TOKEN"]}
    request = urllib.request.Request(os.environ["CAIRN_URL"] + "/observation", headers=head)
    return json.load(urllib.request.urlopen(request))["url"]
class Cdp:
    def __init__(self, path="/devtools/browser", **how):
        self.socket = connect("ws" + os.environ["CAIRN_CDP_URL"][4:] + path, max_size=None, **how)
        self.number, self.events = 0, []
    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        self.socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        return self.answer(self.number)
    def answer(self, number):
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            if message.get("id") == number:
                return message
            self.events.append(message)
    def pages(self):
        infos = self.call("Target.getTargets")["result"]["targetInfos"]
        return [info for info in infos if info["type"] == "page"]
    def attach(self, target=None):
        target = target or self.pages()[0]["targetId"]
        return self.call("Target.attachToTarget", targetId=target, flatten=True)["result"]["sessionId"]
    def value(self, session, expression):
        answer = self.call("Runtime.evaluate", session, expression=expression, returnByValue=True)
        return answer["result"]["result"].get("value")
    def until(self, session, expression):
        while not self.value(session, expression): time.sleep(0.02)
    def click(self, session, x, y):
        for kind, count in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 1)):
            self.call("Input.dispatchMouseEvent", session, type=kind, x=x, y=y, button="left", clickCount=count)
"""
)
"""A client of CDP that sends what it is asked to."""

SHOP = (
    "<style>*{margin:0;padding:0;border:0}button,a,input{position:absolute;left:10px;width:200px;height:30px}</style>"
    '<input id=q style="top:0" value=""><button style="top:40px" onclick="ask()">Ask</button>'
    '<form method=post action=/buy><button style="top:80px">Buy</button></form>'
    '<a style="top:120px" target=_blank href=/more>More</a><a style="top:160px" href=/file>File</a>'
    "<p style='position:absolute;top:200px' id=said></p>"
    "<script>function ask(){said.textContent=confirm('Sure?')?'yes':'no'}</script>"
)


def serve_shop(web: Web) -> None:
    """A page with a form that is sent, a link to a new tab, a dialog and a download."""

    async def buy(asked: Asked) -> Any:
        return html(f"<p>{asked.method} {len(bought(web))}</p><a href=/>Back</a>", title="Bought")

    web.page("/", SHOP, title="Shop")
    web.page("/more", "<p>more</p>", title="More")
    web.pages["/buy"] = buy
    web.pages["/file"] = (200, {"content-disposition": "attachment; filename=x.txt"}, "x")


def bought(web: Web) -> list[Asked]:
    """The requests that changed the site."""
    return [asked for asked in web.asked if asked.method == "POST"]


@asynccontextmanager
async def shop_browser() -> AsyncIterator[tuple[Web, ChromiumPool]]:
    """A site, and a browser that can be shared."""
    web = Web()
    listening = await asyncio.start_server(web.serve, "127.0.0.1", 0)
    web.port = listening.sockets[0].getsockname()[1]
    settings = replace(QUICK, step_deadline_s=60.0, action_timeout_s=10.0)
    serve_shop(web)
    async with listening, ChromiumPool(settings, shared=True, sites=lambda _: (web.site,)) as pool:
        yield web, pool


class _Silent:
    def tell(self, news: object) -> None:
        pass


async def play_driven(
    agent: ProcessAgent,
    pool: ChromiumPool,
    journal: MemoryJournal,
    *,
    clean: tuple[str, ...] = ("shop",),
    url: str = "http://shop.localhost/",
    max_steps: int = 40,
) -> Episode:
    """Play one episode in the browser; `clean`: sites that were reset."""
    task = Task(task_id="1", sites=("shop",), intent="Shop", start_urls=(url,), eval=Eval(eval_types=()))
    deps = EpisodeDeps(
        agent=agent,
        evaluators={},
        artifacts=journal.artifacts,
        checkpoints=journal.artifacts,
        limits=EpisodeLimits(max_steps=max_steps),
        config_digest="",
        seed=0,
        progress=_Silent(),
        stopping=lambda: False,
    )
    await EpisodeRunner(deps, Job(task=task, clean=clean), journal).play(pool.open(task, 0))
    return journal.episode


def driving(script: str, folder: Path, **settings: Any) -> Any:
    """An agent that runs a script which drives the browser."""
    return agent_of(script, folder, browser="cdp", **settings)
