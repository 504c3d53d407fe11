"""What a step costs beside bare playwright doing the same with its own auto-waiting.

Run: `python -m benchmarks.step_overhead [--episodes 12]`. An episode is ten steps on the embedded shop: typing, links,
a script's tab, a form post, fields, an address. Ours performs each, waits until the page has settled without being told
for what, reads it and appends both records, fsynced; bare playwright performs it and waits for the one thing that the
script knows will be there. Both use one browser in turn, each episode in a fresh context that is not part of the time.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Browser, Page, async_playwright, expect

from benchmarks.journal_append import SECRETS
from benchmarks.results import Rows, parser, tell, timed
from harness.actions import Action, Click, Goto, Target, Type
from harness.browser.driver import executable
from harness.browser.driver.chromium_flags import SWITCHES
from harness.browser.session.chromium import ChromiumPool
from harness.embedded_server import start_servers
from harness.journal.log import Journal
from harness.records import Acted, Decided, Done, Episode, Eval, LiveObservation, Opened, Site, Task, Usage
from harness.secrets.redaction import Redactor
from harness.settings.browser import BrowserSettings

HOME = "http://shop.localhost/"
VIEWPORT = {"width": 1280, "height": 720}


class Step(NamedTuple):
    do: str
    role: str
    name: str
    text: str
    shows: tuple[str, str]
    """Role and name of what bare playwright waits for."""


SCRIPT = (
    Step("type", "searchbox", "Search products", "camp", ("link", "Camp Mug")),
    Step("click", "link", "Camp Mug", "", ("button", "Add to cart")),
    Step("click", "tab", "Details", "", ("tabpanel", "Details")),
    Step("click", "button", "Add to cart", "", ("link", "Go to checkout")),
    Step("click", "link", "Go to checkout", "", ("textbox", "E-mail")),
    Step("fill", "textbox", "E-mail", "ada@example.org", ("textbox", "E-mail")),
    Step("fill", "textbox", "Password", "difference", ("textbox", "Password")),
    Step("click", "link", "Contact", "", ("textbox", "Your e-mail")),
    Step("goto", "", "", "", ("searchbox", "Search products")),
    Step("type", "searchbox", "Search products", "lamp", ("link", "Harbour Floor Lamp")),
)


def task() -> Task:
    return Task(task_id="0", sites=("shop",), intent="Shop", start_urls=(HOME,), eval=Eval(eval_types=("url_match",)))


def action_for(step: Step, view: LiveObservation) -> Action:
    if step.do == "goto":
        return Goto(url=HOME)
    for id, node in view.nodes.items():
        if (node.role, node.name) == (step.role, step.name):
            target = Target(id=id, role=node.role, name=node.name, nth=node.nth, box=node.box)
            if step.do == "click":
                return Click(target=target)
            return Type(target=target, text=step.text, enter=step.do == "type", clear=False)
    raise SystemExit(f"no {step.role} {step.name!r} in\n{view.observation.text}")


class Timed(NamedTuple):
    steps: list[float]
    """Seconds of each."""

    @property
    def whole(self) -> float:
        return sum(self.steps)


async def ours(pool: ChromiumPool, journal: Journal) -> Timed:
    """One episode; its records go to a journal of its own."""
    times = []
    async with pool.open(task(), 0) as env:
        view = (await env.restore(task(), Episode())).view
        journal.append(
            Opened(attempt=1, trial=0, task=task(), task_digest="t", config_digest="c", seed=0, at=time.time())
        )
        journal.append(Acted(step=0, outcome=Done(), observation=view.observation, elapsed_ms=0.0, at=time.time()))
        for number, step in enumerate(SCRIPT, start=1):
            begun = time.perf_counter()
            action = action_for(step, view)
            journal.append(decided(number, action))
            landed = await env.act(action)
            view = landed.view
            journal.append(
                Acted(
                    step=number,
                    outcome=landed.outcome,
                    observation=view.observation,
                    effects=landed.effects,
                    elapsed_ms=0.0,
                    at=time.time(),
                )
            )
            times.append(time.perf_counter() - begun)
            if step.shows[1] not in view.observation.text:
                raise SystemExit(f"stale after step {number}: no {step.shows} in\n{view.observation.text}")
    return Timed(times)


def decided(number: int, action: Action) -> Decided:
    usage = Usage(prompt_tokens=0, completion_tokens=0, requests=1)
    return Decided(
        step=number, action=action, reply="", prompt=(), model="none", usage=usage, elapsed_ms=0.0, at=time.time()
    )


async def bare(browser: Browser, home: str) -> Timed:
    """The same by hand."""
    times = []
    context = await browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    page = await context.new_page()
    await page.goto(home)
    for step in SCRIPT:
        begun = time.perf_counter()
        await perform(page, step, home)
        await expect(page.get_by_role(step.shows[0], name=step.shows[1], exact=True).first).to_be_visible()  # type: ignore[arg-type]
        times.append(time.perf_counter() - begun)
    await context.close()
    return Timed(times)


async def perform(page: Page, step: Step, home: str) -> None:
    if step.do == "goto":
        await page.goto(home)
        return
    target = page.get_by_role(step.role, name=step.name, exact=True).first  # type: ignore[arg-type]
    if step.do == "click":
        await target.click()
        return
    await target.fill(step.text)
    if step.do == "type":
        await target.press("Enter")


class Stage(NamedTuple):
    """The embedded shop, and a warm browser for each of the two."""

    folder: Path
    home: str
    """The shop's first page."""
    pool: ChromiumPool
    browser: Browser
    """Of bare playwright."""


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    with tempfile.TemporaryDirectory() as folder:
        async with (
            start_servers("harness.plugins.demo", log=Path(folder) / "log") as port,
            async_playwright() as playwright,
        ):
            home = f"http://t0.shop.localhost:{port}/"
            site = Site(name="shop", url=home.rstrip("/"), canonical=HOME.rstrip("/"))
            browser = await playwright.chromium.launch(
                executable_path=executable.find(), args=list(SWITCHES), chromium_sandbox=False
            )
            async with ChromiumPool(BrowserSettings(screenshots=False, allowed="any"), sites=lambda _: (site,)) as pool:
                yield Stage(Path(folder), home, pool, browser)
            await browser.close()


async def measure(*, episodes: int = 12) -> Rows:
    async with stage() as here:
        found = await in_turn(
            lambda turn: ours_in(here.pool, here.folder / f"{turn}.traj.jsonl"),
            lambda _: bare(here.browser, here.home),
            turns=episodes + 1,
        )
    return rows(*found)


async def ours_in(pool: ChromiumPool, path: Path) -> Timed:
    with Journal.open(path, redactor=Redactor(SECRETS)) as journal:
        return await ours(pool, journal)


async def in_turn(
    one: Callable[[int], Awaitable[Timed]], other: Callable[[int], Awaitable[Timed]], *, turns: int
) -> tuple[list[Timed], list[Timed]]:
    """Both, again and again; the first turn warms up."""
    found: tuple[list[Timed], list[Timed]] = ([], [])
    for turn in range(turns):
        for times, call in zip(found, (one, other), strict=True):
            timed = await call(turn)
            if turn:
                times.append(timed)
    return found


def rows(mine: list[Timed], floor: list[Timed]) -> Rows:
    whole = "step overhead, episode of 10 steps"
    table = {whole: timed([one.whole for one in mine], [one.whole for one in floor])}
    for index, step in enumerate(SCRIPT):
        name = f"step overhead, step {index + 1} ({step.do} {step.name or 'home'})"
        table[name] = timed([one.steps[index] for one in mine], [one.steps[index] for one in floor])
    return table


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--episodes", type=int, default=12)
    tell(asyncio.run(measure(episodes=options.parse_args().episodes)))


if __name__ == "__main__":
    sys.exit(main())
