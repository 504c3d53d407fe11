"""Whether an observation shows what its action led to, when nobody says what to wait for.

Run: `python -m benchmarks.freshness [--episodes 200] [--lanes 4] [--seed 0]`. Each episode does five things in an order
of its
own: follows a link, follows one whose server takes its time, posts a form, presses a button whose script changes the
page after 0 to 500 ms, and one whose script asks the server first. What each leads to has a name of its own; an
observation in which it is not seen is stale. The reference does the same with bare playwright and looks at once, which
says how many there were to be missed. A stale observation of ours is an error.
"""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import Browser, async_playwright

from benchmarks.results import Rows, parser, row, tell
from harness.actions import Click, Target
from harness.browser.driver import executable
from harness.browser.driver.chromium_flags import SWITCHES
from harness.browser.session.chromium import ChromiumPool
from harness.records import Episode, Eval, LiveObservation, Site, Task
from harness.settings.browser import BrowserSettings

CONTROLS = {"link": "link", "late": "link", "form": "button", "script": "button", "asking": "button"}
"""What there is to press, by name, and its role."""
LATEST_MS = 500
SLOWEST_MS = 1500


def page(arrived: str, chance: random.Random) -> str:
    """Says where one has arrived; pressing NAME leads to `NAME-N`, N a number of this page."""
    number, after, slow, asked = (chance.randrange(most) for most in (10**9, LATEST_MS, SLOWEST_MS, SLOWEST_MS))
    return f"""<!doctype html><title>{arrived}</title><h1 id=out>{arrived}</h1><p>next {number}</p>
    <a href="/at?name=link-{number}">link</a> <a href="/at?name=late-{number}&ms={slow}">late</a>
    <form method=post action="/at?name=form-{number}&ms=30"><button>form</button></form>
    <button onclick="setTimeout(() => out.textContent = 'script-{number}', {after})">script</button>
    <button onclick="fetch('/at?name=x&ms={asked}').then(r => r.text())
      .then(() => out.textContent = 'asking-{number}')">asking</button>"""


class Pages(BaseHTTPRequestHandler):
    """Answers `/at?name=…&ms=…` after so long."""

    protocol_version = "HTTP/1.1"
    chance = random.Random()

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        asked = parse_qs(urlsplit(self.path).query)
        time.sleep(int(asked.get("ms", ["0"])[0]) / 1000)
        body = page(asked.get("name", ["start"])[0], self.chance).encode()
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@contextmanager
def served(seed: int) -> Iterator[str]:
    """Base URL of the pages."""
    handler = type("Seeded", (Pages,), {"chance": random.Random(seed)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


async def ours(pool: ChromiumPool, base: str, lane: int, order: list[str]) -> int:
    """Stale observations of one episode."""
    task = Task(
        task_id="0", sites=("pages",), intent="Look", start_urls=(f"{base}/at",), eval=Eval(eval_types=("url_match",))
    )
    stale = 0
    async with pool.open(task, lane) as env:
        view = (await env.restore(task, Episode())).view
        for name in order:
            expected = f"{name}-{_next(view.observation.text)}"
            view = (await env.act(Click(target=_target(view, name)))).view
            stale += expected not in view.observation.text
    return stale


def _target(view: LiveObservation, name: str) -> Target:
    for id, node in view.nodes.items():
        if (node.role, node.name) == (CONTROLS[name], name):
            return Target(id=id, role=node.role, name=node.name, nth=node.nth, box=node.box)
    raise SystemExit(f"no {name} in\n{view.observation.text}")


async def at_once(browser: Browser, base: str, order: list[str]) -> int:
    """The same by hand, looking as soon as playwright has clicked."""
    stale = 0
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{base}/at")
    for name in order:
        expected = f"{name}-{_next(await page.inner_text('body'))}"
        await page.get_by_role(CONTROLS[name], name=name, exact=True).click()  # type: ignore[arg-type]
        stale += expected not in await page.inner_text("body")
        await page.get_by_text(expected).wait_for()
    await context.close()
    return stale


def _next(text: str) -> str:
    return text.partition("next ")[2].split()[0].strip("'")


async def shared(episodes: int, lanes: int, play: Callable[[int, int], Awaitable[int]]) -> list[int]:
    """Stale observations of each episode, `lanes` of them at once; `play` is given the lane and the episode's
    number.
    """
    numbers = iter(range(episodes))

    async def lane(number: int) -> list[int]:
        return [await play(number, episode) for episode in numbers]

    return [count for found in await asyncio.gather(*map(lane, range(lanes))) for count in found]


async def measure(*, episodes: int = 200, lanes: int = 4, seed: int = 0) -> Rows:
    """
    Raises:
        SystemExit: An observation of ours was stale.
    """
    chance = random.Random(seed)
    orders = [chance.sample(list(CONTROLS), len(CONTROLS)) for _ in range(episodes)]
    with served(seed) as base:
        site = Site(name="pages", url=base, canonical=base)
        settings = BrowserSettings(screenshots=False, allowed="any")
        async with ChromiumPool(settings, sites=lambda _: (site,)) as pool:
            mine = await shared(episodes, lanes, lambda lane, episode: ours(pool, base, lane, orders[episode]))
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=executable.find(), args=list(SWITCHES), chromium_sandbox=False
            )
            bare = await shared(episodes, lanes, lambda _, episode: at_once(browser, base, orders[episode]))
            await browser.close()
    if any(mine):
        raise SystemExit(f"{sum(mine)} stale observations in {episodes} episodes (seed {seed})")
    count = episodes * len(CONTROLS)
    name = f"freshness, {count} observations in {episodes} episodes: stale, beside looking at once"
    return {name: {**row([float(sum(mine))], [float(sum(bare))], "observations"), "runs": episodes}}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--episodes", type=int, default=200)
    options.add_argument("--lanes", type=int, default=4, help="episodes at once")
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    tell(asyncio.run(measure(episodes=asked.episodes, lanes=asked.lanes, seed=asked.seed)))


if __name__ == "__main__":
    sys.exit(main())
